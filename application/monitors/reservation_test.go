package monitors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// TestAFarStartIsReserved tests the registration of decision A10.
func TestAFarStartIsReserved(t *testing.T) {
	ctx := context.Background()
	const lead = 10 * time.Minute
	startingAt := func(at time.Time) monitors.Request {
		r := request("Q")
		r.Config.ScheduledStartTime = &at
		return r
	}
	newReservingService := func(t *testing.T) testService {
		return newServiceWith(t, func(c *monitors.Config) { c.ScheduleLead = lead })
	}

	t.Run("a start after the lead time waits without a worker", func(t *testing.T) {
		s := newReservingService(t)
		m, err := s.Register(ctx, startingAt(noon.Add(lead+time.Millisecond)))
		if err != nil {
			t.Fatal(err)
		}
		stored, err := s.Get(ctx, m.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []monitor.Monitor{m, stored} {
			if m.Status != monitor.Waiting || m.StreamStatus != monitor.StreamUpcoming || !m.ReservedUntil.Equal(noon.Add(time.Millisecond)) {
				t.Errorf("reserved as %s, %s, until %v", m.Status, m.StreamStatus, m.ReservedUntil)
			}
		}
		if started := s.workers.Started(); len(started) != 0 {
			t.Errorf("workers started: %v", started)
		}
	})

	t.Run("an end that is past, with the tolerance, is refused", func(t *testing.T) {
		for ago, accepted := range map[time.Duration]bool{301 * time.Second: false, 300 * time.Second: false, 299 * time.Second: true} {
			r := request("Q")
			r.Config.ScheduledEndTime = new(noon.Add(-ago))
			_, err := newReservingService(t).Register(ctx, r)
			var refused *monitor.Error
			if errors.As(err, &refused) == accepted || !accepted && (refused.Code != monitor.InvalidConfig || !strings.Contains(refused.Message, "scheduled_end_time")) {
				t.Errorf("%s ago: %v", ago, err)
			}
		}
	})

	for name, r := range map[string]monitors.Request{
		"a start exactly the lead away": startingAt(noon.Add(lead)),
		"a start sooner than that":      startingAt(noon.Add(lead - time.Millisecond)),
		"a start that has passed":       startingAt(noon.Add(-time.Hour)),
		"no start":                      request("Q"),
		"no start, but an end far from now": func() monitors.Request {
			r := request("Q")
			r.Config.ScheduledEndTime = new(noon.Add(48 * time.Hour))
			return r
		}(),
	} {
		t.Run(name+" gets its worker at once", func(t *testing.T) {
			s := newReservingService(t)
			m, err := s.Register(ctx, r)
			if err != nil || m.Status != monitor.Initializing || m.StreamStatus != monitor.StreamUnknown || !m.ReservedUntil.Equal(noon.Add(10*time.Second)) {
				t.Errorf("registered as %+v, %v", m, err)
			}
			if started := s.workers.Started(); len(started) != 1 {
				t.Errorf("workers started: %v", started)
			}
		})
	}
}
