package worker_test

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
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
