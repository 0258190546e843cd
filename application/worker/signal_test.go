package worker_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// signals returns the distinct signals of the stored reports, in order.
func (g *fakeGateway) signals() (all []monitor.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	seen := map[monitor.Signal]bool{}
	for _, r := range g.reports {
		for _, s := range r.Signals {
			if !seen[s] {
				seen[s] = true
				all = append(all, s)
			}
		}
	}
	return all
}

func TestSignalsAreRepeatedUntilTheGatewayHasThem(t *testing.T) {
	for name, away := range map[string]time.Duration{"a gateway that answers": 0, "a gateway that is away until after the outage": 5 * time.Minute} {
		scenario(t, name, func(t *testing.T) {
			s, g := &fakeStream{}, newFakeGateway()
			back := time.Now().Add(away)
			g.respond = func(monitor.Report) (monitor.Order, error) {
				if time.Now().Before(back) {
					return "", errGatewayDown
				}
				return monitor.Run, nil
			}
			wait := startWorker(t.Context(), t, s, g)
			time.Sleep(20 * time.Second)
			s.set(func(s *fakeStream) { s.unreadable = true })
			time.Sleep(2*time.Minute + time.Second) // not at the moment of a retry
			s.set(func(s *fakeStream) { s.unreadable = false })
			time.Sleep(time.Minute + away)
			endStream(t, s, wait)
			all := g.signals()
			if len(all) != 2 || all[0].Condition != trouble.NoMedia || !all[0].EndedAt.IsZero() ||
				all[1].EndedAt.IsZero() || !all[1].StartedAt.Equal(all[0].StartedAt) {
				t.Errorf("the signals are %v", all)
			}
			if got, want := g.eventTypes(), "stream.started alert.segment_error stream.ended"; got != want {
				t.Errorf("events %s, want %s", got, want)
			}
			if last := g.lastReport(); len(last.Signals) > 0 && len(g.reports) > 30 && away == 0 {
				t.Errorf("the last report repeats %v", last.Signals)
			}
		})
	}
}
