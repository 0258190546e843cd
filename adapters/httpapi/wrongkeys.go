package httpapi

import (
	"sync"
	"time"
)

// Limits of wrong keys at the sign-in.
const (
	maxWrongKeys      = 10 // of one address in a wrongKeysWindow
	wrongKeysWindow   = time.Minute
	maxWrongAddresses = 10_000 // counted at a time
)

// wrongKeys counts the wrong keys of each address at this gateway. It is in memory, so
// that signing in works while the database is away.
type wrongKeys struct {
	mu    sync.Mutex
	count map[string]*wrongKeyCount
}

type wrongKeyCount struct {
	keys int
	ends time.Time // of the window
}

// wait returns how long an address may not sign in; 0: it may.
func (w *wrongKeys) wait(address string, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.count[address]; c != nil && c.keys >= maxWrongKeys && now.Before(c.ends) {
		return c.ends.Sub(now)
	}
	return 0
}

// add counts a wrong key. It reports whether the address has reached the limit with it.
func (w *wrongKeys) add(address string, now time.Time) (reached bool) {
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
	return c.keys == maxWrongKeys
}

// makeRoom forgets addresses whose window has ended. If an attacker with very many
// addresses has used all of the room, it forgets any of them.
func (w *wrongKeys) makeRoom(now time.Time) {
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
