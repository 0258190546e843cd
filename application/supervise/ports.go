package supervise

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Job is what a launcher is asked to run.
type Job struct {
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
	Clean      bool   // it ended by its own decision, having said so to the gateway
}

// Launcher runs workers: pods, child processes, goroutines. Methods may be
// called concurrently.
type Launcher interface {
	// Launch starts a worker and returns when it is started, not when it works.
	// Launching a job that already runs in the same generation does nothing.
	Launch(ctx context.Context, j Job) error

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

// Roster is the monitors that should have a worker, on disk. All methods block
// for one exchange with the database.
type Roster interface {
	// Active reads every active monitor but the reservations.
	Active(ctx context.Context) ([]monitor.Monitor, error)

	// Due takes reservations whose time has come, some at once, each with its
	// next generation. What one gateway has taken no other gets, until term has
	// passed without a Promote: then it is due again. next is when to look
	// again, zero for no reservation at all; a time that has passed: at once.
	Due(ctx context.Context, term time.Duration) (taken []Reservation, next time.Time, err error)

	// Promote ends a reservation that Due gave: from then on its monitor is like
	// any other. It may be repeated when its outcome is unknown. Errors:
	// *monitor.Error NotFound when the monitor is not active;
	// monitor.ErrSuperseded when somebody else has taken it meanwhile.
	Promote(ctx context.Context, r Reservation) (monitor.Monitor, error)

	// Advance gives an active monitor its next generation, before the launch
	// that will carry it (decision O2), and returns the monitor. Errors:
	// *monitor.Error NotFound when it is not active.
	Advance(ctx context.Context, id monitor.ID) (monitor.Monitor, error)

	// Release makes active monitors reservations that are due now: those whose
	// newest generation is the one given. It may be repeated.
	Release(ctx context.Context, held []Reservation) error

	// End moves an active monitor to a final status and stores last, if any, as
	// a pending event in the same transaction; ending an ended one does nothing.
	End(ctx context.Context, id monitor.ID, to monitor.Status, reason string, last *event.Event, at time.Time) (monitor.Monitor, error)
}
