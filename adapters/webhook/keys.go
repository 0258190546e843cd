package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
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

	h.Set("X-Timestamp", timestamp)
	h.Set("X-Signature-256", "sha256="+hex.EncodeToString(hmacOf(k[0], timestamp+".", body)))

	signatures := make([]string, 0, len(k))
	for _, key := range k {
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(hmacOf(key, eventID+"."+timestamp+".", body)))
	}
	h.Set("Webhook-Id", eventID)
	h.Set("Webhook-Timestamp", timestamp)
	h.Set("Webhook-Signature", strings.Join(signatures, " "))
	return nil
}

// hmacOf returns the HMAC-SHA256 of a text and a body with a key.
func hmacOf(key, text string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	mac.Write(body)
	return mac.Sum(nil)
}
