package eventsub

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Forged refuses a message that does not come from Twitch as it is, or not now.
const Forged monitor.Code = "EVENTSUB_SIGNATURE_INVALID"

// Secret signs the messages of webhooks. Twitch accepts 10 to 100 ASCII characters. The empty one has signed nothing.
type Secret string

// SecretOf derives the Secret that all gateways with this key have. The Secret does not reveal the key.
func SecretOf(key string) Secret { return Secret(hex.EncodeToString(sign(key, "eventsub-webhook-v1"))) }

// Fingerprint tells a Secret from another, without giving it away: 8 hexadecimal digits.
func (s Secret) Fingerprint() string {
	return hex.EncodeToString(sign(string(s), "eventsub-secret-name")[:4])
}

func sign(key string, parts ...string) []byte {
	mac := hmac.New(sha256.New, []byte(key))
	for _, p := range parts {
		_, _ = mac.Write([]byte(p)) // never fails
	}
	return mac.Sum(nil)
}

// Header is what the header of a webhook says: the fields Twitch-Eventsub-Message-Id, -Type, -Timestamp and -Signature.
type Header struct{ ID, Kind, Timestamp, Signature string }

// Read checks a webhook as it was received at now, in constant time, and decodes it. Only of a message that Twitch has signed it is
// told what else is wrong. Errors: *monitor.Error Forged or InvalidConfig.
func (s Secret) Read(h Header, body []byte, now time.Time) (Message, error) {
	encoded, prefixed := strings.CutPrefix(h.Signature, "sha256=")
	given, err := hex.DecodeString(encoded)
	if err != nil || !prefixed || s == "" || h.ID == "" || !hmac.Equal(given, sign(string(s), h.ID, h.Timestamp, string(body))) {
		return Message{}, monitor.Errorf(Forged, "the signature is missing or wrong: this is no message of Twitch to this gateway")
	}
	m := Message{ID: h.ID, Kind: Kind(h.Kind), Body: body}
	if m.SentAt, err = time.Parse(time.RFC3339Nano, h.Timestamp); err != nil || !fresh(m.SentAt, now) {
		return Message{}, monitor.Errorf(Forged, "the message was sent at %.40q; accepted are 10 minutes before and after now: if this one is new, correct this machine's clock", h.Timestamp)
	}
	if len(m.ID) > maxID {
		return Message{}, monitor.Errorf(monitor.InvalidConfig, "the id of the message has %d characters; accepted are %d", len(m.ID), maxID)
	}
	if m, err = m.decode(body); err != nil {
		return Message{}, monitor.Errorf(monitor.InvalidConfig, "the body is none of a message: %s", err)
	}
	return m, nil
}
