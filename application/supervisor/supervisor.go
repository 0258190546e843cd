package supervisor

import (
	"sync/atomic"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Supervisor combines the five parts that keep a worker running for every active
// monitor. Only WorkerManager launches and stops workers.
type Supervisor struct {
	*WorkerManager // Start, Stop, BeginShutdown, Run, Alive
	*Reconciler    // Reconcile, ReconcilePeriodically, RenewLease
	*Promoter      // Promote
	*Handover      // Release
	*Membership    // Join
}

// New makes a supervisor. Errors: a value of cfg is missing or out of its range.
func New(store Store, launcher Launcher, cfg Config) (*Supervisor, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	log := cfg.Log.With("component", "supervisor")
	shuttingDown := new(atomic.Bool)
	relaunches := newRelaunchHistory()
	handover := &Handover{store: store, launcher: launcher, log: log}
	workers := &WorkerManager{
		launcher:             launcher,
		exitGrace:            cfg.ExitGracePeriod,
		handover:             handover,
		shuttingDown:         shuttingDown,
		finished:             make(chan actionResult),
		states:               map[monitor.ID]*workerState{},
		promotingGenerations: map[monitor.ID]int{},
		wake:                 make(chan struct{}, 1),
		asked:                make(chan struct{}),
		ended:                make(chan struct{}),
	}
	workers.actions = &actionRunner{
		store: store, launcher: launcher, cfg: cfg, log: log,
		launchSlots:  make(chan struct{}, cfg.MaxConcurrentLaunches),
		relaunches:   relaunches,
		shuttingDown: shuttingDown,
		startWorker:  workers.Start,
	}
	workers.promoter = &Promoter{
		store: store, runtimeID: launcher.Runtime().ID, workers: workers,
		poll: cfg.ReservationPollInterval, now: cfg.Now, log: log,
		roundLock: make(chan struct{}, 1),
		wake:      make(chan struct{}, 1),
	}
	workers.promoter.roundLock <- struct{}{}
	membership := newMembership(store, launcher.Runtime(), cfg.MissingWorker, log)
	return &Supervisor{
		WorkerManager: workers,
		Promoter:      workers.promoter,
		Handover:      handover,
		Membership:    membership,
		Reconciler: &Reconciler{
			store: store, launcher: launcher, cfg: cfg, log: log,
			workers: workers, promoter: workers.promoter, membership: membership,
			leases:       newLeases(cfg.ReportLease, cfg.FirstReportTimeout, cfg.StartTimeout, cfg.ReconcileInterval),
			relaunches:   relaunches,
			shuttingDown: shuttingDown,
		},
	}, nil
}
