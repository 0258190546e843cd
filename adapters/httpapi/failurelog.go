package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// failureLogInterval is the minimum time between two logged failures of one kind.
// While the database cannot be reached, the reports of all workers fail, several
// times a second.
const failureLogInterval = 10 * time.Second

// failureLog logs one failure of each kind per failureLogInterval, with the number of
// failures that it suppressed before.
type failureLog struct {
	mu   sync.Mutex
	last map[failureKind]*loggedFailure // at most one for each route and type of error
}

// failureKind identifies failures that count as the same failure.
type failureKind struct{ message, route, cause string }

// loggedFailure is the newest logged failure of a kind.
type loggedFailure struct {
	at         time.Time
	suppressed int // since at
}

// allow reports whether a failure is logged, and how many were suppressed before it.
func (l *failureLog) allow(kind failureKind) (suppressed int, allowed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.last[kind]
	if last != nil && time.Since(last.at) < failureLogInterval {
		last.suppressed++
		return 0, false
	}
	if last != nil {
		suppressed = last.suppressed
	}
	if l.last == nil {
		l.last = map[failureKind]*loggedFailure{}
	}
	l.last[kind] = &loggedFailure{at: time.Now()}
	return suppressed, true
}

// log logs a failure if none of its kind was logged in the last interval.
func (l *failureLog) log(log *slog.Logger, level slog.Level, message, route string, err error) {
	suppressed, allowed := l.allow(failureKind{message, route, fmt.Sprintf("%T", rootCause(err))})
	if !allowed {
		return
	}
	if suppressed > 0 {
		log = log.With("suppressed", suppressed)
	}
	log.Log(context.Background(), level, message, "error", err)
}

// rootCause returns the innermost error of a chain; of joined errors, the first.
func rootCause(err error) error {
	for {
		var next error
		switch e := err.(type) { //nolint:errorlint // it walks the chain itself
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
