package registry

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Store is everything that control keeps; one adapter is all four.
type Store interface {
	MonitorStore
	ReportStore
	EventStore
	RateLimiter
}

// Registry keeps the monitors. All methods block for one exchange with the
// database and may be called concurrently, by several gateways; what must hold
// across them (duplicates, the maximum) is decided in the database.
type MonitorStore interface {
	// Insert stores a new monitor. The time for which it is Held begins when it is
	// stored, by the clock of the database. Errors: *monitor.Error Duplicate when
	// an active monitor has the same stream, MaxMonitorsExceeded when limit are
	// active.
	Insert(ctx context.Context, m monitor.Monitor, limit int) error

	// InsertIdempotent is Insert, remembered under a key for RepeatWithin, by the clock
	// of the database. When the key stands for a registration already, nothing is
	// stored and that First is returned, whether or not its request is the same;
	// otherwise First is nil. One transaction decides and stores: of many at once
	// under one key, at several gateways, one is stored and all others get it as
	// their First.
	InsertIdempotent(ctx context.Context, m monitor.Monitor, limit int, once IdempotencyKey) (*IdempotencyRecord, error)

	// FindIdempotent reads what a key stands for; nil: nothing, or no longer.
	FindIdempotent(ctx context.Context, key Digest) (*IdempotencyRecord, error)

	// Get reads a monitor. Errors: *monitor.Error NotFound.
	Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error)

	// List reads monitors, newest first, and how many there are in all. An
	// empty status means every status.
	List(ctx context.Context, status monitor.Status, limit, offset int) (page []monitor.Monitor, total int, err error)

	// End moves an active monitor to a final status and returns it as it then
	// stands; an ended one is returned unchanged (decision A6). last, if any, is
	// stored as a pending event in the same transaction. Errors:
	// *monitor.Error NotFound.
	End(ctx context.Context, id monitor.ID, to monitor.Status, reason string, last *event.Event, at time.Time) (monitor.Monitor, error)
}

// Desk is where workers report to.
type ReportStore interface {
	// Accept stores a report whole in one transaction: status (if it may follow
	// the present one), stream status, health, statistics, snapshot, and its
	// events as pending webhooks, in order, skipping those already stored. It
	// answers Stop when the monitor is, or was already, at an end. Statistics
	// never go backwards, nor does the time of the last check; a zero one keeps
	// what is stored. Errors: *monitor.Error NotFound; monitor.ErrSuperseded
	// when the report's generation is not the newest, and nothing is stored.
	Accept(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Order, error)
}

// History keeps the events.
type EventStore interface {
	// Events reads a monitor's events, newest first, and how many there are.
	// Errors: *monitor.Error NotFound.
	Events(ctx context.Context, id monitor.ID, limit, offset int) (page []EventRecord, total int, err error)

	// Redeliver makes a sent or failed event pending again, with a fresh count
	// of attempts. Errors: *monitor.Error NotFound when the monitor has no such
	// event.
	Redeliver(ctx context.Context, id monitor.ID, eventID string) error
}

// Limiter counts what clients ask for, across gateways.
type RateLimiter interface {
	// Allow takes one from a client's budget of perMin requests a minute, 1 to
	// MaxPerMin. wait is 0 when there was one; otherwise nothing was taken, and
	// wait is how long until there is one again. It blocks for one exchange with
	// the database and may be called concurrently.
	Allow(ctx context.Context, client Client, limit RateLimit, perMin int) (wait time.Duration, err error)

	// Return takes back one request that Allow counted. It blocks for one exchange
	// with the database and may be called concurrently.
	Return(ctx context.Context, client Client, limit RateLimit, perMin int) error
}

// Record is an event with the state of its delivery (decision A8).
type EventRecord struct {
	EventID   string
	EventType event.Type
	Payload   json.RawMessage
	Status    string // pending, sent, failed
	Attempts  []Attempt
	LastError string
	CreatedAt time.Time
	SentAt    time.Time // zero: not sent

	// ResolvedAt is when the condition of an event that has no recovery event was
	// over: sight returned after a monitor.error of reason blind (decision S15).
	// Zero: it is not over, or the event has none.
	ResolvedAt time.Time
}

// Attempt is one try at delivering an event (decision W3).
type Attempt struct {
	At     time.Time `json:"at"`
	Status int       `json:"status"` // HTTP status; 0: none was received
	Error  string    `json:"error"`  // empty on success
}

// Crew starts and stops workers; application/supervise is one.
type WorkerManager interface {
	// Start asks for a worker for a monitor just registered, has it promoted
	// (see ReservedUntil), and returns at once; what comes of it shows in the
	// monitor's status.
	Start(m monitor.Monitor)

	// Stop asks for a monitor's worker to be ended and returns at once.
	Stop(id monitor.ID)

	// RenewLease says that a worker of this generation has reported, before it is known
	// whether that can be stored: a database that takes no reports makes nobody
	// silent. Generation 0 is the newest. It returns at once.
	RenewLease(id monitor.ID, generation int)
}

// CallbackPolicy decides where webhooks may go (decision A2). Check may look
// the host up, within a time limit of its own, and may be called concurrently.
// Errors: *monitor.Error InvalidURL, saying what is refused and what would be
// accepted; anything else means that it could not be decided.
type CallbackPolicy interface {
	Check(ctx context.Context, u monitor.CallbackURL) error
}

// Courier signs one webhook and sends it once, as the dispatcher would, within
// its own time limit of 10 s (section 4.4). It keeps nothing, may be called
// concurrently, and tells failure in its answer.
type TestSender interface {
	Deliver(ctx context.Context, to monitor.CallbackURL, eventID string, t event.Type, body []byte) Attempt
}
