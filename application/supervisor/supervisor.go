package supervisor

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Supervisor keeps workers running; it is a control.Crew.
type Supervisor struct {
	roster   Store
	launcher Launcher
	cfg      Config
	log      *slog.Logger

	launches chan struct{} // a place for each launch under way
	finished chan outcome  // from the actions to Run
	actions  sync.WaitGroup
	leases   *leases              // of Reconcile and Watch, which come one after the other
	late     *apology             // likewise
	strays   map[Worker]time.Time // likewise: since when they are
	budget   *budget
	retired  atomic.Bool
	held     []Reservation // what Run has left, for Release

	mu     sync.Mutex
	posts  map[monitor.ID]*post // changed by Run alone
	claims map[monitor.ID]int   // generations that are being promoted
	wishes []wish               // in the order they came
	bell   chan struct{}        // rung when wishes has grown
	handed []Reservation        // taken by who made them, for Promote
	knock  chan struct{}        // rung when handed has grown
}

// wish is something asked for on its way to Run.
type wish struct {
	id   monitor.ID
	job  *WorkerSpec // a worker
	loss *loss       // to look into it; with neither: no worker
	upTo int         // which generation, then; 0: whichever
}

// New makes a supervisor. Errors: a value of cfg is missing or out of its range.
func New(roster Store, launcher Launcher, cfg Config) (*Supervisor, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	return &Supervisor{
		roster:   roster,
		launcher: launcher,
		cfg:      cfg,
		log:      cfg.Log.With("component", "supervisor"),
		launches: make(chan struct{}, cfg.MaxConcurrentLaunches),
		finished: make(chan outcome),
		leases:   newLeases(cfg.ReportLease, cfg.FirstReportTimeout, cfg.StartTimeout, cfg.ReconcileInterval),
		budget:   newBudget(),
		posts:    map[monitor.ID]*post{},
		claims:   map[monitor.ID]int{},
		bell:     make(chan struct{}, 1),
		knock:    make(chan struct{}, 1),
	}, nil
}

// Start asks for a worker of m's generation. It returns at once; before Run it
// is remembered. Asking again for what is there, or for an older generation,
// does nothing. A monitor that is reserved is promoted first: should this
// gateway not come to that, the reservation falls due, and another does.
func (s *Supervisor) Start(m monitor.Monitor) {
	if !m.ReservedUntil.IsZero() {
		s.hand(Reservation{m.ID, m.Generation})
		return
	}
	s.wish(wish{id: m.ID, job: &WorkerSpec{
		ID:          m.ID,
		Generation:  m.Generation,
		StreamURL:   m.StreamURL,
		CallbackURL: m.CallbackURL,
		Config:      m.Config,
	}})
}

// Stop asks for the end of a monitor's worker, whatever its generation. It
// returns at once; before Run it is remembered.
func (s *Supervisor) Stop(id monitor.ID) { s.wish(wish{id: id}) }

// RenewLease says that a worker of this generation, or with 0 of the newest, has
// reported, whether or not that can be stored. It does not block.
func (s *Supervisor) RenewLease(id monitor.ID, generation int) { s.leases.hear(id, generation) }

// BeginShutdown is the first step of a shutdown: from then on no worker is missed and no
// monitor given up. Whoever ends this gateway may have ended its workers, too;
// not so at a shared place, where it goes on looking after them to its end.
func (s *Supervisor) BeginShutdown() { s.retired.Store(!s.launcher.Runtime().Shared) }

func (s *Supervisor) wish(w wish) {
	s.mu.Lock()
	s.wishes = append(s.wishes, w)
	s.mu.Unlock()
	select {
	case s.bell <- struct{}{}:
	default:
	}
}

// charge tells which generation of a monitor's workers this gateway looks
// after, or is about to; 0: none. It is busy while that is being launched,
// ended or looked into.
func (s *Supervisor) charge(id monitor.ID) (generation int, busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	generation = s.claims[id]
	busy = generation > 0
	if p := s.posts[id]; p != nil {
		generation = max(generation, p.job.Generation)
		busy = busy || p.cancel != nil
	}
	for _, w := range s.wishes {
		if w.id == id {
			busy = true
			if w.job != nil {
				generation = max(generation, w.job.Generation)
			}
		}
	}
	return generation, busy
}

// Run does what was asked for and notices what ends, until ctx is done; it
// returns when every goroutine of its has ended. Workers are left as they are.
// Run is called once.
func (s *Supervisor) Run(ctx context.Context) {
	defer s.takeStock()
	defer s.actions.Wait()
	exits := s.launcher.Exits()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-s.bell:
			s.grantAll(ctx)
		case e, open := <-exits:
			if !open {
				exits = nil
				continue
			}
			s.notice(ctx, e)
		case o := <-s.finished:
			s.conclude(ctx, o)
		}
	}
}
