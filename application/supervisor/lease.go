package supervisor

import (
	"maps"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// leases tells who has been silent for too long. Silence is what passes between
// two looks of its own without a change, on the monotonic clock, and from one
// look to the next never more than a look should take. So nobody's clock ends a
// lease, and no time in which this gateway could not look: then nobody could be
// heard, either.
type leases struct {
	term  time.Duration // of a worker that has reported, or was not launched
	first time.Duration // of one that has not reported yet
	start time.Duration // of one that has not started yet
	step  time.Duration // most of the time between two looks that counts

	mu     sync.Mutex
	last   time.Time     // look
	passed time.Duration // that counts, at the look under way
	signs  map[monitor.ID]sign
}

// sign is what was last seen of a monitor's worker.
type sign struct {
	generation int
	updated    time.Time // as the database has it: compared for equality alone
	silence    time.Duration
	starting   bool // it had not started: silence is since when
	absent     bool // it was not in view
}

// glimpse is how a monitor's newest worker looks.
type glimpse struct {
	inView     bool // it runs at this gateway's place
	blind      bool // whether it does cannot be told
	starting   bool // it is in view, and has not started yet
	unlaunched bool // it would be in view had it been launched
}

func newLeases(term, first, start, step time.Duration) *leases {
	return &leases{term: term, first: first, start: start, step: step, signs: map[monitor.ID]sign{}}
}

// look begins a look.
func (l *leases) look(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.passed = 0
	if !l.last.IsZero() {
		l.passed = min(now.Sub(l.last), l.step)
	}
	l.last = now
}

// see takes a sight of a monitor up. It tells for how long its worker may be
// silent, if it has been so for that long, else 0; and whether it was already out
// of view at the last look.
func (l *leases) see(m monitor.Monitor, g glimpse) (silent time.Duration, absentBefore bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, known := l.signs[m.ID]
	switch {
	case !known, s.generation != m.Generation:
		s = sign{generation: m.Generation, updated: m.UpdatedAt}
	case !s.updated.Equal(m.UpdatedAt), s.starting && !g.starting && !g.blind:
		s.updated, s.silence = m.UpdatedAt, 0
	default:
		s.silence += l.passed
	}
	absentBefore = s.absent
	if !g.blind {
		s.absent, s.starting = !g.inView, g.starting
	}
	l.signs[m.ID] = s
	if term := l.patience(m, s, g); s.silence >= term {
		return term, absentBefore
	}
	return 0, absentBefore
}

// patience is how long a worker may be silent.
func (l *leases) patience(m monitor.Monitor, s sign, g glimpse) time.Duration {
	switch {
	case s.starting:
		return l.start
	case !m.ReportedAt.IsZero(), g.unlaunched && !g.blind:
		return l.term
	}
	return l.first
}

// hear begins a lease anew: of a generation, or with 0 of whichever there is. It
// may be called between two looks.
func (l *leases) hear(id monitor.ID, generation int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, known := l.signs[id]; known && (generation == 0 || generation == s.generation) {
		s.silence = 0
		l.signs[id] = s
	}
}

// keep forgets monitors that are not active any more.
func (l *leases) keep(active map[monitor.ID]monitor.Monitor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.signs, func(id monitor.ID, _ sign) bool { return active[id].ID == "" })
}
