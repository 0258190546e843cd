package supervisor

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// WorkerSpec is what a launcher is asked to run.
type WorkerSpec struct {
	ID          monitor.ID
	Generation  int
	StreamURL   monitor.StreamURL
	CallbackURL monitor.CallbackURL
	Config      monitor.Config
}

// Exit tells that a worker has ended, for whatever reason.
type Exit struct {
	ID         monitor.ID
	Generation int
	Detail     string // how, for people: "exit status 1", "killed by SIGKILL"
	Clean      bool   // it ended well, by its own decision or because it was asked to
}

// Worker is a worker that runs.
type Worker struct {
	ID            monitor.ID
	Generation    int
	Pending       bool   // it was launched and cannot have begun yet: its image is fetched, a node is looked for
	PendingReason string // what keeps it from starting, for people; empty: nothing is known
}

// Runtime is where a launcher's workers run. Launchers of the same place, one
// after the other or at the same time, see the same workers; those of another
// place see none of them.
type Runtime struct {
	ID              string // 1 to 63 characters, the same for ever
	Shared          bool   // other gateways launch there too
	NotFoundMessage string // what is said of a worker that is not there: "Pod not found in Kubernetes cluster"
}

// Launcher runs workers: pods, child processes, goroutines. Methods may be
// called concurrently.
type Launcher interface {
	// Runtime never changes and does not block.
	Runtime() Runtime

	// Workers lists the workers that run at this place, whoever started them:
	// those that outlived an earlier gateway are adopted, and their ends delivered
	// like any other's. At most one of each monitor is listed: of several
	// generations the newest, while the launcher ends the others. Errors: it could
	// not be found out, which may pass.
	Workers(ctx context.Context) ([]Worker, error)

	// Launch starts a worker and returns when it is started, not when it works.
	// Launching a job that already runs in the same generation does nothing. An
	// older worker of the monitor is ended first; it has nothing more to say, and
	// gets 5 s for it.
	Launch(ctx context.Context, j WorkerSpec) error

	// Stop ends a monitor's worker, of whatever generation: a request to end,
	// then force after 30 s (section 8.3). It blocks until the worker is gone;
	// stopping what does not run does nothing.
	Stop(ctx context.Context, id monitor.ID) error

	// Exits delivers every end of a worker, stopped ones included, until the
	// launcher is closed; then it is closed.
	Exits() <-chan Exit
}

// Reservation is a monitor that had no worker yet (decision A10) and that this
// gateway has taken to give it one, of this generation.
type Reservation struct {
	ID         monitor.ID
	Generation int
}

// Store is the monitors that should have a worker, on disk. All methods block
// for one exchange with the database. Whoever changes a monitor says what it
// took it for, so of several gateways that act on the same sight one succeeds.
type Store interface {
	// ListActive reads every active monitor but the reservations, without their
	// snapshots.
	ListActive(ctx context.Context) ([]monitor.Monitor, error)

	// Get reads a monitor. Errors: *monitor.Error NotFound.
	Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error)

	// ClaimDue takes reservations whose time has come, some at once, each with its
	// next generation. What one gateway has taken no other gets, until term has
	// passed without a Promote: then it is due again. next is when to look
	// again, zero for no reservation at all; a time that has passed: at once.
	ClaimDue(ctx context.Context, term time.Duration) (taken []Reservation, next time.Time, err error)

	// Promote ends a reservation that Due gave: from then on its monitor is like
	// any other, and its worker is to be launched at place. It may be repeated
	// when its outcome is unknown. Errors: *monitor.Error NotFound when the
	// monitor is not active; monitor.ErrSuperseded when somebody else has taken it
	// meanwhile.
	Promote(ctx context.Context, r Reservation, place string) (monitor.Monitor, error)

	// AdvanceGeneration gives an active monitor the generation after the given one, before
	// the launch at place that will carry it (decision O2), and returns the
	// monitor. It may be repeated when its outcome is unknown. Errors:
	// *monitor.Error NotFound when it is not active; monitor.ErrSuperseded when
	// generation is not its newest.
	AdvanceGeneration(ctx context.Context, id monitor.ID, generation int, place string) (monitor.Monitor, error)

	// Release makes active monitors reservations that are due now: those whose
	// newest generation is the one given. It may be repeated.
	Release(ctx context.Context, held []Reservation) error

	// Fail moves an active monitor to status error, for the reason given, and
	// stores last as a pending event in the same transaction, provided that its
	// status and its newest generation are those of m. That generation is over:
	// what its worker still says is refused (decision O2). Errors: *monitor.Error
	// NotFound when it is not active; monitor.ErrSuperseded when it has changed.
	Fail(ctx context.Context, m monitor.Monitor, reason string, last event.Event) error

	// AddEvent stores e as a pending event of an active monitor whose newest
	// generation is that of m, and changes nothing else; one that is stored
	// already is skipped. Errors: as of Fail.
	AddEvent(ctx context.Context, m monitor.Monitor, e event.Event) error

	// TryLead tells whether this gateway is the one that looks after all monitors
	// (decision O5); it is elected by asking, and must ask every few seconds to
	// know that it still is. Errors: the database cannot be asked, and the office
	// is lost.
	TryLead(ctx context.Context) (bool, error)
}
