package monitors_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestARegistrationIsStoredAndStartsAWorker(t *testing.T) {
	ctx := context.Background()

	t.Run("stores and returns the monitor and starts its worker", func(t *testing.T) {
		s := newService(t, 50, nil)
		m := s.register("Q")
		if m.Status != monitor.Initializing || m.Generation != 1 || !m.CreatedAt.Equal(noon) || string(m.Metadata) != "{}" {
			t.Errorf("registered as %+v", m)
		}
		if stored, err := s.Get(ctx, m.ID); err != nil || stored.StreamURL != streamURL {
			t.Errorf("stored is %+v, %v", stored, err)
		}
		if started := s.workers.Started(); len(started) != 1 || started[0] != m.ID {
			t.Errorf("workers started: %v", started)
		}
	})

	t.Run("rounds times to the millisecond, as responses show them", func(t *testing.T) {
		s := newServiceWith(t, func(c *monitors.Config) { c.Now = func() time.Time { return noon.Add(123_999_600) } })
		if m := s.register("Q"); !m.CreatedAt.Equal(noon.Add(123*time.Millisecond)) || m.UpdatedAt != m.CreatedAt {
			t.Errorf("created at %v, updated at %v", m.CreatedAt, m.UpdatedAt)
		}
	})

	t.Run("refuses a second monitor of one stream, however it is spelled", func(t *testing.T) {
		s := newService(t, 50, nil)
		s.register("Q")
		r := request("Q")
		r.StreamURL = "http://m.youtube.com/watch?feature=share&v=dQw4w9WgXcQ"
		_, err := s.Register(ctx, r)
		requireCode(t, err, monitor.Duplicate)
		if len(s.workers.Started()) != 1 {
			t.Error("a worker was started")
		}
	})

	t.Run("refuses more than the maximum, by default 50, until one is stopped", func(t *testing.T) {
		s := newServiceWith(t)
		numbered := func(n int) monitors.Request {
			r := request("Q")
			r.StreamURL = strings.Replace(r.StreamURL, "dQw4w9WgXcQ", fmt.Sprintf("%011d", n), 1)
			return r
		}
		var last monitor.Monitor
		for n := range 50 {
			m, err := s.Register(ctx, numbered(n))
			if err != nil {
				t.Fatal(err)
			}
			last = m
		}
		_, err := s.Register(ctx, numbered(50))
		requireCode(t, err, monitor.MaxMonitorsExceeded)
		if _, err := s.Stop(ctx, last.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Register(ctx, numbered(50)); err != nil {
			t.Error(err)
		}
	})

	t.Run("refuses a callback that the policy refuses, before anything is stored", func(t *testing.T) {
		s := newService(t, 50, func(monitor.CallbackURL) error {
			return monitor.Errorf(monitor.InvalidURL, "callback_url: leads to a private network")
		})
		_, err := s.Register(ctx, request("Q"))
		requireCode(t, err, monitor.InvalidURL)
		if page, _ := s.List(ctx, monitors.MonitorQuery{Limit: 50}); page.Total != 0 {
			t.Error("something was stored")
		}
	})

	t.Run("is completed although the caller closes the connection", func(t *testing.T) {
		s := newService(t, 50, nil)
		cancelled, cancel := context.WithCancel(ctx)
		s.store.Fail = func(ctx context.Context, op string) error {
			cancel()
			return ctx.Err()
		}
		if _, err := s.Register(cancelled, request("Q")); err != nil {
			t.Fatalf("the registration was cancelled: %v", err)
		}
		if len(s.workers.Started()) != 1 {
			t.Error("no worker was started")
		}
	})

	t.Run("starts no worker when the store fails", func(t *testing.T) {
		s := newService(t, 50, nil)
		broken := errors.New("disk full")
		s.store.Fail = func(context.Context, string) error { return broken }
		if _, err := s.Register(ctx, request("Q")); !errors.Is(err, broken) {
			t.Errorf("error is %v", err)
		}
		if len(s.workers.Started()) != 0 {
			t.Error("a worker was started")
		}
	})
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
	ctx := context.Background()

	t.Run("stops its worker, and logs the first request", func(t *testing.T) {
		var log bytes.Buffer
		s := newServiceWith(t, func(c *monitors.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		id := s.register("Q").ID
		for range 3 {
			log.Reset()
			if _, err := s.Stop(ctx, id); err != nil {
				t.Fatal(err)
			}
			stopped := s.workers.Stopped()
			if logged, first := strings.Contains(log.String(), "monitor stopped"), len(stopped) == 1; logged != first || stopped[0] != id {
				t.Errorf("request %d logs %q, stopped are %v", len(stopped), log.String(), stopped)
			}
		}
	})

	t.Run("answers NotFound for an unknown monitor", func(t *testing.T) {
		s := newService(t, 50, nil)
		_, err := s.Stop(ctx, "mon-00000000000070008000000000000009")
		requireCode(t, err, monitor.NotFound)
		if len(s.workers.Stopped()) != 0 {
			t.Error("a worker was stopped")
		}
	})
}
