package worker_test

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// panickingPorts passes every call on to Ports. Once armed, the call named by where
// panics.
type panickingPorts struct {
	worker.Ports
	armed  atomic.Bool
	where  string
	goexit bool         // runtime.Goexit in place of a panic
	opened atomic.Int32 // bodies of segments
	closed atomic.Int32
}

func (p *panickingPorts) panicIn(where string) {
	if !p.armed.Load() || p.where != where {
		return
	}
	if p.goexit {
		runtime.Goexit()
	}
	panic("injected")
}

func (p *panickingPorts) Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	p.panicIn("resolver")
	return p.Resolver.Resolve(ctx, url)
}

func (p *panickingPorts) Probe(ctx context.Context, url monitor.StreamURL) watch.OEmbedResult {
	p.panicIn("prober")
	return p.Prober.Probe(ctx, url)
}

func (p *panickingPorts) ReadPlaylist(ctx context.Context, url string) watch.Playlist {
	p.panicIn("playlist")
	return p.Playlists.ReadPlaylist(ctx, url)
}

func (p *panickingPorts) FetchSegment(ctx context.Context, s watch.Segment) (io.ReadCloser, error) {
	p.panicIn("fetcher")
	body, err := p.Segments.FetchSegment(ctx, s)
	p.opened.Add(1)
	return countedBody{body, &p.closed}, err
}

func (p *panickingPorts) Analyse(ctx context.Context, s watch.Segment, calm watch.Look, body io.Reader, setting func(string) float64) (watch.Analysis, error) {
	p.panicIn("analyser")
	return p.Analyser.Analyse(ctx, s, calm, body, setting)
}

func (p *panickingPorts) Assignment(ctx context.Context, id monitor.ID, generation int) (monitor.Assignment, error) {
	p.panicIn("assignment")
	return p.Gateway.Assignment(ctx, id, generation)
}

func (p *panickingPorts) Report(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Answer, error) {
	p.panicIn("report")
	return p.Gateway.Report(ctx, id, r)
}

func (p *panickingPorts) Write(line []byte) (int, error) {
	p.panicIn("recording")
	return len(line), nil
}

type countedBody struct {
	io.ReadCloser
	closed *atomic.Int32
}

func (c countedBody) Close() error { c.closed.Add(1); return c.ReadCloser.Close() }

// startPanicking starts a worker with panicking ports.
func startPanicking(ctx context.Context, p *panickingPorts, s *fakeStream, g *fakeGateway, configure ...func(*worker.Config)) (wait func() error) {
	p.Ports = ports(s, g)
	all := worker.Ports{Gateway: p, Resolver: p, Prober: p, Playlists: p, Segments: p, Analyser: p}
	return startWorkerUntil(ctx, context.Background(), all, append(configure, func(c *worker.Config) { c.Recording = p })...)
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
		t.Run("in the "+where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				s, g := &fakeStream{}, newFakeGateway()
				p := &panickingPorts{where: where}
				p.armed.Store(where == "assignment")
				wait := startPanicking(t.Context(), p, s, g, logTo(&log))
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
				if text := log.String(); !strings.Contains(text, `level=ERROR msg="A goroutine panicked; the worker ends"`) || !strings.Contains(text, "(*panickingPorts).panicIn") {
					t.Errorf("the log has no stack:\n%s", text)
				}
				if opened, closed := p.opened.Load(), p.closed.Load(); opened != closed {
					t.Errorf("%d bodies were opened, %d closed", opened, closed)
				}
			}) // synctest fails if a goroutine is left
		})
	}
	t.Run("a goroutine that exits without a panic ends the worker too", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := &panickingPorts{where: "analyser", goexit: true}
			wait := startPanicking(t.Context(), p, &fakeStream{}, newFakeGateway())
			time.Sleep(10 * time.Second)
			p.armed.Store(true)
			if err := wait(); err == nil {
				t.Error("ended well")
			}
		})
	})
}

func TestAPanicLosesNoEarlierEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		p := &panickingPorts{where: "analyser"}
		wait := startPanicking(t.Context(), p, s, g)
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
		p := &panickingPorts{where: "body"}
		s := &fakeStream{analyse: func(context.Context) { time.Sleep(5 * time.Second); p.panicIn("body") }}
		ctx, cancel := context.WithCancel(t.Context())
		wait := startPanicking(ctx, p, s, newFakeGateway())
		time.Sleep(2 * time.Second)
		p.armed.Store(true)
		cancel()
		if err := wait(); err == nil || !strings.Contains(err.Error(), "injected") {
			t.Errorf("ended with %v", err)
		}
	})
}
