package registry

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Store is everything that a Service stores.
type Store interface {
	MonitorStore
	ReportStore
	EventStore
	RateLimiter
}

// MonitorStore stores the monitors. Each method blocks for one exchange with the
// store and may be called concurrently, by several gateways. The store itself
// decides about duplicates and the maximum, so that both hold across gateways.
type MonitorStore interface {
	// Insert stores a new monitor. Its Held time starts when it is stored, by the
	// store's clock. Errors: *monitor.Error Duplicate when an active monitor has the
	// same stream, MaxMonitorsExceeded when limit monitors are active.
	Insert(ctx context.Context, m monitor.Monitor, limit int) error

	// InsertIdempotent stores a new monitor together with an idempotency record,
	// which is kept for IdempotencyRetention by the store's clock. If the key has a
	// record already, it stores nothing and returns that record, even if its request
	// differs; otherwise it returns nil. Decision and insertion are one transaction:
	// of concurrent calls with one key, one stores and the others get its record.
	// Errors: those of Insert.
	InsertIdempotent(ctx context.Context, m monitor.Monitor, limit int, key IdempotencyKey) (*IdempotencyRecord, error)

	// FindIdempotent reads the record of a key; nil: it has none, or no longer.
	FindIdempotent(ctx context.Context, key Digest) (*IdempotencyRecord, error)

	// Get reads a monitor. Errors: *monitor.Error NotFound.
	Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error)

	// List reads a page of the monitors with a status, newest first, and their
	// total number. An empty status means every status.
	List(ctx context.Context, status monitor.Status, limit, offset int) (page []monitor.Monitor, total int, err error)

	// End moves an active monitor to a final status and returns the result. It
	// returns an ended monitor unchanged (decision A6). A last event that is not nil
	// is stored as pending in the same transaction. Errors: *monitor.Error NotFound.
	End(ctx context.Context, id monitor.ID, to monitor.Status, reason string, last *event.Event, at time.Time) (monitor.Monitor, error)
}

// ReportStore stores the reports of workers.
type ReportStore interface {
	// Accept stores a whole report in one transaction: the state, if the status may
	// follow the present one, and the events as pending webhooks, in order. It skips
	// events that are stored already. Neither statistics nor the time of the last
	// check ever decrease; a zero time and a nil visibility keep the stored value.
	// Accept returns Stop when the monitor has ended, now or before. Errors: *monitor.Error NotFound; monitor.ErrSuperseded
	// when the report's generation is not the newest, and nothing is stored.
	Accept(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Order, error)
}

// EventStore reads the events of monitors.
type EventStore interface {
	// Events reads a page of a monitor's events, newest first, and their total
	// number. Errors: *monitor.Error NotFound.
	Events(ctx context.Context, id monitor.ID, limit, offset int) (page []EventRecord, total int, err error)

	// Redeliver makes a sent or failed event pending again, with a fresh count
	// of attempts. Errors: *monitor.Error NotFound when the monitor has no such
	// event.
	Redeliver(ctx context.Context, id monitor.ID, eventID string) error
}

// RateLimiter counts the requests of clients, for all gateways together.
type RateLimiter interface {
	// Allow counts one request of a client against a limit of perMin requests a
	// minute, 1 to MaxPerMin. wait is 0 if the request is allowed; otherwise nothing
	// is counted, and wait is how long until the next request is allowed. It blocks
	// for one exchange with the store and may be called concurrently.
	Allow(ctx context.Context, client Client, limit RateLimit, perMin int) (wait time.Duration, err error)

	// Return takes back one request that Allow counted. It blocks for one exchange
	// with the store and may be called concurrently.
	Return(ctx context.Context, client Client, limit RateLimit, perMin int) error
}

// EventRecord is an event with the state of its delivery (decision A8).
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

// Attempt is one attempt to deliver an event (decision W3).
type Attempt struct {
	At     time.Time `json:"at"`
	Status int       `json:"status"` // status code of the receiver's answer; 0: no answer
	Error  string    `json:"error"`  // empty on success
}

// WorkerManager starts and stops workers; supervisor.Supervisor is one.
type WorkerManager interface {
	// Start promotes a monitor that was just registered (see
	// monitor.Monitor.ReservedUntil) and starts its worker. It returns at once; the
	// monitor's status shows the result.
	Start(m monitor.Monitor)

	// Stop ends a monitor's worker. It returns at once, before the worker has ended.
	Stop(id monitor.ID)

	// RenewLease notes that a worker of this generation has reported, before the
	// report is stored: a store that is away must not make workers look lost.
	// Generation 0 is the newest. It returns at once.
	RenewLease(id monitor.ID, generation int)
}

// CallbackPolicy decides where webhooks may go (decision A2). Check may resolve
// the host, within a time limit of its own, and may be called concurrently.
// Errors: *monitor.Error InvalidURL, whose message names the refused address and the
// accepted ones; any other error means that the policy could not decide.
type CallbackPolicy interface {
	Check(ctx context.Context, u monitor.CallbackURL) error
}

// TestSender signs one webhook and sends it once, as the dispatcher would, within
// a time limit of 10 s (section 4.4). It stores nothing and may be called
// concurrently. A failure is in the Attempt.
type TestSender interface {
	Deliver(ctx context.Context, to monitor.CallbackURL, eventID string, t event.Type, body []byte) Attempt
}
