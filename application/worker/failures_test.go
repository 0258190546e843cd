package worker_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// panicking lets one call of a worker panic, once it is armed. It is also its recording.
type panicking struct {
	armed  atomic.Bool
	where  string
	goexit bool // runtime.Goexit in place of a panic
}

func (p *panicking) panicIn(where string) {
	if !p.armed.Load() || p.where != where {
		return
	}
	if p.goexit {
		runtime.Goexit()
	}
	panic("injected")
}

func (p *panicking) Write(line []byte) (int, error) {
	p.panicIn("recording")
	return len(line), nil
}

// start starts a worker whose ports may panic.
func (p *panicking) start(ctx context.Context, t *testing.T, s *fakeStream, g *fakeGateway, configure ...func(*worker.Config)) (wait func() error) {
	t.Helper()
	s.onCall, g.onCall = func(_ context.Context, port string) { p.panicIn(port) }, p.panicIn
	return startWorker(ctx, t, s, g, append(configure, func(c *worker.Config) { c.Recording = p })...)
}

func TestAPanicEndsOneWorkerAndIsLogged(t *testing.T) {
	for where, named := range map[string]string{
		"resolver":   "task resolve: panic: injected",
		"playlist":   "task playlist: panic: injected",
		"fetcher":    "task segment: panic: injected",
		"analyser":   "task segment: panic: injected",
		"report":     "reporting: panic: injected",
		"recording":  "watching: panic: injected", // of the loop itself
		"assignment": "worker: panic: injected",
	} {
		scenario(t, "in the "+where, func(t *testing.T) {
			var log bytes.Buffer
			s, g := &fakeStream{}, newFakeGateway()
			p := &panicking{where: where}
			p.armed.Store(where == "assignment")
			wait := p.start(t.Context(), t, s, g, logTo(&log))
			time.Sleep(59*time.Minute + 50*time.Second) // both lanes have a task due within 10 s
			began := time.Now()
			p.armed.Store(true)
			err := wait()
			if err == nil || err.Error() != named {
				t.Errorf("ended with %v, want %q", err, named)
			}
			if took := time.Since(began); where != "assignment" && took > 11*time.Second {
				t.Errorf("took %s", took)
			}
			if text := log.String(); !strings.Contains(text, `level=ERROR msg="A goroutine panicked; the worker ends"`) || !strings.Contains(text, "(*panicking).panicIn") {
				t.Errorf("the log has no stack:\n%s", text)
			}
			if opened, closed := s.opened.Load(), s.closed.Load(); opened != closed {
				t.Errorf("%d bodies were opened, %d closed", opened, closed)
			}
		}) // synctest fails if a goroutine is left
	}
	scenario(t, "a goroutine that exits without a panic ends the worker too", func(t *testing.T) {
		p := &panicking{where: "analyser", goexit: true}
		wait := p.start(t.Context(), t, &fakeStream{}, newFakeGateway())
		time.Sleep(10 * time.Second)
		p.armed.Store(true)
		if err := wait(); err == nil {
			t.Error("ended well")
		}
	})
}

func TestAPanicLosesNoEarlierEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		p := &panicking{where: "analyser"}
		wait := p.start(t.Context(), t, s, g)
		time.Sleep(10 * time.Second)
		s.set(func(s *fakeStream) { s.black = true })
		time.Sleep(9 * time.Second) // the alert is due
		g.set(func(g *fakeGateway) {
			g.onRequest = func(context.Context) error { time.Sleep(time.Second); return nil }
		})
		time.Sleep(2 * time.Second)
		p.armed.Store(true)
		if err := wait(); err == nil {
			t.Error("ended well")
		}
		if got := g.eventTypes(); got != "stream.started alert.blackout" {
			t.Errorf("accepted %s", got)
		}
	})
}

func TestAPanicDuringShutdownBecomesAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &panicking{where: "body"}
		s := &fakeStream{analyse: func(context.Context) { time.Sleep(5 * time.Second); p.panicIn("body") }}
		ctx, cancel := context.WithCancel(t.Context())
		wait := p.start(ctx, t, s, newFakeGateway())
		time.Sleep(2 * time.Second)
		p.armed.Store(true)
		cancel()
		if err := wait(); err == nil || !strings.Contains(err.Error(), "injected") {
			t.Errorf("ended with %v", err)
		}
	})
}

// rejectKey makes a gateway reject the worker's key, or accept it again.
func (g *fakeGateway) rejectKey(reject bool) {
	g.set(func(g *fakeGateway) {
		g.assignmentErr, g.respond = nil, nil
		if reject {
			g.assignmentErr = monitor.Errorf(monitor.Unauthorized, "the key is another one")
			g.respond = func(monitor.Report) (monitor.Order, error) { return "", g.assignmentErr }
		}
	})
}

// INTERNAL_API_KEY may change while workers run. The worker ends before it counts as
// lost, and the gateway starts another with a new token.
func TestAWorkerEndsWhenItsKeyIsRejected(t *testing.T) {
	for _, c := range []struct {
		name     string
		accepted time.Duration // how long the key is right at first
	}{
		{"while it monitors", 30 * time.Second},
		{"before it has its assignment", 0},
	} {
		scenario(t, c.name, func(t *testing.T) {
			s, g := &fakeStream{}, newFakeGateway()
			g.rejectKey(c.accepted == 0)
			began := time.Now().Add(c.accepted)
			wait := startWorker(t.Context(), t, s, g)
			time.Sleep(c.accepted)
			g.rejectKey(true)
			if err := wait(); !errors.Is(err, worker.ErrKeyRejected) {
				t.Errorf("ended with %v", err)
			}
			if took := time.Since(began); took < 15*time.Second || took > 20*time.Second {
				t.Errorf("took %s, want 15 s and one attempt", took)
			}
		})
	}

	scenario(t, "but not during a rolling update, when only some gateways reject it", func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		wait := startWorker(t.Context(), t, s, g)
		for range 20 {
			g.rejectKey(true)
			time.Sleep(12 * time.Second)
			g.rejectKey(false)
			time.Sleep(3 * time.Second)
		}
		s.set(func(s *fakeStream) { s.ended = true })
		if err := wait(); err != nil {
			t.Errorf("ended with %v", err)
		}
	})
}

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
