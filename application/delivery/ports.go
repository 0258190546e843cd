package delivery

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Outbox stores all deliveries, and decides what is due. Every method blocks for a few
// exchanges with the database and may be called concurrently, by several gateways.
type Outbox interface {
	// Lease takes up to limit deliveries that are due for the given duration, at most 2 min. It
	// takes none under another lease. Of the events of a monitor at its callback or at a webhook
	// only the first is due (decision W2); those that have left the queue are due beside it. A
	// destination gets what notify.Channel.Allowed says, and nothing if it is disabled or
	// this gateway cannot decrypt its secrets. Of a thread that is due, notify.Due.Plan decides
	// what is sent; those that have nothing to say are not returned.
	//
	// Before, it makes threads due where the routing tells of incidents that have changed, and ends the
	// silences that last until they recover. If that is impossible, it leases all the same. It
	// blocks for a few seconds at most.
	Lease(ctx context.Context, limit int, duration time.Duration) (Leased, error)

	// Record stores an outcome and ends the lease, in one transaction. It is idempotent:
	// repeated calls have the same ID, LeaseID and Attempt.At. It stores Delivered always, and
	// another outcome only if no other lease was given since. A thread is due at once after a
	// message that was sent, that of a storm after notify.StormPause.
	//
	// An attempt changes the destination's health by notify.Health.After. If the outcome or
	// notify.Health.FailedForDays says so, a second transaction disables the destination and stores
	// the notices about it. If the outcome ends the monitor, it gets status error and reason
	// callback_failed, and its other pending events at the callback fail.
	Record(ctx context.Context, d Delivery, o Outcome) (Recorded, error)
}

// Leased has the deliveries of a Lease call.
type Leased struct {
	Deliveries []Delivery
	More       bool      // more may be due at once
	Waits      bool      // more may be due when one of those in flight has ended
	NextAt     time.Time // when the next delivery is due, by this process's clock; it may be in the past; zero: unknown
}

// Recorded says what a Record call has done beside storing the outcome.
type Recorded struct {
	Due          bool       // the delivery, or the one behind it, is due at once or later
	Disabled     string     // why the destination was disabled; empty: it was not
	EndedMonitor monitor.ID // the monitor that has ended with its callback; empty: none
}

// WebhookSender signs an event and sends its Body once to a URL, within SendTimeout. The
// first key signs X-Signature-256; without keys, those of callbacks sign. Failures are reported
// in the attempt.
type WebhookSender interface {
	Send(ctx context.Context, to monitor.CallbackURL, e Event, keys []string) event.Attempt
}

// PictureReader reads the pictures of incidents.
type PictureReader interface {
	// ReadPicture returns a picture with a signed URL, and with its bytes if they are at
	// most MaxPictureBytes; nil: it has been deleted. It blocks until the bytes are read.
	ReadPicture(ctx context.Context, p incident.Picture) (*message.Picture, error)
}

// MaxPictureBytes limits the picture of a message.
const MaxPictureBytes = 1 << 20

// EvidenceFinder finds what was captured for an event (section 16.2).
type EvidenceFinder interface {
	// FindEvidence returns the evidence of an event, or of the alert of a recovery, or nil
	// if no worker has uploaded any yet. It blocks for an exchange with the database.
	FindEvidence(ctx context.Context, id monitor.ID, eventID string, t event.Type) (*event.Evidence, error)
}
