package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

const id monitor.ID = "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d"

// fakeStream is a live stream of 2 s segments whose program time is the clock's. It
// implements every port except Gateway.
type fakeStream struct {
	mu       sync.Mutex
	resolve  func(ctx context.Context) watch.Resolution // nil: live
	analyse  func(ctx context.Context)                  // nil: takes 100 ms
	blackAt  func(watch.Segment) bool                   // nil: black decides
	silentAt func(watch.Segment) bool                   // nil: never
	black    bool
	backAt   time.Time // from then on the picture is not black; zero: not known
	ended    bool
	resolves int // number of calls of Resolve

	unreadable bool // reading the playlist fails

	onCall         func(ctx context.Context, port string) // called first by every method; nil: nothing
	opened, closed atomic.Int32                           // bodies of segments
}

func (s *fakeStream) called(ctx context.Context, port string) {
	if s.onCall != nil {
		s.onCall(ctx, port)
	}
}

func (s *fakeStream) set(change func(*fakeStream)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *fakeStream) Resolve(ctx context.Context, _ monitor.StreamURL) watch.Resolution {
	s.called(ctx, "resolver")
	s.mu.Lock()
	s.resolves++
	resolve := s.resolve
	s.mu.Unlock()
	if resolve != nil {
		return resolve(ctx)
	}
	return watch.Resolution{State: watch.Live, Manifest: "https://media.test/list.m3u8"}
}

func (s *fakeStream) Probe(ctx context.Context, _ monitor.StreamURL) watch.ProbeResult {
	s.called(ctx, "prober")
	return watch.ProbeResult{}
}

func (s *fakeStream) ReadPlaylist(ctx context.Context, url string) watch.Playlist {
	s.called(ctx, "playlist")
	s.mu.Lock()
	defer s.mu.Unlock()
	p := watch.Playlist{URL: url, TargetDuration: 2 * time.Second, Ended: s.ended}
	if s.unreadable {
		p.Failure = watch.NewFailure(watch.FailureNetwork, "no playlist")
		return p
	}
	newest := time.Now().Unix() / 2
	for n := newest - 15; n < newest; n++ {
		p.Segments = append(p.Segments, watch.Segment{
			URI:         fmt.Sprintf("https://media.test/%d.ts", n),
			Sequence:    uint64(n),
			Duration:    2 * time.Second,
			ProgramTime: time.Unix(2*n, 0),
		})
	}
	return p
}

func (s *fakeStream) FetchSegment(ctx context.Context, _ watch.Segment) (io.ReadCloser, error) {
	s.called(ctx, "fetcher")
	s.opened.Add(1)
	return emptyBody{&s.closed}, nil
}

// emptyBody counts that it was closed.
type emptyBody struct{ closed *atomic.Int32 }

func (emptyBody) Read([]byte) (int, error) { return 0, io.EOF }
func (b emptyBody) Close() error           { b.closed.Add(1); return nil }

func (s *fakeStream) Analyse(ctx context.Context, segment watch.Segment, _ watch.Look, _ io.Reader, _ func(string) float64) (watch.Analysis, error) {
	s.called(ctx, "analyser")
	s.mu.Lock()
	analyse, black, until := s.analyse, s.black, segment.Duration
	if !s.backAt.IsZero() {
		until = min(until, s.backAt.Sub(segment.ProgramTime))
	}
	if s.blackAt != nil {
		black = s.blackAt(segment)
	}
	silent := s.silentAt != nil && s.silentAt(segment)
	s.mu.Unlock()
	if analyse != nil {
		analyse(ctx)
	} else {
		time.Sleep(100 * time.Millisecond)
	}
	if ctx.Err() != nil {
		return watch.Analysis{}, ctx.Err()
	}
	a := watch.Analysis{
		Video:     detector.DecodedTrack{Present: true, To: segment.Duration},
		Audio:     detector.DecodedTrack{Present: true, To: segment.Duration},
		Intervals: map[detector.Name][]detector.Interval{},
	}
	if black && until > 0 {
		a.Intervals[detector.Blackout] = []detector.Interval{{To: until}}
	}
	if silent {
		a.Intervals[detector.Silence] = []detector.Interval{{To: segment.Duration}}
	}
	return a, nil
}

// fakeGateway stores the reports that it accepts.
type fakeGateway struct {
	mu               sync.Mutex
	config           monitor.Config
	snapshot         []byte
	assignmentErr    error                                       // of Assignment
	respond          func(monitor.Report) (monitor.Order, error) // nil: the order run
	onRequest        func(ctx context.Context) error             // a failure before a report arrives; nil: none
	onResponse       func() error                                // a failure of the response; nil: none
	official         func() *monitor.OfficialState               // of answers; nil: none
	revision         int                                         // of config, pausedUntil and references
	pausedUntil      time.Time
	references       []detector.Reference
	cookies          *cookie.Jar
	secret           monitor.StreamSecret
	returned         func(cookie.Use) (cookie.Jar, error) // answers ReturnCookies
	newestGeneration int                                  // 0: any generation is accepted
	reports          []monitor.Report
	accepted         []event.Event // each once

	onCall func(method string) // called first by every method; nil: nothing
}

func (g *fakeGateway) called(method string) {
	if g.onCall != nil {
		g.onCall(method)
	}
}

func newFakeGateway() *fakeGateway {
	c := monitor.DefaultConfig()
	c.CheckIntervalSec = 2
	c.SetThresholdSec(detector.Blackout, 6)
	return &fakeGateway{config: c}
}

