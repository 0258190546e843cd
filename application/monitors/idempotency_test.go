package monitors_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var idempotencyKey = monitors.Digest{1}

// TestARepeatedRegistrationReturnsTheFirstResult tests decision A9.
func TestARepeatedRegistrationReturnsTheFirstResult(t *testing.T) {
	ctx := context.Background()
	registerFirst := func(t *testing.T, s testService, r monitors.Request) monitor.Monitor {
		t.Helper()
		m, replayed, err := s.RegisterIdempotent(ctx, r, idempotencyKey)
		if err != nil || replayed {
			t.Fatalf("registered as %+v, %v, %v", m, replayed, err)
		}
		return m
	}
	requireReplay := func(t *testing.T, s testService, r monitors.Request, want monitor.Monitor) {
		t.Helper()
		m, replayed, err := s.RegisterIdempotent(ctx, r, idempotencyKey)
		if err != nil || !replayed || m.ID != want.ID || m.Status != want.Status || !m.CreatedAt.Equal(want.CreatedAt) {
			t.Errorf("the repeat is answered with %+v, %v, %v", m, replayed, err)
		}
		if started := s.workers.Started(); len(started) != 1 {
			t.Errorf("workers started: %v", started)
		}
	}

	t.Run("returns the first result after the monitor has ended, and starts no second worker", func(t *testing.T) {
		s := newServiceWith(t)
		m := registerFirst(t, s, request("Q"))
		if stored, err := s.Get(ctx, m.ID); err != nil || stored.StreamURL != streamURL {
			t.Errorf("stored is %+v, %v", stored, err)
		}
		if _, err := s.Stop(ctx, m.ID); err != nil {
			t.Fatal(err)
		}
		requireReplay(t, s, request("Q"), m)
	})

	t.Run("returns the first result although the callback is now refused", func(t *testing.T) {
		s := newServiceWith(t)
		m := registerFirst(t, s, request("Q"))
		*s.policy = func(monitor.CallbackURL) error {
			return monitor.Errorf(monitor.InvalidURL, "callback_url: there is no such host")
		}
		requireReplay(t, s, request("Q"), m)
	})

	t.Run("returns the first result to the request that a concurrent repeat overtook", func(t *testing.T) {
		s := newServiceWith(t)
		var first monitor.Monitor
		*s.policy = func(monitor.CallbackURL) error { // runs between the lookup of the key and the transaction
			*s.policy = nil
			first = registerFirst(t, s, request("Q"))
			return nil
		}
		m, replayed, err := s.RegisterIdempotent(ctx, request("Q"), idempotencyKey)
		if err != nil || !replayed || m.ID != first.ID || len(s.workers.Started()) != 1 {
			t.Errorf("answered with %+v, %v, %v; workers started: %v", m, replayed, err, s.workers.Started())
		}
	})

	t.Run("treats another spelling of the same request as a repeat", func(t *testing.T) {
		start, same := noon.Add(5*time.Minute), noon.Add(5*time.Minute).In(time.FixedZone("JST", 9*60*60))
		s := newServiceWith(t, func(c *monitors.Config) { c.ScheduleLead = time.Hour })
		r := request("Q")
		r.Config.ScheduledStartTime = &start
		m := registerFirst(t, s, r)
		r.StreamURL = "http://m.youtube.com/watch?feature=share&v=dQw4w9WgXcQ"
		r.Config.ScheduledStartTime = &same
		r.Metadata = []byte(`{}`)
		requireReplay(t, s, r, m)
	})

	for name, change := range map[string]func(*monitors.Request){
		"another stream":   func(r *monitors.Request) { *r = request("A") },
		"another callback": func(r *monitors.Request) { r.CallbackURL = new(callbackURL + "2") },
		"another threshold": func(r *monitors.Request) {
			r.Config.SetThresholdSec(detector.Blackout, r.Config.ThresholdSec(detector.Blackout)+1)
		},
		"another start":  func(r *monitors.Request) { r.Config.ScheduledStartTime = new(noon) },
		"another end":    func(r *monitors.Request) { r.Config.ScheduledEndTime = new(noon) },
		"other labels":   func(r *monitors.Request) { r.Labels = monitor.Labels{"team": "b"} },
		"other metadata": func(r *monitors.Request) { r.Metadata = []byte(`{"a":1}`) },
	} {
		t.Run("refuses "+name+" under the same key", func(t *testing.T) {
			s := newServiceWith(t)
			registerFirst(t, s, request("Q"))
			r := request("Q")
			change(&r)
			if _, _, err := s.RegisterIdempotent(ctx, r, idempotencyKey); !errors.Is(err, monitors.ErrKeyReused) {
				t.Errorf("error is %v", err)
			}
			if len(s.workers.Started()) != 1 {
				t.Error("a worker was started")
			}
		})
	}

	t.Run("starts no worker when the store fails", func(t *testing.T) {
		idempotent := func(s testService) error {
			_, _, err := s.RegisterIdempotent(ctx, request("Q"), idempotencyKey)
			return err
		}
		for op, register := range map[string]func(testService) error{
			"FindIdempotent": idempotent, "InsertIdempotent": idempotent,
			"Insert": func(s testService) error { _, err := s.Register(ctx, request("Q")); return err },
		} {
			s := newServiceWith(t)
			broken := errors.New("disk full")
			s.store.Fail = func(_ context.Context, at string) error {
				if at == op {
					return broken
				}
				return nil
			}
			if err := register(s); !errors.Is(err, broken) {
				t.Errorf("%s: error is %v", op, err)
			}
			if len(s.workers.Started()) != 0 {
				t.Errorf("%s: a worker was started", op)
			}
		}
	})
}
