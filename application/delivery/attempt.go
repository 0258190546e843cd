package delivery

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// SendTimeout bounds one attempt (section 4.4).
const SendTimeout = 10 * time.Second

// Attempt is the result of sending a delivery once. The sender decides whether
// the receiver accepted it.
type Attempt struct {
	At         time.Time     // when the attempt began
	Status     int           // the receiver's status code, kept for the history; 0: no answer
	Error      string        // empty if the receiver accepted it; one line for people
	RetryAfter time.Duration // how long the receiver asked to wait; 0: it did not ask

	Exchange *event.Exchange // what was sent and answered; nil: nothing was sent
}

// Accepted reports whether the receiver accepted the delivery.
func (a Attempt) Accepted() bool { return a.Error == "" }
