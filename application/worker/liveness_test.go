package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
)

// hangingDisk is a recording whose Write hangs, and the loop with it, from the closing of
// hang until the closing of resume.
type hangingDisk struct{ hang, resume chan struct{} }

func (d hangingDisk) Write(p []byte) (int, error) {
	select {
	case <-d.hang:
		<-d.resume
	default:
	}
	return len(p), nil
}

// probe checks a worker as a kubelet does (section 8.7).
func probe(t *testing.T, w *worker.Worker) (alive, ready bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	return w.Alive(ctx) == nil, w.Ready(ctx) == nil
}

func TestAWorkerIsAliveUnlessItsLoopHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		g.assignmentErr = errGatewayDown
		disk := hangingDisk{make(chan struct{}), make(chan struct{})}
		w := newWorker(ports(s, g), func(c *worker.Config) { c.Recording = disk })
		expect := func(when string, wantAlive, wantReady bool) {
			t.Helper()
			if alive, ready := probe(t, w); alive != wantAlive || ready != wantReady {
				t.Errorf("%s it is alive %v and ready %v", when, alive, ready)
			}
		}
		expect("before it runs", true, false)
		done := make(chan error, 1)
		go func() { done <- w.Run(t.Context()) }()
		time.Sleep(10 * time.Minute)
		expect("without an assignment", true, false)
		g.set(func(g *fakeGateway) { g.assignmentErr = nil })
		time.Sleep(time.Minute)
		expect("while it watches", true, true)
		s.set(func(s *fakeStream) { s.analyse = func(ctx context.Context) { <-ctx.Done() } })
		time.Sleep(10 * time.Second)
		expect("while its tools hang", true, true)
		s.set(func(s *fakeStream) { s.analyse = nil })
		close(disk.hang)
		time.Sleep(time.Minute)
		expect("when its loop hangs", false, true)
		close(disk.resume)
		expect("when its loop runs again", true, true)
		s.set(func(s *fakeStream) { s.ended = true })
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		expect("when it has ended", true, false)
	})
}
