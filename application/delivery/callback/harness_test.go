package callback_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/callback"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// scenario runs a test in virtual time.
func scenario(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// harness runs one dispatcher in a synctest bubble.
type harness struct {
	t      *testing.T
	outbox *fakeOutbox
	wake   chan struct{}
	stop   func() // ends Run and waits for it

	mu    sync.Mutex
	ended []monitor.ID
	log   bytes.Buffer
}

func start(t *testing.T, o *fakeOutbox, s *fakeSender, change func(*callback.Config)) *harness {
	t.Helper()
	h := &harness{t: t, outbox: o, wake: make(chan struct{}, 1)}
	cfg := callback.Config{
		Log: slog.New(slog.NewTextHandler(&h.log, nil)),
		OnMonitorFailed: func(id monitor.ID) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.ended = append(h.ended, id)
		},
	}
	if change != nil {
		change(&cfg)
	}
	d, err := callback.New(o, s, h.wake, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { d.Run(ctx); close(done) }()
	h.stop = func() { cancel(); <-done }
	return h
}

// advance lets virtual time pass, and waits until all goroutines are blocked.
func (h *harness) advance(d time.Duration) { time.Sleep(d); synctest.Wait() }

func (h *harness) expectState(eventID, want string) {
	h.t.Helper()
	if got := h.outbox.find(eventID).state; got != want {
		h.t.Errorf("%s is %s, want %s", eventID, got, want)
	}
}

func seconds(values ...float64) []time.Duration {
	var durations []time.Duration
	for _, v := range values {
		durations = append(durations, time.Duration(v*float64(time.Second)))
	}
	return durations
}
