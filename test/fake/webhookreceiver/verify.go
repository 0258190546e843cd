package webhookreceiver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// tolerance is the default of Config.Tolerance (section 12.2).
const tolerance = 300 * time.Second

// verifyHMAC checks X-Timestamp and X-Signature-256 (section 12.2).
func verifyHMAC(c Config, h http.Header, body []byte, now time.Time) error {
	stamp := h.Get("X-Timestamp")
	sent, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return fmt.Errorf("X-Timestamp: %q is no Unix time", stamp)
	}
	if off := now.Sub(time.Unix(sent, 0)).Abs(); off > c.Tolerance {
		return fmt.Errorf("X-Timestamp: %v from now, accepted are %v", off.Truncate(time.Second), c.Tolerance)
	}
	mac := hmac.New(sha256.New, []byte(c.Key))
	_, _ = fmt.Fprintf(mac, "%s.%s", stamp, body)
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); !hmac.Equal([]byte(want), []byte(h.Get("X-Signature-256"))) {
		return errors.New("X-Signature-256: wrong")
	}
	return nil
}

// verifyStandard checks the Standard Webhooks headers with their library. Its
// tolerance cannot be set. With another tolerance, webhook-timestamp must be equal to
// X-Timestamp, which verifyHMAC checks.
func verifyStandard(c Config, h http.Header, body []byte) error {
	webhook, err := standardwebhooks.NewWebhook("whsec_" + base64.StdEncoding.EncodeToString([]byte(c.Key))) // decision W5
	if err != nil {
		return fmt.Errorf("standard webhooks: %w", err)
	}
	verify := webhook.Verify
	if c.Tolerance != tolerance {
		verify = webhook.VerifyIgnoringTimestamp
	}
	if err := verify(body, h); err != nil {
		return fmt.Errorf("standard webhooks: %w", err)
	}
	if stamp := h.Get("Webhook-Timestamp"); c.Tolerance != tolerance && stamp != h.Get("X-Timestamp") {
		return fmt.Errorf("webhook-timestamp: %s is not X-Timestamp", stamp)
	}
	return nil
}

// checkHeaders checks that the headers agree with the body.
func checkHeaders(h http.Header, d Delivery) error {
	for _, pair := range [][3]string{
		{"X-Event-Id", h.Get("X-Event-Id"), d.EventID},
		{"webhook-id", h.Get("Webhook-Id"), d.EventID},
		{"X-Event-Type", h.Get("X-Event-Type"), d.EventType},
	} {
		if pair[1] == "" || pair[1] != pair[2] {
			return fmt.Errorf("%s: %q, the body says %q", pair[0], pair[1], pair[2])
		}
	}
	return nil
}
