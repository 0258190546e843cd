package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// failureLogInterval is how often failures of one kind are logged. While the
// database is away, the report of every worker fails, several times a second.
const failureLogInterval = 10 * time.Second

// failureLog logs one failure of a kind in failureLogInterval, with the number of
// those that it left out before.
type failureLog struct {
	mu sync.Mutex
	of map[failureKind]*loggedFailure // at most one for each route and type of error
}

// failureKind identifies failures of which only one is logged in an interval.
type failureKind struct{ what, route, cause string }

type loggedFailure struct {
	at     time.Time // of the last that was logged
	unsaid int       // since
}

// due reports whether a failure is logged, and how many were left out before it.
func (c *failureLog) due(k failureKind) (unsaid int, due bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.of[k]
	if last != nil && time.Since(last.at) < failureLogInterval {
		last.unsaid++
		return 0, false
	}
	if last != nil {
		unsaid = last.unsaid
	}
	if c.of == nil {
		c.of = map[failureKind]*loggedFailure{}
	}
	c.of[k] = &loggedFailure{at: time.Now()}
	return unsaid, true
}

// log logs a failure if it is due.
func (c *failureLog) log(log *slog.Logger, level slog.Level, what, route string, err error) {
	unsaid, due := c.due(failureKind{what, route, fmt.Sprintf("%T", innermost(err))})
	if !due {
		return
	}
	if unsaid > 0 {
		log = log.With("unsaid", unsaid)
	}
	log.Log(context.Background(), level, what, "error", err)
}

// innermost is the first cause of an error.
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
