package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ActionLinkTTL bounds the validity of the action links in a message (section 19.3).
const ActionLinkTTL = 24 * time.Hour

// MaxActionToken is the maximum length of a token, in bytes.
const MaxActionToken = 1024

// Action names an action that a link in a message offers.
type Action string

// The actions of links.
const (
	Acknowledge   Action = "acknowledge"
	SilenceAnHour Action = "silence" // the monitor of the incident
)

// ActionLink offers an action to whoever has the link, until it expires. The action is on an
// incident, or on the incidents of a storm that the destination is notified of.
type ActionLink struct {
	Action        Action
	IncidentID    string    // a UUIDv7; empty: of a storm
	StormID       string    // a UUIDv7; empty: of an incident. Storms can be acknowledged only
	DestinationID string    // of the message that has the link: it says who acts
	ExpiresAt     time.Time // whole seconds
}

// actionPayload is an ActionLink in a token.
type actionPayload struct {
	Action        Action `json:"a"`
	IncidentID    string `json:"i,omitempty"`
	StormID       string `json:"s,omitempty"`
	DestinationID string `json:"d"`
	ExpiresAt     int64  `json:"e"` // Unix time
}

// SignAction returns the token of a link, which the first key signs. Errors: there is no
// key.
func SignAction(keys evidence.LinkKeys, l ActionLink) (token string, err error) {
	if len(keys) == 0 {
		return "", errors.New("sign an action link: there is no key")
	}
	payload, err := json.Marshal(actionPayload{l.Action, l.IncidentID, l.StormID, l.DestinationID, l.ExpiresAt.Unix()})
	if err != nil {
		return "", fmt.Errorf("sign an action link: %w", err)
	}
	encoded := base64.RawURLEncoding.EncodeToString(payload)
	return encoded + "." + base64.RawURLEncoding.EncodeToString(signAction(keys[0], encoded)), nil
}

// CheckAction verifies a token in constant time and returns its link. Any of the keys may
// have signed. Errors: *monitor.Error evidence.LinkInvalid or LinkExpired; only a genuine
// link is said to have expired.
func CheckAction(keys evidence.LinkKeys, token string, now time.Time) (ActionLink, error) {
	invalid := monitor.Errorf(evidence.LinkInvalid, "the link was altered, or its key is no longer used; open the incident on the dashboard")
	encoded, signature, found := strings.Cut(token, ".")
	if !found || len(token) > MaxActionToken {
		return ActionLink{}, invalid
	}
	given, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	genuine := false
	for _, key := range keys {
		if err == nil && hmac.Equal(given, signAction(key, encoded)) {
			genuine = true
		}
	}
	if !genuine {
		return ActionLink{}, invalid
	}
	var p actionPayload
	payload, err := base64.RawURLEncoding.DecodeString(encoded)
	if err == nil {
		err = json.Unmarshal(payload, &p)
	}
	if err != nil || p.Action != Acknowledge && p.Action != SilenceAnHour {
		return ActionLink{}, invalid
	}
	l := ActionLink{p.Action, p.IncidentID, p.StormID, p.DestinationID, time.Unix(p.ExpiresAt, 0).UTC()}
	if !now.Before(l.ExpiresAt) {
		return ActionLink{}, monitor.Errorf(evidence.LinkExpired, "the link expired at %s; open the incident on the dashboard", l.ExpiresAt.Format(time.RFC3339))
	}
	return l, nil
}

// ActionURL returns the URL of a token below PUBLIC_URL.
func ActionURL(publicURL, token string) string {
	return strings.TrimSuffix(publicURL, "/") + "/act/" + token
}

// signAction returns the HMAC-SHA256 of an encoded payload. The first line keeps a
// signature made for something else from passing as one of an action.
func signAction(key, encoded string) []byte {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = fmt.Fprintf(mac, "action-link-v1\n%s", encoded)
	return mac.Sum(nil)
}
