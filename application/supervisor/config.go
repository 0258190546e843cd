package supervisor

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

const (
	launchTerm    = 2 * time.Minute  // for a launch to succeed, by the policy EndMonitor: control planes are restarted
	launchLimit   = 90 * time.Second // for one; a stop of an older worker may be part of it
	exchangeLimit = 10 * time.Second // for one exchange with the database
	tellLimit     = 2 * time.Second  // for one apology of many
	pauseFirst    = time.Second      // after a failure; doubled up to pauseMax
	pauseMax      = 5 * time.Second  // what waits is done within this of the database's return
	stopAttempts  = 5
	endless       = 0 // attempts
	lookAttempts  = 4 // at what a look has found; beyond, it is skipped (section 10.4), and found again

	strayTerm = 40 * time.Second // for a worker to end by itself when its monitor has; its shutdown may take 25 s

	relaunches   = 5 // of one monitor's workers within relaunchTerm (decision O3)
	relaunchTerm = 10 * time.Minute

	soonest = 100 * time.Millisecond // between two looks at reservations that could not be had

	// takenFor is how long a reservation is taken, until it is promoted or due
	// again: what a gateway that dies between the two leaves waits for so long. The
	// two follow each other at once, launches come after. It may well be too short:
	// what is due again gets another generation, and Promote, which asks for the one
	// that it was given, finds that somebody else has it.
	takenFor = 10 * time.Second
)

// Policy is what the loss of a worker does to its monitor (decision O3).
type MissingWorkerPolicy string

// The policies of MISSING_WORKER.
const (
	EndMonitor MissingWorkerPolicy = "error"    // it ends with status error (section 10.4)
	Relaunch   MissingWorkerPolicy = "relaunch" // it gets another worker, 5 times in 10 minutes; then it ends
)

// Config is what a Supervisor may be told. NewEventID is required.
type Config struct {
	// NewEventID makes the id of an event, a UUIDv7 (decision W2). It may be
	// called concurrently.
	NewEventID func() string

	// Missing is what the loss of a worker does, default EndMonitor.
	MissingWorker MissingWorkerPolicy

	// ReconcileTimeout is how long the reconciliation at the start may take,
	// default 30 s (section 10.4).
	ReconcileTimeout time.Duration

	// Lease is how long a worker may be silent before it counts as lost, default
	// 30 s: three reports (decision O3).
	ReportLease time.Duration

	// FirstReport is how long a worker may take from its start to its first
	// report, default 2 min, where that it has started cannot be seen, too.
	FirstReportTimeout time.Duration

	// StartUp is how long a worker that was launched may take to start, where that
	// can be seen, default 10 min: its image may have to be fetched, and a node for
	// it to be added.
	StartTimeout time.Duration

	// Look is how often monitors and workers are compared, default 5 s.
	ReconcileInterval time.Duration

	// Launches is how many launches may be under way at once, default 4.
	MaxConcurrentLaunches int

	// Settle is how long after its end a worker's absence is judged, default
	// 1 s: when a whole host goes down, workers may be gone before the gateway
	// is told, and are not lost.
	ExitGracePeriod time.Duration

	// Poll is the longest time between two looks at the reservations, default
	// 1 s: the bound on how late one is promoted that was made, here or at
	// another gateway, for a moment sooner than the look that was to be next.
	ReservationPollInterval time.Duration

	Log *slog.Logger     // default: none
	Now func() time.Time // default time.Now
}

func (c Config) complete() (Config, error) {
	if c.NewEventID == nil {
		return c, errors.New("supervise: NewEventID is required")
	}
	if c.MissingWorker == "" {
		c.MissingWorker = EndMonitor
	}
	if c.MissingWorker != EndMonitor && c.MissingWorker != Relaunch {
		return c, fmt.Errorf("supervise: Missing is %q; accepted is %q or %q", c.MissingWorker, EndMonitor, Relaunch)
	}
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&c.ReconcileTimeout, 30 * time.Second},
		{&c.ReportLease, 30 * time.Second},
		{&c.FirstReportTimeout, 2 * time.Minute},
		{&c.StartTimeout, 10 * time.Minute},
		{&c.ReconcileInterval, 5 * time.Second},
		{&c.ExitGracePeriod, time.Second},
		{&c.ReservationPollInterval, time.Second},
	} {
		if *d.value == 0 {
			*d.value = d.standard
		}
		if *d.value < 0 {
			return c, errors.New("supervise: no duration may be negative")
		}
	}
	if c.MaxConcurrentLaunches == 0 {
		c.MaxConcurrentLaunches = 4
	}
	if c.MaxConcurrentLaunches < 0 {
		return c, fmt.Errorf("supervise: Launches is %d; accepted is 1 or more", c.MaxConcurrentLaunches)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}

// pause is how long to wait after the nth failure in a row, from 1.
func pause(n int) time.Duration {
	return min(pauseFirst<<min(n-1, 10), pauseMax)
}
