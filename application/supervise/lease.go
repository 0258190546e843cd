package supervise

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
	term  time.Duration // of a worker that has reported
	first time.Duration // of one that has not yet
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
	absent     bool // it was not in view
}

func newLeases(term, first, step time.Duration) *leases {
	return &leases{term: term, first: first, step: step, signs: map[monitor.ID]sign{}}
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

// see takes a sight of a monitor up. It tells whether its lease has run out, and
// whether its worker was already out of view at the last look.
func (l *leases) see(m monitor.Monitor, inView bool) (silent, absentBefore bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, known := l.signs[m.ID]
	switch {
	case !known, s.generation != m.Generation:
		s = sign{generation: m.Generation, updated: m.UpdatedAt}
	case !s.updated.Equal(m.UpdatedAt):
		s.updated, s.silence = m.UpdatedAt, 0
	default:
		s.silence += l.passed
	}
	absentBefore, s.absent = s.absent, !inView
	l.signs[m.ID] = s
	term := l.term
	if m.ReportedAt.IsZero() {
		term = l.first
	}
	return s.silence >= term, absentBefore
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
