package registry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var aKey = registry.Digest{1}

// TestRegisterOnce is decision A9.
func TestRegisterOnce(t *testing.T) {
	ctx := context.Background()
	once := func(t *testing.T, d desk, r registry.Request) monitor.Monitor {
		t.Helper()
		m, replayed, err := d.RegisterIdempotent(ctx, r, aKey)
		if err != nil || replayed {
			t.Fatalf("registered as %+v, %v, %v", m, replayed, err)
		}
		return m
	}
	repeated := func(t *testing.T, d desk, r registry.Request, want monitor.Monitor) {
		t.Helper()
		m, replayed, err := d.RegisterIdempotent(ctx, r, aKey)
		if err != nil || !replayed || m.ID != want.ID || m.Status != want.Status || !m.CreatedAt.Equal(want.CreatedAt) {
			t.Errorf("the repeat is answered with %+v, %v, %v", m, replayed, err)
		}
		if started := d.crew.Started(); len(started) != 1 {
			t.Errorf("workers asked for: %v", started)
		}
	}

	t.Run("registers like Register", func(t *testing.T) {
		d := openWith(t)
		m := once(t, d, request("Q"))
		if kept, err := d.Get(ctx, m.ID); err != nil || kept.StreamURL != aStream {
			t.Errorf("kept is %+v, %v", kept, err)
		}
		if started := d.crew.Started(); len(started) != 1 || started[0] != m.ID {
			t.Errorf("workers asked for: %v", started)
		}
	})

	t.Run("answers a repeat as the first time, and asks for no second worker", func(t *testing.T) {
		d := openWith(t)
		repeated(t, d, request("Q"), once(t, d, request("Q")))
	})

	t.Run("answers a repeat as the first time after the monitor has ended", func(t *testing.T) {
		d := openWith(t)
		m := once(t, d, request("Q"))
		if _, err := d.Stop(ctx, m.ID); err != nil {
			t.Fatal(err)
		}
		repeated(t, d, request("Q"), m)
	})

	t.Run("answers a repeat though its callback is refused by now", func(t *testing.T) {
		d := openWith(t)
		m := once(t, d, request("Q"))
		*d.policy = func(monitor.CallbackURL) error {
			return monitor.Errorf(monitor.InvalidURL, "callback_url: there is no such host")
		}
		repeated(t, d, request("Q"), m)
	})

	t.Run("answers one that lost the race against its repeat", func(t *testing.T) {
		d := openWith(t)
		var first monitor.Monitor
		*d.policy = func(monitor.CallbackURL) error { // asked between the look at the key and the transaction
			*d.policy = nil
			first = once(t, d, request("Q"))
			return nil
		}
		m, replayed, err := d.RegisterIdempotent(ctx, request("Q"), aKey)
		if err != nil || !replayed || m.ID != first.ID || len(d.crew.Started()) != 1 {
			t.Errorf("answered with %+v, %v, %v; workers asked for: %v", m, replayed, err, d.crew.Started())
		}
	})

	t.Run("takes another spelling of the same for the same", func(t *testing.T) {
		start, same := noon.Add(5*time.Minute), noon.Add(5*time.Minute).In(time.FixedZone("JST", 9*60*60))
		d := openWith(t, func(c *registry.Config) { c.ScheduleLead = time.Hour })
		r := request("Q")
		r.Config.ScheduledStartTime = &start
		m := once(t, d, r)
		r.StreamURL = "http://m.youtube.com/watch?feature=share&v=dQw4w9WgXcQ"
		r.Config.ScheduledStartTime = &same
		r.Metadata = []byte(`{}`)
		repeated(t, d, r, m)
	})

	for name, change := range map[string]func(*registry.Request){
		"another stream":   func(r *registry.Request) { *r = request("A") },
		"another callback": func(r *registry.Request) { r.CallbackURL = aCallback + "2" },
		"another threshold": func(r *registry.Request) {
			r.Config.SetThresholdSec(detector.Blackout, r.Config.ThresholdSec(detector.Blackout)+1)
		},
		"another start":  func(r *registry.Request) { r.Config.ScheduledStartTime = new(noon) },
		"another end":    func(r *registry.Request) { r.Config.ScheduledEndTime = new(noon) },
		"other metadata": func(r *registry.Request) { r.Metadata = []byte(`{"a":1}`) },
	} {
		t.Run("refuses "+name+" under the same key", func(t *testing.T) {
			d := openWith(t)
			once(t, d, request("Q"))
			r := request("Q")
			change(&r)
			if _, _, err := d.RegisterIdempotent(ctx, r, aKey); !errors.Is(err, registry.ErrKeyReused) {
				t.Errorf("error is %v", err)
			}
			if len(d.crew.Started()) != 1 {
				t.Error("a worker was asked for")
			}
		})
	}

	t.Run("remembers nothing that was refused", func(t *testing.T) {
		d := openWith(t)
		first := d.registers("Q")
		_, _, err := d.RegisterIdempotent(ctx, request("Q"), aKey)
		mustBe(t, err, monitor.Duplicate)
		if _, err := d.Stop(ctx, first.ID); err != nil {
			t.Fatal(err)
		}
		once(t, d, request("Q"))
	})

	t.Run("refuses what Register refuses", func(t *testing.T) {
		d := openWith(t)
		r := request("Q")
		r.StreamURL = "https://www.youtube.com/@news"
		_, _, err := d.RegisterIdempotent(ctx, r, aKey)
		mustBe(t, err, monitor.InvalidURL)
	})

	t.Run("asks for no worker when the store fails", func(t *testing.T) {
		for _, op := range []string{"FindIdempotent", "InsertIdempotent"} {
			d := openWith(t)
			broken := errors.New("disk full")
			d.store.Fail = func(_ context.Context, at string) error {
				if at == op {
					return broken
				}
				return nil
			}
			if _, _, err := d.RegisterIdempotent(ctx, request("Q"), aKey); !errors.Is(err, broken) {
				t.Errorf("%s: error is %v", op, err)
			}
			if len(d.crew.Started()) != 0 {
				t.Errorf("%s: a worker was asked for", op)
			}
		}
	})
}
