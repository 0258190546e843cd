package worker

import (
	"errors"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/backoff"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// isReplaced reports whether the gateway's answer ends this worker: another worker has
// taken over, or the monitor has ended or does not exist.
func isReplaced(err error) bool {
	var answer *monitor.Error
	return errors.Is(err, monitor.ErrSuperseded) || errors.As(err, &answer) && answer.Code == monitor.NotFound
}

// isReportRejected reports whether the gateway will never accept this report.
func isReportRejected(err error) bool {
	var answer *monitor.Error
	return errors.As(err, &answer) && answer.Code == monitor.InvalidConfig
}

// ErrKeyRejected ends a worker whose token the gateway has rejected for 15 s, because
// INTERNAL_API_KEY was changed. The gateway starts the next worker with a new token.
var ErrKeyRejected = errors.New("the gateway rejects this worker's key")

// authFailure measures how long the gateway has rejected the worker's token. During a rolling
// update that changes INTERNAL_API_KEY, some gateways reject it and others accept it.
type authFailure struct{ rejectedSince time.Time }

// maxAuthFailure is shorter than a report lease (decision O3), so the worker ends before it
// counts as lost.
const maxAuthFailure = 15 * time.Second

// record records the result of an attempt. It reports whether the gateway has rejected the
// token for maxAuthFailure.
func (f *authFailure) record(err error) bool {
	var answer *monitor.Error
	switch {
	case !errors.As(err, &answer) || answer.Code != monitor.Unauthorized:
		f.rejectedSince = time.Time{}
	case f.rejectedSince.IsZero():
		f.rejectedSince = time.Now()
	}
	return !f.rejectedSince.IsZero() && time.Since(f.rejectedSince) >= maxAuthFailure
}

// Attempts to reach the gateway.
const (
	attemptTimeout     = 4 * time.Second  // of one attempt
	longAttemptTimeout = 20 * time.Second // of one attempt, for a gateway that is slow
	shortAttempts      = 30               // that fail, in two minutes or less, before the first long one
)

// gatewayBackoff is the time between the beginnings of two attempts: 0.5 s, doubling to
// 2 s. It is short because a waiting alert must be sent within 5 s of the gateway's
// return. The second attempt never begins before the first has ended.
var gatewayBackoff = backoff.Policy{First: 500 * time.Millisecond, Max: 2 * time.Second}

// attemptLimit returns the time limit of an attempt after n failures in a row. It is 4 s,
// because an attempt on a cut connection fails only at its limit. A slower gateway stores
// the report, but the worker does not wait for the answer. So after 30 failures every
// other attempt has 20 s. After a success that took more than 4 s (slow), the next
// attempt has 20 s too.
func attemptLimit(n int, slow bool) time.Duration {
	if n == 0 && slow || n > shortAttempts && n%2 == 1 {
		return longAttemptTimeout
	}
	return attemptTimeout
}
