package destination

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// MaxPerDestination limits the deliveries that one destination has in flight, over all
// gateways (section 19.4).
const MaxPerDestination = 4

// Outbox stores the deliveries to destinations. Every method blocks for one
// exchange with the database and may be called concurrently, by several gateways.
type Outbox interface {
	// Lease takes up to limit due deliveries for the given duration, at most
	// 2 min. It returns none of a disabled destination and none under another lease. An
	// event waits for earlier ones of its monitor at the same destination, unless they have
	// been failing for a minute. A destination has at most MaxPerDestination leases, and no
	// more than its rate limit allows. It has at most one while its circuit is open, and none
	// in a pause that its provider has asked for. Lease returns none of a destination whose
	// secrets this gateway cannot decrypt. After an error it may be repeated: the next call
	// also returns what the failed one has leased.
	Lease(ctx context.Context, limit int, duration time.Duration) ([]Delivery, error)

	// RecordAttempt stores an outcome and ends the lease, in one transaction. It
	// is idempotent: repeated calls have the same ID, LeaseID and Attempt.At. It stores
	// Delivered always, and another outcome only if no other lease was given since. A thread
	// whose incident or routing has changed since the lease is due at once. Only a retry keeps
	// its DueAt.
	//
	// An Attempt changes the destination's health by notify.Health.After. The transaction
	// disables the destination if Disable is set or notify.Health.Disable says so, and
	// stores the notices about it. disabled is then the reason, also in a repeated call;
	// empty: the destination has not been disabled by this delivery.
	RecordAttempt(ctx context.Context, d Delivery, o Outcome) (disabled string, err error)

	// NextDue returns when the next delivery becomes due, with the pauses of
	// circuits and rate limits, for the dispatcher to sleep until; zero: none is pending.
	// The returned time may be in the past.
	NextDue(ctx context.Context) (time.Time, error)
}

// WebhookSender signs an event with keys, of which the first signs X-Signature-256, and sends
// its Body once to a URL, within delivery.SendTimeout. Failures are reported in the Attempt.
type WebhookSender interface {
	SendSigned(ctx context.Context, to monitor.CallbackURL, e Event, keys []string) delivery.Attempt
}

// PictureReader reads the pictures of incidents.
type PictureReader interface {
	// ReadPicture returns a picture with a signed URL, and with its bytes if they are at
	// most MaxPictureBytes; nil: it has been deleted. It blocks until the bytes are read.
	ReadPicture(ctx context.Context, p incident.Picture) (*message.Picture, error)
}

// MaxPictureBytes limits the picture of a message.
const MaxPictureBytes = 1 << 20
