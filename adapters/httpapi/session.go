package httpapi

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/stream-monitor/stream-monitor/application/keyring"
)

// Times of a session of the dashboard (section 18.2).
const (
	sessionLifetime = 12 * time.Hour
	sessionRenewal  = 6 * time.Hour      // a request in the last 6 h of a session renews it
	signInLifetime  = 7 * 24 * time.Hour // after which no request renews it
)

// sessionCookie is the name of the cookie that stands for a key in a browser.
const sessionCookie = "stream_monitor_session"

// session is one sign-in of a browser.
type session struct {
	expires  time.Time // to the second
	signedIn time.Time // to the second
	id       [16]byte
	keyID    string // of the key that signed in; empty: API_KEY
}

func newSession(now time.Time, keyID string) session {
	s := session{signedIn: now.Truncate(time.Second), keyID: keyID}
	_, _ = rand.Read(s.id[:]) // never fails
	return s.renewed(now)
}

// renewed returns the session with its latest end at now. The id stays: it is one client of rate limits.
func (s session) renewed(now time.Time) session {
	s.expires = now.Add(sessionLifetime).Truncate(time.Second)
	if last := s.lastEnd(); s.expires.After(last) {
		s.expires = last
	}
	return s
}

// lastEnd returns when signing in again is necessary, whatever requests come.
func (s session) lastEnd() time.Time { return s.signedIn.Add(signInLifetime) }

// sessionKey makes and checks the values of session cookies. Gateways with the same stored
// key and API_KEY have the same one, so each accepts the cookies of the others. No session is
// stored; a change of API_KEY ends all of them, and a revoked key those of its own.
type sessionKey [sha256.Size]byte

// newSessionKey mixes a random key with API_KEY. Without the random one, a cookie would tell whoever
// has it whether a guess of API_KEY is right.
func newSessionKey(random keyring.SessionKey, apiKey string) sessionKey {
	return sessionKey(sessionKey(random).sum([]byte("stream-monitor session of the dashboard: " + apiKey)))
}

// minSigned is the size of what a cookie signs, without the id of the key.
const minSigned = 8 + 8 + len(session{}.id)

// value is the content of the cookie: expiry, time of signing in, id, the id of the key and their HMAC.
func (k sessionKey) value(s session) string {
	signed := make([]byte, 0, minSigned+len(s.keyID)+sha256.Size)
	for _, t := range []time.Time{s.expires, s.signedIn} {
		signed = binary.BigEndian.AppendUint64(signed, uint64(t.Unix())) //nolint:gosec // both directions are exact
	}
	signed = append(signed, s.id[:]...)
	signed = append(signed, s.keyID...)
	return base64.RawURLEncoding.EncodeToString(append(signed, k.sum(signed)...))
}

// read returns the session of a cookie. valid is false if no gateway with this key made
// the value, or if the session has expired.
func (k sessionKey) read(value string, now time.Time) (s session, valid bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(value)
	signed := len(raw) - sha256.Size
	if err != nil || signed < minSigned || !hmac.Equal(raw[signed:], k.sum(raw[:signed])) {
		return session{}, false
	}
	s.expires = time.Unix(int64(binary.BigEndian.Uint64(raw)), 0)      //nolint:gosec // both directions are exact
	s.signedIn = time.Unix(int64(binary.BigEndian.Uint64(raw[8:])), 0) //nolint:gosec // as above
	copy(s.id[:], raw[16:])
	s.keyID = string(raw[minSigned:signed])
	return s, now.Before(s.expires)
}

func (k sessionKey) sum(signed []byte) []byte {
	mac := hmac.New(sha256.New, k[:])
	mac.Write(signed)
	return mac.Sum(nil)
}
