package worker

import (
	"errors"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// dismissed tells whether an answer of the gateway means that this worker has
// no monitor any more; every other error may pass.
func dismissed(err error) bool {
	var refused *monitor.Error
	return errors.Is(err, monitor.ErrSuperseded) || errors.As(err, &refused) && refused.Code == monitor.NotFound
}

// answered tells whether err is the gateway's own word.
func answered(err error) bool {
	var said *monitor.Error
	return errors.As(err, &said)
}

// refused tells whether an answer means that a report will never be taken.
func refused(err error) bool {
	var said *monitor.Error
	return errors.As(err, &said) && said.Code == monitor.InvalidConfig
}

// ErrLockedOut ends a worker whose key the gateway has not taken for a while.
// Keys are changed; a worker that is started anew has the new one.
var ErrLockedOut = errors.New("the gateway does not take this worker's key")

// lockout tells when that has gone on for long enough: while gateways are replaced
// one by one, some know the new key already and others the old one still.
type lockout struct{ since time.Time }

// lockedFor is how long it may go on; a report lease is longer.
const lockedFor = 15 * time.Second

// after takes up the outcome of a try.
func (l *lockout) after(err error) (over bool) {
	var said *monitor.Error
	switch {
	case !errors.As(err, &said) || said.Code != monitor.Unauthorized:
		l.since = time.Time{}
	case l.since.IsZero():
		l.since = time.Now()
	}
	return !l.since.IsZero() && time.Since(l.since) >= lockedFor
}

// Waiting for the gateway.
const (
	longestPause = 2 * time.Second  // between two tries
	tryTime      = 4 * time.Second  // of one try
	patientTry   = 20 * time.Second // of one that a gateway gets that is slow
	quickTries   = 30               // in vain, two minutes or less, before the first patient one
)

// retryDelay is the time between the beginnings of two tries after the nth
// failure in a row to reach the gateway, the second of which does not begin
// before the first has ended: 0.5 s, doubling to 2 s. An alert may be waiting,
// and must leave within 5 s of the gateway's return.
func retryDelay(n int) time.Duration {
	return min(500*time.Millisecond<<min(n-1, 5), longestPause)
}

// tryLimit is how long a try may take after n failures in a row: 4 s, for one
// that is lost on its way (a cut connection, a gateway that was halted) tells
// nobody that it is. A gateway that needs longer than that to answer stores what
// it gets all the same, but would never be heard: in the long run every other
// try has the time that the slowest answer can take, and once one has needed it
// (slow) so has the next.
func tryLimit(n int, slow bool) time.Duration {
	if n == 0 && slow || n > quickTries && n%2 == 1 {
		return patientTry
	}
	return tryTime
}
