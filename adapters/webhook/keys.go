package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Keys are the signing keys: one, or the new and the old one during a rotation
// (decision W6). The first key signs X-Signature-256. All keys sign webhook-signature.
type Keys []string

var keyPattern = regexp.MustCompile(`^[!-~]+$`)

// ParseKeys parses WEBHOOK_SIGNING_KEY: one key, or two separated by a comma and
// optional blanks. The bytes of the text are the key. ParseKeys refuses any other blank or
// line break: receivers often remove it, and then no signature matches. The error
// is the end of a sentence that names the setting, and contains no key.
func ParseKeys(s string) (Keys, error) {
	keys := Keys(strings.Split(s, ","))
	if len(keys) > 2 {
		return nil, fmt.Errorf("accepted are one or two keys separated by a comma, and these are %d", len(keys))
	}
	for i := range keys {
		if i > 0 {
			keys[i] = strings.TrimLeft(keys[i], " ")
		}
		if !keyPattern.MatchString(keys[i]) {
			return nil, errors.New("accepted are one or two keys separated by a comma, of ASCII letters, digits and signs, without spaces")
		}
	}
	return keys, nil
}

// sign sets the signature headers of both schemes (section 12.2, decision W5).
func (k Keys) sign(h http.Header, eventID string, body []byte, at time.Time) error {
	if len(k) == 0 {
		return errors.New("no signing key")
	}
	timestamp := strconv.FormatInt(at.Unix(), 10)

	mac := hmac.New(sha256.New, []byte(k[0]))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	h.Set("X-Timestamp", timestamp)
	h.Set("X-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))

	signatures := make([]string, 0, len(k))
	for _, key := range k {
		w, err := standardwebhooks.NewWebhookRaw([]byte(key))
		if err != nil {
			return fmt.Errorf("sign: %w", err)
		}
		signature, err := w.Sign(eventID, at, body)
		if err != nil {
			return fmt.Errorf("sign: %w", err)
		}
		signatures = append(signatures, signature)
	}
	h.Set(standardwebhooks.HeaderWebhookID, eventID)
	h.Set(standardwebhooks.HeaderWebhookTimestamp, timestamp)
	h.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return nil
}
