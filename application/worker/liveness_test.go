package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
)

// stuck is a recording whose disk hangs, and the loop with it.
type stuck struct{ hangs, goesOn chan struct{} }

func (s stuck) Write(p []byte) (int, error) {
	select {
	case <-s.hangs:
		<-s.goesOn
	default:
	}
	return len(p), nil
}

// feel asks a worker how it is, as a probe does (section 8.7).
func feel(t *testing.T, w *worker.Worker) (alive, ready bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	return w.Alive(ctx) == nil, w.Ready(ctx) == nil
}

func TestThePulseOfAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &stream{}, newFakeGateway()
		d.refusal = errAway
		disk := stuck{make(chan struct{}), make(chan struct{})}
		w := newWorker(ports(s, d), func(c *worker.Config) { c.Recording = disk })
		expect := func(when string, wantAlive, wantReady bool) {
			t.Helper()
			if alive, ready := feel(t, w); alive != wantAlive || ready != wantReady {
				t.Errorf("%s it is alive %v and ready %v", when, alive, ready)
			}
		}
		expect("before it runs", true, false)
		done := make(chan error, 1)
		go func() { done <- w.Run(t.Context()) }()
		time.Sleep(10 * time.Minute)
		expect("without an assignment", true, false)
		d.set(func(d *fakeGateway) { d.refusal = nil })
		time.Sleep(time.Minute)
		expect("while it watches", true, true)
		s.set(func(s *stream) { s.analyse = func(ctx context.Context) { <-ctx.Done() } })
		time.Sleep(10 * time.Second)
		expect("while its tools hang", true, true)
		s.set(func(s *stream) { s.analyse = nil })
		close(disk.hangs)
		time.Sleep(time.Minute)
		expect("when its loop hangs", false, true)
		close(disk.goesOn)
		expect("when its loop turns again", true, true)
		s.set(func(s *stream) { s.ended = true })
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		expect("when it has ended", true, false)
	})
}
