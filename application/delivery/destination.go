package delivery

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// MaxPerDestination limits the deliveries that one destination has in flight, over all
// gateways (section 19.4).
const MaxPerDestination = 4

// DestinationDelivery is a delivery to a destination under lease. Exactly one of Event,
// Incident, Storm and Notice is set.
type DestinationDelivery struct {
	ID          string             // a UUIDv7
	LeaseID     string             // identifies the lease
	Destination notify.Destination // with its secrets
	Attempts    int                // made at the present message before this one
	DueAt       time.Time          // of the database, when the delivery was leased
	Round       time.Time          // of the database: when the present message was first due; another one whenever Attempts is 0 again
	Age         time.Duration      // since Round, when the delivery was leased
	Now         time.Time          // of the database, when the delivery was leased; all times of a Thread are of its clock

	Event    *DestinationEvent
	Incident *DestinationIncident
	Storm    *DestinationStorm
	Notice   *DestinationNotice
}

// DestinationEvent is an event for a webhook.
type DestinationEvent struct {
	EventID   string
	EventType event.Type
	MonitorID monitor.ID
	Body      []byte // the payload as it was stored, without sequence
	Sequence  int64  // of the events of the monitor at the destination, from 1
}

// Thread holds the facts that decide about the next message of an incident or a storm at a
// destination. Situation and Plan are those of the time of the lease.
type Thread struct {
	Situation notify.Situation
	Told      notify.Told
	Plan      notify.Plan
}

// DestinationIncident is an incident that a destination may have to be told of.
type DestinationIncident struct {
	Thread

	Incident  incident.Incident // with its ID
	MonitorID monitor.ID
	StreamURL monitor.StreamURL
	Metadata  json.RawMessage // of the registration; {}: none
}

// DestinationStorm is a storm that a destination may have to be told of.
type DestinationStorm struct {
	Thread

	ID      string
	Streams int // with an incident in it
	Live    int // streams that were live when it was opened
}

// DestinationNotice says that the gateway has disabled another destination.
type DestinationNotice struct {
	Name   string // of the disabled destination
	Reason string
	At     time.Time
}

// DestinationOutcome is the next state of a delivery to a destination.
//
//	Attempt  Delivered  Failed  Told   DueAt   state
//	nil      false      false   nil    zero    idle: there was nothing to tell, a change makes it due
//	nil      false      false   nil    set     pending: there is something to tell at DueAt, in a new round
//	set      true       false   event: nil     delivered
//	set      true       false   set    zero    delivered, a change makes it due again
//	set      true       false   set    set     pending: the next message is due at DueAt, in a new round
//	set      false      false   nil    set     pending: the same message is retried at DueAt
//	set      false      true    nil    zero    failed; a thread becomes due again by a change
//
// A round holds the attempts at one message: a new one begins at its DueAt with 0 attempts.
type DestinationOutcome struct {
	Attempt   *Attempt     // nil: nothing was sent
	Class     notify.Class // of the attempt
	Delivered bool
	Failed    bool
	Told      *notify.Told // of a thread, after a message that was delivered
	DueAt     time.Time    // by the clock of this process; zero: nothing is due

	// Disable is set if the destination does not exist any more.
	Disable bool
}

// DestinationOutbox stores the deliveries to destinations. Every method blocks for one
// exchange with the database and may be called concurrently, by several gateways.
type DestinationOutbox interface {
	// LeaseForDestinations takes up to limit due deliveries for the given duration, at most
	// 2 min. It returns none of a disabled destination and none under another lease. An
	// event waits for earlier ones of its monitor at the same destination, unless they have
	// been failing for a minute. A destination has at most MaxPerDestination leases, at most
	// one while its circuit is open, and at most what its rate limit allows. After an error
	// it may be repeated: the next call also returns what the failed one has leased.
	LeaseForDestinations(ctx context.Context, limit int, duration time.Duration) ([]DestinationDelivery, error)

	// RecordDestinationAttempt stores an outcome and ends the lease, in one transaction. It
	// is idempotent: repeated calls have the same ID, LeaseID and Attempt.At. It stores
	// Delivered always, and another outcome only if no other lease was given since. A thread
	// whose incident or routing has changed since the lease is due at once. Only a retry keeps
	// its DueAt.
	//
	// An Attempt changes the destination's health by notify.Health.After. The transaction
	// disables the destination if Disable is set or notify.Health.Disable says so, and
	// stores the notices about it. disabled is then the reason, also in a repeated call;
	// empty: the destination has not been disabled by this delivery.
	RecordDestinationAttempt(ctx context.Context, d DestinationDelivery, o DestinationOutcome) (disabled string, err error)

	// NextDueForDestinations returns when the next delivery becomes due, with the pauses of
	// circuits and rate limits, for the dispatcher to sleep until; zero: none is pending.
	// The returned time may be in the past.
	NextDueForDestinations(ctx context.Context) (time.Time, error)
}

// WebhookSender signs an event with the keys of a destination, of which the first signs
// X-Signature-256, and sends it once to CallbackURL, within SendTimeout. Failures are
// reported in the Attempt.
type WebhookSender interface {
	SendSigned(ctx context.Context, d Delivery, keys []string) Attempt
}
