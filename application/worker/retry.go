package worker

import (
	"errors"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// isReplaced reports whether the gateway's answer ends this worker: another worker
// has taken over, or the monitor is gone. Any other error may pass.
func isReplaced(err error) bool {
	var answer *monitor.Error
	return errors.Is(err, monitor.ErrSuperseded) || errors.As(err, &answer) && answer.Code == monitor.NotFound
}

// isGatewayAnswer reports whether the gateway itself answered with err.
func isGatewayAnswer(err error) bool {
	var answer *monitor.Error
	return errors.As(err, &answer)
}

// isReportRejected reports whether the gateway will never accept this report.
func isReportRejected(err error) bool {
	var answer *monitor.Error
	return errors.As(err, &answer) && answer.Code == monitor.InvalidConfig
}

// ErrKeyRejected ends a worker whose key the gateway has rejected for 15 s. Its
// successor starts with the current key.
var ErrKeyRejected = errors.New("the gateway rejects this worker's key")

// authFailure measures how long the gateway has rejected the worker's key. During a
// rolling update some gateways still have the other key.
type authFailure struct{ since time.Time }

// maxAuthFailure is shorter than a report lease (decision O3).
const maxAuthFailure = 15 * time.Second

// lasted takes in the error of an attempt and reports whether the key has been
// rejected for maxAuthFailure.
func (f *authFailure) lasted(err error) bool {
	var answer *monitor.Error
	switch {
	case !errors.As(err, &answer) || answer.Code != monitor.Unauthorized:
		f.since = time.Time{}
	case f.since.IsZero():
		f.since = time.Now()
	}
	return !f.since.IsZero() && time.Since(f.since) >= maxAuthFailure
}

// Attempts to reach the gateway.
const (
	maxRetryDelay      = 2 * time.Second  // between the beginnings of two attempts
	attemptTimeout     = 4 * time.Second  // of one attempt
	longAttemptTimeout = 20 * time.Second // of one attempt, for a gateway that is slow
	shortAttempts      = 30               // that fail, in two minutes or less, before the first long one
)

// retryDelay is the time between the beginnings of two attempts after the nth
// failure in a row: 0.5 s, doubling to 2 s. The second attempt does not begin before
// the first has ended. An alert may be waiting, and must leave within 5 s of the
// gateway's return.
func retryDelay(n int) time.Duration {
	return min(500*time.Millisecond<<min(n-1, 5), maxRetryDelay)
}

// attemptLimit is how long an attempt may take after n failures in a row. It is 4 s,
// because an attempt on a cut connection fails only by its limit. A gateway that
// needs longer stores the report, but its answer would never arrive. So after 30
// failures every other attempt has 20 s. If one needed more than 4 s (slow), the
// next has 20 s too.
func attemptLimit(n int, slow bool) time.Duration {
	if n == 0 && slow || n > shortAttempts && n%2 == 1 {
		return longAttemptTimeout
	}
	return attemptTimeout
}
