package httpapi

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/url"
	"sync"
	"time"
)

// signInLinkLifetime is how long a sign-in link can be used.
const signInLinkLifetime = 10 * time.Minute

// signInLink is a permission to sign in once without a key. It is in the memory of one
// gateway, which prints it for a person without a configured key.
type signInLink struct {
	mu      sync.Mutex
	digest  [sha256.Size]byte // of the token
	expires time.Time         // zero: there is none
}

// renew returns the path of a new link. The earlier one ends.
func (l *signInLink) renew(now time.Time) string {
	token := rand.Text() // 130 bits
	l.mu.Lock()
	defer l.mu.Unlock()
	l.digest, l.expires = sha256.Sum256([]byte(token)), now.Add(signInLinkLifetime)
	return signInPath + "?" + url.Values{"token": {token}}.Encode()
}

// use reports whether the token is that of the link, and ends the link if it is.
func (l *signInLink) use(token string, now time.Time) bool {
	given := sha256.Sum256([]byte(token))
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.Before(l.expires) || subtle.ConstantTimeCompare(given[:], l.digest[:]) != 1 {
		return false
	}
	l.expires = time.Time{}
	return true
}
