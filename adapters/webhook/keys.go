package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Keys signs webhooks.
type Keys struct {
	first    []byte // signs X-Signature-256
	standard []*standardwebhooks.Webhook
}

// ParseKeys reads WEBHOOK_SIGNING_KEY: one key, or two separated by a comma
// while they are being rotated (decision W6). The bytes of each are used as
// they are. Errors name the variable and never a key.
func ParseKeys(s string) (Keys, error) {
	if s == "" {
		return Keys{}, errors.New("WEBHOOK_SIGNING_KEY is empty; expected is a key, or two separated by a comma")
	}
	parts := strings.Split(s, ",")
	if len(parts) > 2 {
		return Keys{}, fmt.Errorf("WEBHOOK_SIGNING_KEY holds %d keys; accepted are one, or two separated by a comma", len(parts))
	}
	k := Keys{first: []byte(parts[0])}
	for i, part := range parts {
		if part == "" {
			return Keys{}, fmt.Errorf("WEBHOOK_SIGNING_KEY: key %d is empty; accepted are one key, or two separated by a comma", i+1)
		}
		if strings.TrimSpace(part) != part {
			// Receivers rarely keep such a blank, and then no signature fits.
			return Keys{}, fmt.Errorf("WEBHOOK_SIGNING_KEY: key %d begins or ends with a blank or a line break; remove it", i+1)
		}
		w, err := standardwebhooks.NewWebhookRaw([]byte(part))
		if err != nil {
			return Keys{}, fmt.Errorf("WEBHOOK_SIGNING_KEY: key %d: %w", i+1, err)
		}
		k.standard = append(k.standard, w)
	}
	return k, nil
}

// sign sets the signature headers of both schemes (section 12.2, decision W5).
func (k Keys) sign(h http.Header, eventID string, body []byte, at time.Time) error {
	if len(k.first) == 0 {
		return errors.New("no signing key")
	}
	timestamp := strconv.FormatInt(at.Unix(), 10)

	mac := hmac.New(sha256.New, k.first)
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	h.Set("X-Timestamp", timestamp)
	h.Set("X-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))

	signatures := make([]string, 0, len(k.standard))
	for _, w := range k.standard {
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
