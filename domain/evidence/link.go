package evidence

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Codes of a refused link.
const (
	LinkInvalid monitor.Code = "LINK_INVALID" // no key of this gateway has signed it as it is
	LinkExpired monitor.Code = "LINK_EXPIRED"
)

// Limits of a link's validity.
const (
	DefaultLinkTTL = 900 * time.Second
	MinLinkTTL     = time.Second
	MaxLinkTTL     = 7 * 24 * time.Hour
)

// MaxLinkKeys is the maximum of keys that verify: the signing key and older ones.
const MaxLinkKeys = 4

// LinkKeys sign links and check them. The first key signs; all verify, so that links
// outlive the change of a key.
type LinkKeys []string

var linkKeyForm = regexp.MustCompile(`^[!-+\--~]{16,256}$`)

// ParseLinkKeys reads keys separated by commas.
func ParseLinkKeys(text string) (LinkKeys, error) {
	var keys LinkKeys
	for key := range strings.SplitSeq(text, ",") {
		key = strings.TrimSpace(key)
		if !linkKeyForm.MatchString(key) || len(keys) == MaxLinkKeys {
			return nil, fmt.Errorf("accepted are 1 to %d keys, separated by commas, each of 16 to 256 ASCII letters, digits and signs, without spaces", MaxLinkKeys)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Link shows one file of a Record until it expires.
type Link struct {
	EvidenceID ID
	Variant    Variant
	ExpiresAt  time.Time // whole seconds
	KeyID      string    // which key has signed
	Signature  string    // base64url without padding
}

// Sign makes a link that is valid until expiresAt, to the second. Errors: there is no
// key.
func (k LinkKeys) Sign(id ID, v Variant, expiresAt time.Time) (Link, error) {
	if len(k) == 0 {
		return Link{}, errors.New("sign a link to evidence: there is no key")
	}
	l := Link{EvidenceID: id, Variant: v, ExpiresAt: expiresAt.Truncate(time.Second).UTC(), KeyID: keyID(k[0])}
	l.Signature = base64.RawURLEncoding.EncodeToString(sign(k[0], l))
	return l, nil
}

// Check verifies a link in constant time. Errors: *monitor.Error LinkInvalid or
// LinkExpired; only a link that is genuine is said to have expired.
func (k LinkKeys) Check(l Link, now time.Time) error {
	given, err := base64.RawURLEncoding.Strict().DecodeString(l.Signature)
	genuine := false
	for _, key := range k {
		if err == nil && l.KeyID == keyID(key) && hmac.Equal(given, sign(key, l)) {
			genuine = true
		}
	}
	switch {
	case !genuine:
		return monitor.Errorf(LinkInvalid, "the link was altered, or its key is no longer used; ask for a new link")
	case !now.Before(l.ExpiresAt):
		return monitor.Errorf(LinkExpired, "the link expired at %s; ask for a new link", l.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return nil
}

// URL returns the URL of a link: below base, or a path on the host that was asked if base
// is empty.
func (l Link) URL(base string) string {
	query := url.Values{"expires": {strconv.FormatInt(l.ExpiresAt.Unix(), 10)}, "key": {l.KeyID}, "signature": {l.Signature}}
	return fmt.Sprintf("%s/evidence/%s/%s?%s", strings.TrimSuffix(base, "/"), l.EvidenceID, l.Variant, query.Encode())
}

// sign returns the HMAC-SHA256 of everything in a link but the signature. The first
// line keeps a signature made for something else from passing as one of a link.
func sign(key string, l Link) []byte {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = fmt.Fprintf(mac, "evidence-link-v1\n%s\n%s\n%d\n%s", l.EvidenceID, l.Variant, l.ExpiresAt.Unix(), l.KeyID)
	return mac.Sum(nil)
}

// keyID names a key without giving it away: 8 hexadecimal digits.
func keyID(key string) string {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = mac.Write([]byte("evidence-link-key-id"))
	return hex.EncodeToString(mac.Sum(nil)[:4])
}
