package history

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// Session is one broadcast: from the start of the stream, as far as is known, until
// its end.
type Session struct {
	From   time.Time
	To     time.Time // zero: it is going on
	Totals Totals
}

// Sessions returns the broadcasts of a monitor, oldest first, and the period of each, for
// its totals. started and ended are the times of its events stream.started and
// stream.ended; life.Until is the monitor's end, or now if it is active. A session without
// an end lasts until the next start or the end of the monitor.
func Sessions(started, ended []time.Time, life Life, active bool) (sessions []Session, periods []Period) {
	slices.SortFunc(started, time.Time.Compare)
	slices.SortFunc(ended, time.Time.Compare)
	for i, from := range started {
		next := life.Until
		if i+1 < len(started) {
			next = started[i+1]
		}
		s := Session{From: from, Totals: NewTotals()}
		if end := slices.IndexFunc(ended, func(t time.Time) bool { return !t.Before(from) && !t.After(next) }); end >= 0 {
			s.To = ended[end]
		} else if i+1 < len(started) || !active {
			s.To = instant.Latest(from, next)
		}
		p := Period{from, next}
		if !s.To.IsZero() {
			p.To = s.To
		}
		sessions, periods = append(sessions, s), append(periods, p)
	}
	return sessions, periods
}
