package supervise

import (
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// leases tells who has not reported for too long. It goes by what it sees
// change between its own looks, on the monotonic clock, so that no step of
// anybody's clock ends a lease.
type leases struct {
	term  time.Duration
	gap   time.Duration // between two looks, beyond which silence proves nothing
	now   time.Time     // of the look under way
	blind bool          // it follows a gap

	mu    sync.Mutex
	signs map[monitor.ID]sign
}

// sign is the last sign of life of a monitor's worker.
type sign struct {
	generation int
	updated    time.Time // as the database has it: compared for equality alone
	at         time.Time // when it was seen
}

func newLeases(term, look time.Duration) *leases {
	return &leases{term: term, gap: 3 * look, signs: map[monitor.ID]sign{}}
}

// look begins a look. After a gap every lease begins anew: while nobody could
// look, because the database was away or this process was stopped, nobody could
// be heard either.
func (l *leases) look(now time.Time) {
	l.blind = !l.now.IsZero() && now.Sub(l.now) > l.gap
	l.now = now
	if !l.blind {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, s := range l.signs {
		s.at = now
		l.signs[id] = s
	}
}

// silent tells whether a monitor's lease has run out. At the first sight of one
// whose worker is not in view the database's word is taken for how long it has
// been idle.
func (l *leases) silent(m Standing, inView bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, known := l.signs[m.ID]
	switch {
	case !known && !inView && !l.blind:
		s = sign{m.Generation, m.UpdatedAt, l.now.Add(-m.Idle)}
	case !known, s.generation != m.Generation, !s.updated.Equal(m.UpdatedAt):
		s = sign{m.Generation, m.UpdatedAt, l.now}
	}
	l.signs[m.ID] = s
	return l.now.Sub(s.at) >= l.term
}

// renew begins one monitor's lease anew; it may be called between two looks.
func (l *leases) renew(id monitor.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, known := l.signs[id]; known {
		s.at = time.Now()
		l.signs[id] = s
	}
}

// keep forgets monitors that are not active any more.
func (l *leases) keep(active map[monitor.ID]Standing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.signs {
		if _, there := active[id]; !there {
			delete(l.signs, id)
		}
	}
}
