package monitors

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Store is everything that the Services store. Each method blocks for one exchange with the
// store and may be called concurrently, by several gateways.
type Store interface {
	RegistrationStore
	MonitorStore
	SettingsStore
	EventStore
	RateLimitStore
}

// RegistrationStore stores new monitors. The store itself enforces that active streams are
// unique and limited in number, so all gateways together obey both.
type RegistrationStore interface {
	AdmissionReader

	// Insert stores a new monitor. The time of monitor.Monitor.Held counts from the
	// insertion, by the store's clock. Errors: *monitor.Error Duplicate when an active
	// monitor has the same stream, MaxMonitorsExceeded when limit monitors are active.
	Insert(ctx context.Context, m monitor.Monitor, limit int) error

	// InsertIdempotent stores a new monitor together with an idempotency record,
	// which is kept for IdempotencyRetention by the store's clock. If the key already has
	// a record, it stores nothing and returns that record, even if its request differs.
	// Otherwise it returns nil. It is one transaction: of concurrent calls with one key,
	// one stores a monitor and the others return its record. Errors: those of Insert.
	InsertIdempotent(ctx context.Context, m monitor.Monitor, limit int, key IdempotencyKey) (*IdempotencyRecord, error)

	// EndedOf returns the newest ended monitor of each of these streams that a file has kept, with ID, Status,
	// EndedAt and Config.
	EndedOf(ctx context.Context, owner string, streams []monitor.StreamURL) (map[monitor.StreamURL]monitor.Monitor, error)

	// Adopt gives an active monitor to a channel, unless it belongs to one, and returns it. adopted is false if it belonged to
	// this channel before. Errors: *monitor.Error NotFound, Ended.
	Adopt(ctx context.Context, id monitor.ID, channelID string) (m monitor.Monitor, adopted bool, err error)

	// FindIdempotent reads the record of a key. It returns nil if the key has no
	// record, or an expired one.
	FindIdempotent(ctx context.Context, key Digest) (*IdempotencyRecord, error)
}

// AdmissionReader reads what a registration would be refused for.
type AdmissionReader interface {
	// ActiveStreams returns the active monitors of these streams, and how many
	// monitors are active in all.
	ActiveStreams(ctx context.Context, streams []monitor.StreamURL) (watched map[monitor.StreamURL]monitor.ID, active int, err error)

	// Routing reads who is told of what. The caller must not change it.
	Routing(ctx context.Context) (notify.Routing, error)
}

// MonitorGetter reads one monitor.
type MonitorGetter interface {
	// Get reads a monitor. Errors: *monitor.Error NotFound.
	Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error)
}

// MonitorStore reads monitors.
type MonitorStore interface {
	MonitorGetter

	// List reads a page of the monitors that match a query, newest first, and how many
	// match on all pages. Limit may be one more than MaxPage.
	List(ctx context.Context, q MonitorQuery) (page []ListedMonitor, total int, err error)
}

// SettingsStore changes and ends monitors.
type SettingsStore interface {
	MonitorGetter

	// UpdateSettings stores Config, CallbackURL, Metadata, Labels, Owner and Pause of m with the revision after
	// that of m, and returns the monitor. Another pause than before ends what is open (incident.Paused). A promoteAt that is not zero moves the
	// promotion of a reservation that has never had a worker (decision A10). Errors:
	// ErrRevisionConflict when the stored revision is not that of m; *monitor.Error
	// NotFound, Ended, and InvalidConfig for metadata that cannot be stored.
	UpdateSettings(ctx context.Context, m monitor.Monitor, promoteAt time.Time) (monitor.Monitor, error)

	// End moves an active monitor to a final status and returns the result. It
	// returns an ended monitor unchanged (decision A6). A last event that is not nil
	// is stored as pending in the same transaction. Errors: *monitor.Error NotFound.
	End(ctx context.Context, id monitor.ID, to monitor.Status, reason string, last *event.Event, at time.Time) (monitor.Monitor, error)

	// RemoveOwner takes the owner of a monitor away, ended or not.
	RemoveOwner(ctx context.Context, id monitor.ID) error
}

