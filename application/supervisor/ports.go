package supervisor

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// WorkerSpec says which worker a launcher is to run.
type WorkerSpec struct {
	ID          monitor.ID
	Generation  int
	StreamURL   monitor.StreamURL
	CallbackURL monitor.CallbackURL
	Config      monitor.Config
}

// Exit reports that a worker has ended, for whatever reason.
type Exit struct {
	ID         monitor.ID
	Generation int
	Detail     string // how it ended, for people: "exit status 1", "killed by SIGKILL"
	Clean      bool   // it ended without an error: its stream was over, or it was asked to stop
}

// Worker is a worker that a launcher runs.
type Worker struct {
	ID            monitor.ID
	Generation    int
	Pending       bool   // launched, but not started yet: its image is being pulled, or no node has room
	PendingReason string // why it does not start, for people; empty: not known
	Refused       bool   // this gateway refuses its requests: its token comes from another INTERNAL_API_KEY (decision O9)
}

// Runtime identifies where a launcher runs its workers, such as a machine or a
// namespace. Launchers with the same ID see the same workers: those of other gateways
// (Shared) or of an earlier start. Launchers with another ID see none of them.
type Runtime struct {
	ID              string // 1 to 63 characters; it never changes
	Shared          bool   // several gateways launch workers there, which outlive them; else workers end with the process of their gateway
	NotFoundMessage string // begins the error_details of a missing worker: "Worker not found in its gateway"
}

// Launcher runs workers: as processes, as goroutines, or in a cluster. Its
// methods may be called concurrently.
type Launcher interface {
	// Runtime never changes and does not block.
	Runtime() Runtime

	// Workers lists the workers that run, including those that an earlier gateway
	// launched: the launcher adopts them and reports their exits like any other's.
	// It lists one worker for each monitor, the newest generation; the launcher
	// ends older ones. In a shared runtime the list may be some seconds old. Errors: the
	// workers cannot be listed, which may be temporary.
	Workers(ctx context.Context) ([]Worker, error)

	// Runs reports whether a monitor's worker of this generation or a newer one runs now.
	// Errors: that cannot be found out, which may be temporary.
	Runs(ctx context.Context, id monitor.ID, generation int) (bool, error)

	// Launch starts a worker and returns when it has been started, not when it
	// works. Launching a generation that already runs does nothing. A worker of an
	// older generation is ended first, with a grace period of 5 s.
	Launch(ctx context.Context, spec WorkerSpec) error

	// Stop ends a monitor's worker of any generation: it asks, and uses force after
	// 30 s (section 8.3). It blocks until the worker is gone. Stopping a worker that
	// does not run does nothing.
	Stop(ctx context.Context, id monitor.ID) error

	// Exits delivers the end of every worker, stopped ones included. The channel is
	// closed when the launcher is closed.
	Exits() <-chan Exit
}

// Reservation is a monitor without a worker that this gateway has claimed, or one that it gives
// back (decision A10).
type Reservation struct {
	ID         monitor.ID
	Generation int  // that its worker will have; of one given back, that its worker had
	HandedOver bool // it had a worker, and its gateway released it during a shutdown
}

// Store is the database as the supervisor needs it.
type Store interface {
	MonitorStore
	ReservationStore
	EventStore
	LeaderElection
	MembershipStore
}

// MonitorStore holds the monitors that should have a worker. Each method blocks
// for one database exchange. Changes name the generation that they expect, so of
// several gateways that see the same loss only one can act on it.
type MonitorStore interface {
	// ListActive reads every active monitor except reservations, without snapshots and
	// statistics.
	ListActive(ctx context.Context) ([]monitor.Monitor, error)

	// Get reads a monitor. Errors: *monitor.Error with code NotFound.
	Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error)

	// AdvanceGeneration gives an active monitor the generation after the given one,
	// before the launch that will carry it (decision O2), and returns the monitor.
	// It may be repeated when its outcome is unknown. Errors: *monitor.Error with
	// code NotFound when the monitor is not active; monitor.ErrSuperseded when
	// generation is not the newest.
	AdvanceGeneration(ctx context.Context, id monitor.ID, generation int, runtimeID string) (monitor.Monitor, error)

	// Fail moves an active monitor to status error with the given reason, and stores
	// last as a pending event in the same transaction. The Store refuses later reports
	// of that generation (decision O2). Errors: *monitor.Error with code NotFound when
	// the monitor is not active; monitor.ErrSuperseded when the stored status or
	// generation differs from that of m.
	Fail(ctx context.Context, m monitor.Monitor, reason string, last event.Event) error
}

// ReservationStore hands out reservations, each to one gateway at a time. Each
// method blocks for one database exchange.
type ReservationStore interface {
	// ClaimDue claims some reservations that are due, each with its next generation.
	// A claim excludes other gateways for term; a reservation that is not promoted by
	// then is due again. next is when the next reservation falls due. A zero next means
	// that no reservation waits; a next in the past means that more are due now.
	ClaimDue(ctx context.Context, term time.Duration) (claimed []Reservation, next time.Time, err error)

	// Promote turns a claimed reservation into a monitor like any other, whose worker
	// is to be launched in the given runtime. It may be repeated when its outcome is
	// unknown. Errors: *monitor.Error with code NotFound when the monitor is not
	// active; monitor.ErrSuperseded when another gateway has claimed it meanwhile.
	Promote(ctx context.Context, r Reservation, runtimeID string) (monitor.Monitor, error)

	// Release turns active monitors into reservations that are due now, if their
	// newest generation is the given one. It may be repeated.
	Release(ctx context.Context, monitors []Reservation) error
}

// EventStore adds events that do not change a monitor.
type EventStore interface {
	// AddEvent stores e as a pending event of an active monitor whose newest
	// generation is that of m. An event that is already stored is skipped. It blocks
	// for one database exchange. Errors: the same as MonitorStore.Fail.
	AddEvent(ctx context.Context, m monitor.Monitor, e event.Event) error
}

// LeaderElection elects the one gateway that reconciles all monitors (decision O5).
type LeaderElection interface {
	// TryLead reports whether this gateway is the leader, and tries to become it. A
	// leader must call it every few seconds to know that it still is. Errors: the
	// database cannot be asked; this gateway is no longer the leader.
	TryLead(ctx context.Context) (bool, error)
}

// MembershipStore holds the heartbeats of gateways whose workers end with them (decision O5). Each
// method blocks for one database exchange.
type MembershipStore interface {
	// Heartbeat counts a heartbeat of this gateway and returns how many each gateway has sent, by
	// the ID of its runtime. It fails unless it could change the database: if no gateway can, none
	// must look dead. It waits for no other method. A count may start again from 1.
	Heartbeat(ctx context.Context, runtimeID string) (map[string]int64, error)

	// Leave removes this gateway until its next heartbeat. It may be repeated.
	Leave(ctx context.Context, runtimeID string) error
}
