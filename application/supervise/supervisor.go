package supervise

import (
	"context"
	"log/slog"
	"sync"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Supervisor keeps workers running; it is a control.Crew.
type Supervisor struct {
	roster   Roster
	launcher Launcher
	cfg      Config
	log      *slog.Logger

	launches chan struct{} // a place for each launch under way
	finished chan outcome  // from the actions to Run
	actions  sync.WaitGroup
	posts    map[monitor.ID]*post // Run's alone

	mu     sync.Mutex
	wishes []wish        // in the order they came
	bell   chan struct{} // rung when wishes has grown
	handed []Reservation // taken by who made them, for Promote
	knock  chan struct{} // rung when handed has grown
}

// wish is a call of Start or Stop on its way to Run.
type wish struct {
	id  monitor.ID
	job *Job // nil: no worker
}

// New makes a supervisor. Errors: a value of cfg is missing or out of its range.
func New(roster Roster, launcher Launcher, cfg Config) (*Supervisor, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	return &Supervisor{
		roster:   roster,
		launcher: launcher,
		cfg:      cfg,
		log:      cfg.Log.With("component", "supervisor"),
		launches: make(chan struct{}, cfg.Launches),
		finished: make(chan outcome),
		posts:    map[monitor.ID]*post{},
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
	s.wish(wish{m.ID, &Job{
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

func (s *Supervisor) wish(w wish) {
	s.mu.Lock()
	s.wishes = append(s.wishes, w)
	s.mu.Unlock()
	select {
	case s.bell <- struct{}{}:
	default:
	}
}

func (s *Supervisor) takeWishes() []wish {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.wishes
	s.wishes = nil
	return all
}

// Run does what was asked for and notices what ends, until ctx is done; it
// returns when every goroutine of its has ended. Workers are left as they are.
// Run is called once.
func (s *Supervisor) Run(ctx context.Context) {
	defer s.actions.Wait()
	exits := s.launcher.Exits()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-s.bell:
			for _, w := range s.takeWishes() {
				s.grant(ctx, w)
			}
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
