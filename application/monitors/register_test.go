package monitors_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestARegistrationIsStoredAndStartsAWorker(t *testing.T) {
	s := newServiceWith(t, func(c *monitors.Config) { c.Now = func() time.Time { return noon.Add(123_999_600) } })
	m := s.register("Q")
	if m.Status != monitor.Initializing || m.Generation != 1 || string(m.Metadata) != "{}" {
		t.Errorf("registered as %+v", m)
	}
	if !m.CreatedAt.Equal(noon.Add(123*time.Millisecond)) || m.UpdatedAt != m.CreatedAt { // as responses show them
		t.Errorf("created at %v, updated at %v", m.CreatedAt, m.UpdatedAt)
	}
	if stored, err := s.Get(t.Context(), m.ID); err != nil || stored.StreamURL != streamURL {
		t.Errorf("stored is %+v, %v", stored, err)
	}
	if started := s.workers.Started(); len(started) != 1 || started[0] != m.ID {
		t.Errorf("workers started: %v", started)
	}
}

func TestMetadataIsKeptByteForByteOrRefused(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":`, n-1) + `{}` + strings.Repeat(`}`, n-1) }
	sized := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }

	for name, raw := range map[string]string{
		"in any script":                     `{"title":"配信タイトル","emoji":"📺"}`,
		"with numbers as they were written": `{"a":1.0,"b":1e2,"c":123456789012345678901234567890}`,
		"with white space and order":        "{ \"b\" : 1,\n\"a\":2 }",
		"with escapes":                      `{"a":"\\u0000 \u00e9 \ud83d\ude00 <&>"}`,
		"of exactly 16 KiB":                 sized(monitor.MaxMetadata),
		"of 32 levels":                      deep(monitor.MaxMetadataDepth),
	} {
		if got, err := monitor.CheckMetadata([]byte(raw)); err != nil || string(got) != raw {
			t.Errorf("metadata %s becomes %s, %v", name, got, err)
		}
	}

	for name, raw := range map[string]string{
		"that is null":                            `null`,
		"that is a text":                          `"x"`,
		"that is not JSON":                        `{"a":}`,
		"that is not UTF-8":                       "{\"a\":\"\xff\"}",
		"of one byte more than 16 KiB":            sized(monitor.MaxMetadata + 1),
		"of 33 levels":                            deep(monitor.MaxMetadataDepth + 1),
		"with NUL, which JSONB cannot hold":       `{"a":"x\u0000"}`,
		"with NUL in a name":                      `{"\u0000":1}`,
		"with the first half of a surrogate pair": `{"a":"\ud83d"}`,
		"with two first halves":                   `{"a":"\ud83d\ud83d"}`,
		"with the second half alone":              `{"a":"\ude00"}`,
		"with a number that overflows JSONB":      `{"a":1e200000}`,
		"with a number that underflows JSONB":     `{"a":1e-200000}`,
		"with a number of a thousand digits":      `{"a":` + strings.Repeat("1", 1000) + `}`,
	} {
		_, err := monitor.CheckMetadata([]byte(raw))
		if requireCode(t, err, monitor.InvalidConfig); !strings.Contains(err.Error(), "metadata") {
			t.Errorf("metadata %s: the message does not name the field: %v", name, err)
		}
	}
}

func TestAStopEndsTheMonitorOnce(t *testing.T) {
	var log bytes.Buffer
	s := newServiceWith(t, func(c *monitors.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	id := s.register("Q").ID
	for range 3 {
		log.Reset()
		if _, err := s.Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		stopped := s.workers.Stopped()
		if logged, first := strings.Contains(log.String(), "monitor stopped"), len(stopped) == 1; logged != first || stopped[0] != id {
			t.Errorf("request %d logs %q, stopped are %v", len(stopped), log.String(), stopped)
		}
	}
}

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
