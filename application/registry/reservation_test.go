package registry_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// TestReservations is the registering half of decision A10.
func TestReservations(t *testing.T) {
	ctx := context.Background()
	const lead = 10 * time.Minute
	starting := func(at time.Time) registry.Request {
		r := request("Q")
		r.Config.ScheduledStartTime = &at
		return r
	}
	reserving := func(t *testing.T) desk {
		return openWith(t, func(c *registry.Config) { c.ScheduleLead = lead })
	}

	t.Run("a start further away than the lead waits without a worker", func(t *testing.T) {
		d := reserving(t)
		m, err := d.Register(ctx, starting(noon.Add(lead+time.Millisecond)))
		if err != nil {
			t.Fatal(err)
		}
		kept, err := d.Get(ctx, m.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []monitor.Monitor{m, kept} {
			if m.Status != monitor.Waiting || m.StreamStatus != monitor.StreamUpcoming || !m.ReservedUntil.Equal(noon.Add(time.Millisecond)) {
				t.Errorf("reserved as %s, %s, until %v", m.Status, m.StreamStatus, m.ReservedUntil)
			}
		}
		if started := d.crew.Started(); len(started) != 0 {
			t.Errorf("workers asked for: %v", started)
		}
	})

	t.Run("an end that has passed, with the tolerance, is refused", func(t *testing.T) {
		for ago, accepted := range map[time.Duration]bool{301 * time.Second: false, 300 * time.Second: false, 299 * time.Second: true} {
			r := request("Q")
			r.Config.ScheduledEndTime = new(noon.Add(-ago))
			_, err := reserving(t).Register(ctx, r)
			var refused *monitor.Error
			if errors.As(err, &refused) == accepted || !accepted && (refused.Code != monitor.InvalidConfig || !strings.Contains(refused.Message, "scheduled_end_time")) {
				t.Errorf("%s ago: %v", ago, err)
			}
		}
	})

	for name, r := range map[string]registry.Request{
		"a start exactly the lead away": starting(noon.Add(lead)),
		"a start sooner than that":      starting(noon.Add(lead - time.Millisecond)),
		"a start that has passed":       starting(noon.Add(-time.Hour)),
		"no start":                      request("Q"),
		"no start, but an end far from now": func() registry.Request {
			r := request("Q")
			r.Config.ScheduledEndTime = new(noon.Add(48 * time.Hour))
			return r
		}(),
	} {
		t.Run(name+" gets its worker at once", func(t *testing.T) {
			d := reserving(t)
			m, err := d.Register(ctx, r)
			if err != nil || m.Status != monitor.Initializing || m.StreamStatus != monitor.StreamUnknown || !m.ReservedUntil.Equal(noon.Add(10*time.Second)) {
				t.Errorf("registered as %+v, %v", m, err)
			}
			if started := d.crew.Started(); len(started) != 1 {
				t.Errorf("workers asked for: %v", started)
			}
		})
	}

	t.Run("a reservation blocks its stream and counts against the maximum", func(t *testing.T) {
		d := openWith(t, func(c *registry.Config) { c.MaxMonitors = 1 })
		if _, err := d.Register(ctx, starting(noon.Add(time.Hour))); err != nil {
			t.Fatal(err)
		}
		_, err := d.Register(ctx, request("Q"))
		mustBe(t, err, monitor.Duplicate)
		_, err = d.Register(ctx, request("A"))
		mustBe(t, err, monitor.MaxMonitorsExceeded)
	})

	t.Run("a reservation under a key is repeated as one", func(t *testing.T) {
		d := reserving(t)
		first, _, err := d.RegisterIdempotent(ctx, starting(noon.Add(time.Hour)), aKey)
		if err != nil {
			t.Fatal(err)
		}
		again, replayed, err := d.RegisterIdempotent(ctx, starting(noon.Add(time.Hour)), aKey)
		if err != nil || !replayed || again.ID != first.ID || again.Status != monitor.Waiting {
			t.Errorf("repeated as %+v, %v, %v", again, replayed, err)
		}
		if started := d.crew.Started(); len(started) != 0 {
			t.Errorf("workers asked for: %v", started)
		}
	})

	t.Run("a reservation that is stopped is none any more", func(t *testing.T) {
		d := reserving(t)
		m, err := d.Register(ctx, starting(noon.Add(time.Hour)))
		if err != nil {
			t.Fatal(err)
		}
		stopped, err := d.Stop(ctx, m.ID)
		if err != nil || stopped.Status != monitor.Stopped || !stopped.ReservedUntil.IsZero() {
			t.Errorf("stopped as %+v, %v", stopped, err)
		}
	})
}
