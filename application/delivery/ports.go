package delivery

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Letter is a pending event under lease: what to send, and where.
type Delivery struct {
	EventID     string
	EventType   event.Type
	MonitorID   monitor.ID
	CallbackURL monitor.CallbackURL
	Body        []byte // the payload, the same bytes at every attempt
	Attempts    int    // made before this one
	Lease       string // the Outbox's name for the lease; Record goes by it
}

// Answer is what came of sending a letter once.
type Attempt struct {
	At         time.Time     // when the attempt began
	Status     int           // HTTP status; 0: none was received
	Error      string        // empty on success (2xx); one line, for people
	RetryAfter time.Duration // what the receiver asked for; 0: nothing
}

// Delivered tells whether the receiver took the letter: HTTP 2xx (section 4.4).
func (a Attempt) Delivered() bool { return a.Error == "" }

// Verdict is what becomes of a letter after an attempt.
type Decision struct {
	Sent    bool
	Failed  bool      // no attempt is left: the event is failed and its monitor ended (decision W4)
	RetryAt time.Time // when neither
}

// Outbox is the pending events, on disk. All methods block for one exchange
// with the database and may be called concurrently, by several gateways.
type Outbox interface {
	// Lease takes up to limit due letters for lease, never one that follows a
	// pending letter of the same monitor, never one under another's lease
	// (decision W2). It may be repeated: what an attempt took whose answer got
	// lost is taken again.
	Lease(ctx context.Context, limit int, lease time.Duration) ([]Delivery, error)

	// Record stores an attempt and its verdict and ends the lease, in one
	// transaction. It may be repeated. A failure under a lease that is over stores
	// nothing: the letter is another's; that it was sent is stored always. On
	// Failed it also ends the monitor: status error, reason callback_failed; it
	// then returns its id, so that its worker can be stopped, and ends the
	// monitor's other pending events as failed.
	RecordAttempt(ctx context.Context, l Delivery, a Attempt, v Decision) (ended monitor.ID, err error)

	// NextDue is when the earliest letter that nobody holds is due, for the
	// dispatcher to sleep until; zero: none is pending.
	NextDue(ctx context.Context) (time.Time, error)
}

// Sender signs and sends a letter once, within its own time limit of 10 s
// (section 4.4). It never fails otherwise than in its answer.
type Sender interface {
	Send(ctx context.Context, l Delivery) Attempt
}
