package supervisor

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

const (
	// maxConcurrentPromotions bounds the exchanges with the database when many monitors are due at
	// once. While maxClaimed wait for theirs, no more are claimed: their claims would expire.
	maxConcurrentPromotions = 4
	maxClaimed              = 32

	launchTimeout        = 2 * time.Minute  // for all tries of a launch under EndMonitor; a control plane may be restarting
	launchAttemptTimeout = 90 * time.Second // for one try, which may include the stop of an older worker
	stopAttempts         = 5

	exchangeTimeout = 10 * time.Second // for one database exchange
	noticeTimeout   = 2 * time.Second  // for storing one timeoutNotice event; there may be many

	// maxLossAttempts is how often the gateway tries to handle a missing worker. It then
	// skips the monitor, and the next comparison finds the loss again (section 10.4).
	maxLossAttempts = 4

	// orphanGracePeriod is how long a worker of this gateway may take to end by
	// itself after its monitor has ended. A worker's shutdown takes up to 25 s.
	orphanGracePeriod = 40 * time.Second

	maxRelaunches  = 5 // of one monitor's workers within relaunchPeriod (decision O3)
	relaunchPeriod = 10 * time.Minute

	// How long a worker may go without a report before it counts as lost (decision O3). A pending
	// worker's image may have to be pulled and a node to be added.
	reportLease      = 30 * time.Second // three reports; of a worker that has reported, and of one that was never launched
	firstReportLease = 2 * time.Minute  // of a worker that runs and has not reported, and while the launcher cannot list workers
	startLease       = 10 * time.Minute // of a pending worker

	compareInterval = 5 * time.Second // between two comparisons of monitors and workers

	// exitGracePeriod is the time between a worker's exit and the decision that it was
	// lost. When a whole host shuts down, workers may end shortly before
	// BeginShutdown is called. The gateway must not treat them as lost.
	exitGracePeriod = time.Second

	// maxPollInterval is the longest time between two checks for reservations that are due. A
	// reservation that another gateway has just stored may be promoted that much too late.
	maxPollInterval = time.Second

	// minPollInterval prevents a tight loop while a due reservation cannot be claimed.
	minPollInterval = 100 * time.Millisecond

	// claimTerm is how long a claim excludes other gateways. A reservation waits that
	// long when its gateway dies between claim and promotion. If a claim expires before
	// its promotion, another gateway claims a newer generation, and Promote refuses the older one.
	claimTerm = 10 * time.Second
)

// MissingWorkerPolicy says what the loss of a worker does to its monitor
// (decision O3).
type MissingWorkerPolicy string

// The values of MISSING_WORKER.
const (
	EndMonitor MissingWorkerPolicy = "error"    // the monitor ends with status error (section 10.4), unless its worker is blameless or never reported
	Relaunch   MissingWorkerPolicy = "relaunch" // another worker is launched, 5 times within 10 minutes; then the monitor ends
)

// Config configures a Supervisor. NewEventID is required.
type Config struct {
	// NewEventID returns the id of a new event, a UUIDv7 (decision W2). It may be
	// called concurrently.
	NewEventID func() string

	// MissingWorker says what the loss of a worker does, default EndMonitor.
	MissingWorker MissingWorkerPolicy

	// ReconcileTimeout bounds the reconciliation at the start, default 30 s (section
	// 10.4).
	ReconcileTimeout time.Duration

	// MaxConcurrentLaunches bounds the launches under way, default 4.
	MaxConcurrentLaunches int

	// LeaderTasks is periodic work that only the elected gateway does, default none.
	// Run runs it.
	LeaderTasks []LeaderTask

	Log *slog.Logger     // default: nothing is logged
	Now func() time.Time // default time.Now
}

func (c Config) withDefaults() (Config, error) {
	if c.NewEventID == nil {
		return c, errors.New("supervisor: NewEventID is required")
	}
	if c.MissingWorker == "" {
		c.MissingWorker = EndMonitor
	}
	if c.MissingWorker != EndMonitor && c.MissingWorker != Relaunch {
		return c, fmt.Errorf("supervisor: MissingWorker is %q; accepted is %q or %q", c.MissingWorker, EndMonitor, Relaunch)
	}
	if c.ReconcileTimeout < 0 || c.MaxConcurrentLaunches < 0 {
		return c, fmt.Errorf("supervisor: ReconcileTimeout is %v and MaxConcurrentLaunches %d; accepted is 0 (the default) or more", c.ReconcileTimeout, c.MaxConcurrentLaunches)
	}
	c.ReconcileTimeout = cmp.Or(c.ReconcileTimeout, 30*time.Second)
	c.MaxConcurrentLaunches = cmp.Or(c.MaxConcurrentLaunches, 4)
	if err := checkLeaderTasks(c.LeaderTasks); err != nil {
		return c, err
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}