func (g *fakeGateway) Assignment(_ context.Context, id monitor.ID, generation int) (monitor.Assignment, error) {
	g.called("assignment")
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.assignmentErr != nil {
		return monitor.Assignment{}, g.assignmentErr
	}
	return monitor.Assignment{ID: id, Generation: generation, Revision: g.revision, Config: g.config, PausedUntil: g.pausedUntil, Snapshot: g.snapshot, References: g.references, Cookies: g.cookies, Secret: g.secret,
		StreamURL: "https://www.youtube.com/watch?v=abcdefghijk"}, nil
}

func (g *fakeGateway) Report(ctx context.Context, _ monitor.ID, r monitor.Report) (monitor.Answer, error) {
	g.called("report")
	g.mu.Lock()
	answer := monitor.Answer{Revision: g.revision}
	onRequest, onResponse, official := g.onRequest, g.onResponse, g.official
	g.mu.Unlock()
	if onRequest != nil {
		if err := onRequest(ctx); err != nil {
			return monitor.Answer{}, err
		}
	}
	var err error
	if answer.Order, err = g.store(r); err == nil && onResponse != nil {
		err = onResponse()
	}
	if official != nil {
		answer.OfficialState = official()
	}
	return answer, err
}

func (g *fakeGateway) ReturnCookies(_ context.Context, _ monitor.ID, _ int, u cookie.Use) (cookie.Jar, error) {
	g.called("cookies")
	return g.returned(u)
}

func (g *fakeGateway) store(r monitor.Report) (monitor.Order, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.newestGeneration != 0 && r.Generation != g.newestGeneration {
		return "", monitor.ErrSuperseded
	}
	if g.respond != nil {
		if order, err := g.respond(r); err != nil || order == monitor.Stop {
			return order, err
		}
	}
	g.reports = append(g.reports, r)
	for _, e := range r.Events {
		known := false
		for _, a := range g.accepted {
			known = known || a.ID == e.ID
		}
		if !known {
			g.accepted = append(g.accepted, e)
		}
	}
	if r.Snapshot != nil {
		g.snapshot = r.Snapshot
	}
	if r.Status != "" && !r.Status.Active() {
		return monitor.Stop, nil
	}
	return monitor.Run, nil
}

func (g *fakeGateway) set(change func(*fakeGateway)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change(g)
}

// eventTypes returns the types of the accepted events, in order.
func (g *fakeGateway) eventTypes() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var types []string
	for _, e := range g.accepted {
		types = append(types, string(e.Type))
	}
	return strings.Join(types, " ")
}

func (g *fakeGateway) eventCount() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.accepted)
}

func (g *fakeGateway) lastReport() monitor.Report {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.reports) == 0 {
		return monitor.Report{}
	}
	return g.reports[len(g.reports)-1]
}

// isDown lets every report fail, or none.
func (g *fakeGateway) isDown(down bool) {
	g.set(func(g *fakeGateway) {
		if g.respond = nil; down {
			g.respond = func(monitor.Report) (monitor.Order, error) { return "", errGatewayDown }
		}
	})
}

var errGatewayDown = errors.New("the gateway is down")

func scenario(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// startWorker runs a worker in the background and returns a function that waits for its
// end.
func startWorker(ctx context.Context, t *testing.T, s *fakeStream, g *fakeGateway, configure ...func(*worker.Config)) (wait func() error) {
	t.Helper()
	return startWorkerUntil(ctx, context.Background(), ports(s, g), configure...)
}

// runWorker runs a worker in the background. stop asks it to stop, and expects that it ends well.
func runWorker(t *testing.T, p worker.Ports, configure ...func(*worker.Config)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	wait := startWorkerUntil(ctx, context.Background(), p, configure...)
	return func() {
		t.Helper()
		cancel()
		endsWell(t, wait)
	}
}

func ports(s *fakeStream, g *fakeGateway) worker.Ports {
	return worker.Ports{Gateway: g, Resolver: s, Prober: s, Playlists: s, Segments: s, Analyser: s}
}

func startWorkerUntil(ctx, force context.Context, p worker.Ports, configure ...func(*worker.Config)) (wait func() error) {
	w := newWorker(p, configure...)
	done := make(chan error, 1)
	go func() { done <- w.RunUntil(ctx, force) }()
	return func() error { return <-done }
}

// newWorker makes a worker that is not running yet.
func newWorker(p worker.Ports, configure ...func(*worker.Config)) *worker.Worker {
	ids := 0
	cfg := worker.Config{
		ID: id, Generation: 1,
		NewEventID: func() string { ids++; return fmt.Sprintf("event-%d", ids) },
		Log:        slog.New(slog.DiscardHandler),
	}
	for _, c := range configure {
		c(&cfg)
	}
	return worker.New(p, cfg)
}

// logTo makes a worker write its log there.
func logTo(out io.Writer) func(*worker.Config) {
	return func(c *worker.Config) { c.Log = slog.New(slog.NewTextHandler(out, nil)) }
}

func endsWell(t *testing.T, wait func() error) {
	t.Helper()
	if err := wait(); err != nil {
		t.Fatal(err)
	}
}

// endStream ends a stream, and waits for the end of its worker.
func endStream(t *testing.T, s *fakeStream, wait func() error) {
	t.Helper()
	s.set(func(s *fakeStream) { s.ended = true })
	endsWell(t, wait)
}
