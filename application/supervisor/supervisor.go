package supervisor

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Supervisor keeps a worker running for every active monitor. It is a
// monitors.WorkerManager and an intake.LeaseRenewer.
type Supervisor struct {
	*Handover   // Release
	*Membership // Join

	loop         *loop
	runtime      Runtime
	leases       *leases
	shuttingDown *atomic.Bool
	leaderTasks  *leaderTasks
}

// New makes a supervisor. Errors: a value of cfg is missing or out of its range.
func New(store Store, launcher Launcher, cfg Config) (*Supervisor, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	cfg.Log = cfg.Log.With("component", "supervisor")
	shuttingDown, isLeader := new(atomic.Bool), new(atomic.Bool)
	s := &Supervisor{
		Handover:     &Handover{store: store, launcher: launcher, log: cfg.Log},
		Membership:   newMembership(store, launcher.Runtime(), cfg.Log),
		runtime:      launcher.Runtime(),
		leases:       newLeases(launcher.Runtime()),
		shuttingDown: shuttingDown,
		leaderTasks:  &leaderTasks{tasks: cfg.LeaderTasks, isLeader: isLeader, log: cfg.Log},
	}
	commands := &inbox{wake: make(chan struct{}, 1)}
	s.loop = &loop{
		tasks: &tasks{
			cfg: cfg, launcher: launcher, runtime: s.runtime, leases: s.leases, shuttingDown: shuttingDown,
			actions:    &actions{store: store, launcher: launcher, runtimeID: s.runtime.ID, cfg: cfg, shuttingDown: shuttingDown},
			workers:    map[monitor.ID]*worker{},
			relaunches: relaunchHistory{},
			startup:    newStartup(),
			finished:   make(chan result),
		},
		observer:   &observer{store: store, launcher: launcher, commands: commands, isLeader: isLeader, shuttingDown: shuttingDown},
		membership: s.Membership,
		notice:     newTimeoutNotice(store, s.runtime, cfg),
		commands:   commands,
		observed:   make(chan observation),
		asked:      make(chan struct{}),
		ended:      make(chan struct{}),
	}
	return s, nil
}

// Run keeps the workers running until ctx is done. It returns when all of its goroutines
// have ended, and leaves the workers running. It is called once.
func (s *Supervisor) Run(ctx context.Context) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	tasks.Go(func() { s.leaderTasks.run(ctx) })
	s.loop.run(ctx)
	s.remaining = s.loop.remaining() // for Handover
}

// Start gives a monitor a worker of m's generation and returns at once, also before
// Run. A second Start of the same or an older generation does nothing. A
// monitor that is still reserved is promoted first. If this gateway dies before the
// promotion, the reservation falls due and another gateway promotes it.
func (s *Supervisor) Start(m monitor.Monitor) {
	s.loop.commands.add(startTask(m))
}

// Stop ends a monitor's worker of any generation. It returns at once, also before Run.
func (s *Supervisor) Stop(id monitor.ID) {
	s.loop.commands.add(&task{id: id, kind: stop})
}

// RenewLease starts a worker's lease again. It is called for every report, stored or
// not: workers must not look lost while the database cannot store reports. It does not
// block.
func (s *Supervisor) RenewLease(id monitor.ID, generation int) { s.leases.renew(id, generation) }

// AwaitStart blocks until monitors and workers have been brought together after the start
// (section 10.4), at most Config.ReconcileTimeout from the beginning of Run. After a
// timeout Run does the rest, and each undecided monitor gets a monitor.error event. active
// is the number of active monitors; known is false when the database could not be read in
// time, or ctx was done first.
func (s *Supervisor) AwaitStart(ctx context.Context) (active int, known bool) {
	select {
	case <-s.loop.startup.over:
		return len(s.loop.startup.active), s.loop.startup.known
	case <-ctx.Done():
		return 0, false
	}
}

// BeginShutdown is the first step of a shutdown. From then on no lost worker is
// replaced and no monitor fails, because the same shutdown may have ended the workers.
// In a shared runtime it does nothing: workers outlive their gateway there.
func (s *Supervisor) BeginShutdown() { s.shuttingDown.Store(!s.runtime.Shared) }

// Alive returns nil when Run goes on to its next input before ctx is done, or has ended. It is called
// while Run is running, or later.
func (s *Supervisor) Alive(ctx context.Context) error {
	select {
	case s.loop.asked <- struct{}{}:
	case <-s.loop.ended:
	case <-ctx.Done():
		return errors.New("the supervisor of workers hangs: it did not answer in time")
	}
	return nil
}