// EventStore reads the events of monitors and their deliveries.
type EventStore interface {
	// Events reads a page of a monitor's events, newest first, and their total
	// number. Errors: *monitor.Error NotFound.
	Events(ctx context.Context, id monitor.ID, limit, offset int) (page []EventRecord, total int, err error)

	// Redeliver makes a sent or failed event pending again and sets its attempts to 0.
	// Errors: *monitor.Error NotFound when the monitor has no such event.
	Redeliver(ctx context.Context, id monitor.ID, eventID string) error

	// Deliveries reads a page of the events of all monitors that match a query, newest
	// first.
	Deliveries(ctx context.Context, q DeliveryQuery) ([]DeliveryRecord, error)
}

// RateLimitStore counts the requests of clients, for all gateways together.
type RateLimitStore interface {
	// Allow counts one request of a client against a limit of perMin requests a
	// minute, 1 to MaxPerMin. wait is 0 if the request is allowed; otherwise nothing
	// is counted, and wait is how long until the next request is allowed.
	Allow(ctx context.Context, client Client, limit RateLimit, perMin int) (wait time.Duration, err error)

	// Refund undoes the count of one request that Allow counted.
	Refund(ctx context.Context, client Client, limit RateLimit, perMin int) error
}

// EventRecord is an event with the state of its delivery (decision A8). Its JSON is that of the API, which adds
// attempts and payload.
type EventRecord struct {
	EventID   string     `json:"event_id" db:"id"`
	EventType event.Type `json:"event_type" db:"event_type"`
	CreatedAt time.Time  `json:"created_at" db:"created_at"`
	Status    string     `json:"webhook_status" db:"webhook_status"`         // pending, sent, failed; none: the monitor has no callback
	LastError *string    `json:"webhook_last_error" db:"webhook_last_error"` // null: none
	SentAt    *time.Time `json:"sent_at" db:"sent_at"`                       // null: not sent

	// ResolvedAt is when the stream could be observed again after a monitor.error event
	// of reason blind (decision S15). Such an event has no recovery event. Nil for
	// every other event, and while the stream still cannot be observed.
	ResolvedAt *time.Time `json:"resolved_at,omitempty" db:"resolved_at"`

	// LongSchedule marks an event whose callback has refused it four times, and whose
	// monitor goes on (section 19.5).
	LongSchedule bool `json:"long_schedule,omitempty" db:"long_schedule"`

	Attempts []event.Attempt `json:"-" db:"-"`
	Payload  json.RawMessage `json:"-" db:"-"`
}

// CookieJars knows the cookie jars that people have uploaded. It blocks for one exchange with a store and may be called
// concurrently.
type CookieJars interface {
	// Check refuses a jar that does not exist, or has no cookie for the source of a stream. An empty name means no jar.
	// Errors: *monitor.Error InvalidConfig.
	Check(ctx context.Context, name string, stream monitor.StreamURL) error

	// With returns a context for a question about a stream that uses the jar with a name.
	With(ctx context.Context, name string, stream monitor.StreamURL) (context.Context, error)
}

// WorkerManager starts and stops workers; supervisor.Supervisor is one.
type WorkerManager interface {
	// Start promotes a monitor that was just registered (see
	// monitor.Monitor.ReservedUntil) and starts its worker. It returns at once; the
	// monitor's status shows the result.
	Start(m monitor.Monitor)

	// Stop ends a monitor's worker. It returns at once, before the worker has ended.
	Stop(id monitor.ID)
}

// CallbackPolicy decides where webhooks may go (decision A2). Check may resolve
// the host, within a time limit of its own, and may be called concurrently.
// Errors: *monitor.Error InvalidURL, whose message names the refused address and the
// accepted ones; every other error means that the policy could not check the URL.
type CallbackPolicy interface {
	Check(ctx context.Context, u monitor.CallbackURL) error
}

// TestSender signs one webhook and sends it once, as the dispatcher would, within
// a time limit of 10 s (section 4.4). It stores nothing and may be called
// concurrently. A failure is in the attempt.
type TestSender interface {
	Deliver(ctx context.Context, to monitor.CallbackURL, eventID string, t event.Type, body []byte) event.Attempt
}
