package httpapi

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"
)

// Times of a session of the dashboard (section 18.2).
const (
	sessionLifetime = 12 * time.Hour
	sessionRenewal  = 6 * time.Hour // a request in the last 6 h of a session renews it
)

// sessionCookie is the name of the cookie that stands for a key in a browser.
const sessionCookie = "stream_monitor_session"

// session is one sign-in of a browser.
type session struct {
	expires time.Time // to the second
	id      [16]byte
	keyID   string // of the key that signed in; empty: API_KEY
}

// sessionKey makes and checks the values of session cookies. Gateways with the same
// API_KEY have the same one, so each accepts the cookies of the others. No session is
// stored; a change of API_KEY ends all of them, and a revoked key those of its own.
type sessionKey [sha256.Size]byte

func newSessionKey(apiKey string) sessionKey {
	mac := hmac.New(sha256.New, []byte(apiKey))
	mac.Write([]byte("stream-monitor session of the dashboard, version 1"))
	return sessionKey(mac.Sum(nil))
}

func newSession(now time.Time, keyID string) session {
	s := session{expires: now.Add(sessionLifetime).Truncate(time.Second), keyID: keyID}
	_, _ = rand.Read(s.id[:]) // never fails
	return s
}

// value is the content of the cookie: expiry, id, the id of the key and their HMAC.
func (k sessionKey) value(s session) string {
	signed := make([]byte, 0, 8+len(s.id)+len(s.keyID)+sha256.Size)
	signed = binary.BigEndian.AppendUint64(signed, uint64(s.expires.Unix())) //nolint:gosec // both directions are exact
	signed = append(signed, s.id[:]...)
	signed = append(signed, s.keyID...)
	return base64.RawURLEncoding.EncodeToString(append(signed, k.sum(signed)...))
}

// read returns the session of a cookie. valid is false if no gateway with this key made
// the value, or if the session has expired.
func (k sessionKey) read(value string, now time.Time) (s session, valid bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(value)
	signed := len(raw) - sha256.Size
	if err != nil || signed < 8+len(s.id) || !hmac.Equal(raw[signed:], k.sum(raw[:signed])) {
		return session{}, false
	}
	s.expires = time.Unix(int64(binary.BigEndian.Uint64(raw)), 0) //nolint:gosec // both directions are exact
	copy(s.id[:], raw[8:])
	s.keyID = string(raw[8+len(s.id) : signed])
	return s, now.Before(s.expires)
}

func (k sessionKey) sum(signed []byte) []byte {
	mac := hmac.New(sha256.New, k[:])
	mac.Write(signed)
	return mac.Sum(nil)
}
