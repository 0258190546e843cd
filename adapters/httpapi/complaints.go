package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// complainEvery is how often failures of one kind are spoken of. While the
// database is away every worker's report fails, several times in a second.
const complainEvery = 10 * time.Second

// complaints are the failures that go to the log: of a kind one within
// complainEvery, with how many were left out before it.
type complaints struct {
	mu sync.Mutex
	of map[kind]*complaint // as many as there are routes and types of errors, at most
}

// kind is what failures have in common that are not all said.
type kind struct{ what, route, cause string }

type complaint struct {
	at     time.Time // when one was last said
	unsaid int       // since
}

// due tells whether a failure is to be said, and how many were not.
func (c *complaints) due(k kind) (unsaid int, due bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.of[k]
	if last != nil && time.Since(last.at) < complainEvery {
		last.unsaid++
		return 0, false
	}
	if last != nil {
		unsaid = last.unsaid
	}
	if c.of == nil {
		c.of = map[kind]*complaint{}
	}
	c.of[k] = &complaint{at: time.Now()}
	return unsaid, true
}

// say logs a failure if it is due.
func (c *complaints) say(log *slog.Logger, level slog.Level, what, route string, err error) {
	unsaid, due := c.due(kind{what, route, fmt.Sprintf("%T", innermost(err))})
	if !due {
		return
	}
	if unsaid > 0 {
		log = log.With("unsaid", unsaid)
	}
	log.Log(context.Background(), level, what, "error", err)
}

// innermost is where an error began; of several, the first.
func innermost(err error) error {
	for {
		var next error
		switch e := err.(type) { //nolint:errorlint // it is the chain that is walked
		case interface{ Unwrap() error }:
			next = e.Unwrap()
		case interface{ Unwrap() []error }:
			if all := e.Unwrap(); len(all) > 0 {
				next = all[0]
			}
		}
		if next == nil {
			return err
		}
		err = next
	}
}
