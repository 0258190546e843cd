package delivery_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// scenario is a test on virtual time.
func scenario(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// office runs one dispatcher in a synctest bubble.
type office struct {
	t      *testing.T
	outbox *outbox
	wake   chan struct{}
	stop   func() // and wait for Run

	mu    sync.Mutex
	ended []monitor.ID
	log   bytes.Buffer
}

func start(t *testing.T, o *outbox, r *origin, change func(*delivery.Config)) *office {
	t.Helper()
	b := &office{t: t, outbox: o, wake: make(chan struct{}, 1)}
	cfg := delivery.Config{
		Log: slog.New(slog.NewTextHandler(&b.log, nil)),
		OnMonitorFailed: func(id monitor.ID) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.ended = append(b.ended, id)
		},
	}
	if change != nil {
		change(&cfg)
	}
	d, err := delivery.New(o, r, b.wake, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { d.Run(ctx); close(done) }()
	b.stop = func() { cancel(); <-done }
	return b
}

func (b *office) after(d time.Duration) { time.Sleep(d); synctest.Wait() }

func (b *office) expectState(id, want string) {
	b.t.Helper()
	if got := b.outbox.find(id).state; got != want {
		b.t.Errorf("%s is %s, want %s", id, got, want)
	}
}

func seconds(s ...float64) []time.Duration {
	var out []time.Duration
	for _, x := range s {
		out = append(out, time.Duration(x*float64(time.Second)))
	}
	return out
}
