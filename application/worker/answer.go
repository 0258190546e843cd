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

// retryDelay is how long to wait after the nth failure to reach the gateway:
// 0.5 s, doubling to 10 s.
func retryDelay(n int) time.Duration {
	return min(500*time.Millisecond<<min(n-1, 5), 10*time.Second)
}
