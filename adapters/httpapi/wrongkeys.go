package httpapi

import (
	"crypto/sha256"
	"log/slog"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of wrong keys of one address in a wrongKeysWindow.
const (
	maxWrongSignIns   = 10 // keys at the sign-in
	maxWrongRequests  = 60 // requests with a key
	wrongKeysWindow   = time.Minute
	maxWrongAddresses = 10_000 // counted at a time
)

// Limits of the memory of accepted keys.
const (
	acceptedLifetime = time.Hour
	maxAccepted      = 10_000 // clients remembered at a time
)

// keyLimit limits the wrong keys in requests of one address (section 12.1). Beyond the
// limit it lets only those keys through that this gateway has lately accepted from the
// address. So behind a proxy, a client with an old key locks out no other. And nobody can go
// on guessing, because a right guess is refused, too.
type keyLimit struct {
	wrong wrongAttempts
	now   func() time.Time
	log   *slog.Logger

	mu       sync.Mutex
	accepted map[monitors.Client]time.Time // when a client's key was accepted
}

// check refuses a request with a key whose address has sent too many wrong ones.
func (l *keyLimit) check(c *gin.Context) error {
	now := l.now()
	wait := l.wrong.wait(addressOf(c), now)
	if wait == 0 {
		return nil
	}
	l.mu.Lock()
	at, known := l.accepted[presentedKey(c)]
	l.mu.Unlock()
	if known && now.Sub(at) < acceptedLifetime {
		return nil
	}
	retryAfter(c, wait)
	return refusef(monitor.RateLimitExceeded, "%d requests with a wrong key in a minute came from this address; wait before the next", maxWrongRequests)
}

// presentedKey identifies the key that a request presents, right or wrong, and its address.
func presentedKey(c *gin.Context) monitors.Client {
	return sha256.Sum256(append(keyOf(c), addressOf(c)...))
}

// count notes whether the key of a request was right.
func (l *keyLimit) count(c *gin.Context, right bool) {
	if right {
		l.accept(c)
	} else {
		l.refuse(c)
	}
}

// accept remembers that the key of a request is right.
func (l *keyLimit) accept(c *gin.Context) {
	client, now := presentedKey(c), l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.accepted[client]; !known && len(l.accepted) >= maxAccepted {
		clear(l.accepted) // a client that it forgets waits for a minute at most
	}
	if l.accepted == nil {
		l.accepted = map[monitors.Client]time.Time{}
	}
	l.accepted[client] = now
}

// refuse counts a request with a wrong key.
func (l *keyLimit) refuse(c *gin.Context) {
	if address := addressOf(c); l.wrong.add(address, l.now()) {
		l.log.Warn("requests are refused with 429 for up to a minute, too many with a wrong key came from this address: give the client its key, or find out who guesses", "client", address)
	}
}

// wrongAttempts counts the wrong keys, passwords or signatures of each address at this gateway. It is in memory, so
// that signing in works while the database is away.
type wrongAttempts struct {
	max int // of one address in a wrongKeysWindow

	mu    sync.Mutex
	count map[string]*wrongKeyCount
}

type wrongKeyCount struct {
	keys int
	ends time.Time // of the window
}

// wait returns how long an address may not try again; 0: it may.
func (w *wrongAttempts) wait(address string, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.count[address]; c != nil && c.keys >= w.max && now.Before(c.ends) {
		return c.ends.Sub(now)
	}
	return 0
}

// add counts a wrong key. It reports whether the address has reached the limit with it.
func (w *wrongAttempts) add(address string, now time.Time) (reached bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count == nil {
		w.count = map[string]*wrongKeyCount{}
	}
	c := w.count[address]
	if c == nil || !now.Before(c.ends) {
		w.makeRoom(now)
		c = &wrongKeyCount{ends: now.Add(wrongKeysWindow)}
		w.count[address] = c
	}
	c.keys++
	return c.keys == w.max
}

// makeRoom forgets addresses whose window has ended. If an attacker with very many
// addresses has used all of the room, it forgets any of them.
func (w *wrongAttempts) makeRoom(now time.Time) {
	if len(w.count) < maxWrongAddresses {
		return
	}
	for address, c := range w.count {
		if !now.Before(c.ends) {
			delete(w.count, address)
		}
	}
	for address := range w.count {
		if len(w.count) < maxWrongAddresses {
			return
		}
		delete(w.count, address)
	}
}
