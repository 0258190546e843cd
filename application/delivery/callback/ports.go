package callback

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Delivery is a pending event under lease, ready to be sent.
type Delivery struct {
	EventID     string
	EventType   event.Type
	MonitorID   monitor.ID
	CallbackURL monitor.CallbackURL
	Body        []byte // the payload as it was stored
	Attempts    int    // made before this one
	OnFailure   monitor.CallbackFailure
	Age         time.Duration // since the event was stored, when it was leased
	LeaseID     string        // identifies the lease; RecordAttempt passes it back to the Outbox
}

// Decision is the next state of a delivery after an attempt.
type Decision struct {
	Delivered bool      // the receiver accepted the delivery
	Failed    bool      // no attempt is left: the event fails
	RetryAt   time.Time // set if neither Delivered nor Failed

	// MonitorGoesOn is set if a failed event does not end its monitor (section 19.5). The
	// default is decision W4.
	MonitorGoesOn bool

	// LongSchedule marks an event that no longer blocks those behind it.
	LongSchedule bool
}

// Outbox stores the pending events. Every method blocks for one exchange with
// the database and may be called concurrently, by several gateways.
type Outbox interface {
	// Lease takes up to limit due deliveries for the given duration, at most
	// 2 min. It returns no delivery while an earlier one of the same monitor is pending,
	// and none under another lease (decision W2). Of the events on the long schedule it
	// returns one of each monitor at a time. After an error it may be repeated:
	// the next call also returns the deliveries that the failed one has leased.
	Lease(ctx context.Context, limit int, duration time.Duration) ([]Delivery, error)

	// RecordAttempt stores an attempt with its decision and ends the lease, in one
	// transaction. It is idempotent. It always stores a success. It stores a failure
	// only if no other lease was given since; another gateway may hold a later one. If the
	// decision is Failed without MonitorGoesOn, the monitor ends as well, with status error
	// and reason callback_failed, and its other pending events fail; ended is then the
	// monitor's id, so that its worker can be stopped.
	RecordAttempt(ctx context.Context, d Delivery, a delivery.Attempt, decision Decision) (ended monitor.ID, err error)

	// NextDue returns when the next delivery becomes due, for the dispatcher to
	// sleep until; zero: none is pending. The returned time may be in the past.
	NextDue(ctx context.Context) (time.Time, error)
}

// Sender signs a delivery and sends it once, within delivery.SendTimeout. Failures are
// reported in the Attempt.
type Sender interface {
	Send(ctx context.Context, d Delivery) delivery.Attempt
}
