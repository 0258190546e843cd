package monitor

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// TokenKey makes and checks the tokens of workers (decision O9). Gateways with the same
// INTERNAL_API_KEY have the same one, so each accepts the tokens of the others. No token
// is stored. A change of INTERNAL_API_KEY ends all of them.
type TokenKey [sha256.Size]byte

// NewTokenKey derives a TokenKey from INTERNAL_API_KEY. A worker cannot compute the one
// from the other, or from a token.
func NewTokenKey(internalAPIKey string) TokenKey {
	return TokenKey(hmacOf([]byte(internalAPIKey), "stream-monitor token of a worker, version 1"))
}

// Token returns the credential of one launch: v1.MONITOR.GENERATION.MAC. It has ASCII
// letters, digits, dots, hyphens and underscores.
func (k TokenKey) Token(id ID, generation int) string {
	launch := fmt.Sprintf("v1.%s.%d", id, generation)
	return launch + "." + base64.RawURLEncoding.EncodeToString(hmacOf(k[:], launch))
}

// Check returns the launch that a token was made for. genuine is false if no gateway with
// this key made the token. It compares in constant time.
func (k TokenKey) Check(token string) (id ID, generation int, genuine bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 4 {
		return "", 0, false
	}
	id = ID(parts[1])
	generation, err := strconv.Atoi(parts[2])
	if err != nil || !hmac.Equal([]byte(token), []byte(k.Token(id, generation))) {
		return "", 0, false
	}
	return id, generation, true
}

func hmacOf(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(text)) // never fails
	return mac.Sum(nil)
}
