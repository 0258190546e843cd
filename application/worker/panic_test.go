package worker_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
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

// fuse panics, in whatever it stands before, from the time on at which it is
// lit. In between it is a port like any other.
type fuse struct {
	worker.Ports
	lit    atomic.Bool
	where  string
	goexit bool
	closed atomic.Int32 // bodies
	opened atomic.Int32
}

func (f *fuse) burn(where string) {
	if !f.lit.Load() || f.where != where {
		return
	}
	if f.goexit {
		runtime.Goexit()
	}
	panic("out of ideas")
}

func (f *fuse) Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	f.burn("resolver")
	return f.Resolver.Resolve(ctx, url)
}

func (f *fuse) Probe(ctx context.Context, url monitor.StreamURL) watch.ProbeResult {
	f.burn("prober")
	return f.Prober.Probe(ctx, url)
}

func (f *fuse) ReadPlaylist(ctx context.Context, url string) watch.Playlist {
	f.burn("playlist")
	return f.Playlists.ReadPlaylist(ctx, url)
}

func (f *fuse) FetchSegment(ctx context.Context, s watch.Segment) (io.ReadCloser, error) {
	f.burn("fetcher")
	body, err := f.Segments.FetchSegment(ctx, s)
	f.opened.Add(1)
	return counted{body, &f.closed}, err
}

func (f *fuse) Analyse(ctx context.Context, s watch.Segment, body io.Reader, setting func(string) float64) (watch.Analysis, error) {
	f.burn("analyser")
	return f.Analyser.Analyse(ctx, s, body, setting)
}

func (f *fuse) Assignment(ctx context.Context, id monitor.ID, generation int) (monitor.Assignment, error) {
	f.burn("assignment")
	return f.Gateway.Assignment(ctx, id, generation)
}

func (f *fuse) Report(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Order, error) {
	f.burn("report")
	return f.Gateway.Report(ctx, id, r)
}

func (f *fuse) Write(p []byte) (int, error) {
	f.burn("recording")
	return len(p), nil
}

type counted struct {
	io.ReadCloser
	closed *atomic.Int32
}

func (c counted) Close() error { c.closed.Add(1); return c.ReadCloser.Close() }

// burning runs a worker all of whose ports stand behind a fuse.
func burning(ctx context.Context, f *fuse, s *stream, d *fakeGateway, change ...func(*worker.Config)) (wait func() error) {
	f.Ports = ports(s, d)
	p := worker.Ports{Gateway: f, Resolver: f, Prober: f, Playlists: f, Segments: f, Analyser: f}
	return watchingUntil(ctx, context.Background(), p, append(change, func(c *worker.Config) { c.Recording = f })...)
}

func TestAPanicEndsOneWorkerAndIsNamed(t *testing.T) {
	for where, named := range map[string]string{
		"resolver":   "task resolve: panic: out of ideas",
		"playlist":   "task playlist: panic: out of ideas",
		"fetcher":    "task segment: panic: out of ideas",
		"analyser":   "task segment: panic: out of ideas",
		"report":     "reporting: panic: out of ideas",
		"recording":  "watching: panic: out of ideas", // of the loop itself
		"assignment": "worker: panic: out of ideas",
	} {
		t.Run("in the "+where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				s, d := &stream{}, newFakeGateway()
				f := &fuse{where: where}
				f.lit.Store(where == "assignment")
				wait := burning(t.Context(), f, s, d, func(c *worker.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
				time.Sleep(4*time.Minute + 50*time.Second) // a resolving and a media task are due within 10 s
				began := time.Now()
				f.lit.Store(true)
				err := wait()
				if err == nil || err.Error() != named {
					t.Errorf("ended with %v, want %q", err, named)
				}
				if took := time.Since(began); where != "assignment" && took > 11*time.Second {
					t.Errorf("took %s", took)
				}
				if text := log.String(); !strings.Contains(text, `level=ERROR msg="A goroutine panicked; the worker ends"`) || !strings.Contains(text, "(*fuse).burn") {
					t.Errorf("the log has no stack:\n%s", text)
				}
				if opened, closed := f.opened.Load(), f.closed.Load(); opened != closed {
					t.Errorf("%d bodies were opened, %d closed", opened, closed)
				}
			}) // and no goroutine is left, or synctest says so
		})
	}
	t.Run("or vanishes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := &fuse{where: "analyser", goexit: true}
			wait := burning(t.Context(), f, &stream{}, newFakeGateway())
			time.Sleep(10 * time.Second)
			f.lit.Store(true)
			if err := wait(); err == nil {
				t.Error("ended well")
			}
		})
	})
}

func TestAPanicDoesNotTakeWhatWasSeenBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &stream{}, newFakeGateway()
		f := &fuse{where: "analyser"}
		wait := burning(t.Context(), f, s, d)
		time.Sleep(10 * time.Second)
		s.set(func(s *stream) { s.black = true })
		time.Sleep(9 * time.Second) // about to be told
		d.set(func(d *fakeGateway) { d.way = func(context.Context) error { time.Sleep(time.Second); return nil } })
		time.Sleep(2 * time.Second)
		f.lit.Store(true)
		if err := wait(); err == nil {
			t.Error("ended well")
		}
		if got := d.types(); got != "stream.started alert.blackout" {
			t.Errorf("accepted %s", got)
		}
	})
}

func TestAPanicWhileItEndsIsContainedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fuse{where: "body"}
		s := &stream{analyse: func(context.Context) { time.Sleep(5 * time.Second); f.burn("body") }}
		ctx, cancel := context.WithCancel(t.Context())
		wait := burning(ctx, f, s, newFakeGateway())
		time.Sleep(2 * time.Second)
		f.lit.Store(true)
		cancel()
		if err := wait(); err == nil || !strings.Contains(err.Error(), "out of ideas") {
			t.Errorf("ended with %v", err)
		}
	})
}
