package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

const id monitor.ID = "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d"

// stream is a live stream of 2 s segments whose program time is the clock's.
type stream struct {
	mu       sync.Mutex
	resolve  func(ctx context.Context) watch.Resolution // nil: live
	analyse  func(ctx context.Context)                  // nil: takes 100 ms
	blackAt  func(watch.Segment) bool                   // nil: as black says
	silentAt func(watch.Segment) bool                   // nil: never
	black    bool
	ended    bool
	resolved int

	unreadable bool          // the playlist fails
	ahead      time.Duration // of the bubble's time: the machine was suspended for so long
}

func (s *stream) set(change func(*stream)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *stream) Resolve(ctx context.Context, _ monitor.StreamURL) watch.Resolution {
	s.mu.Lock()
	s.resolved++
	resolve := s.resolve
	s.mu.Unlock()
	if resolve != nil {
		return resolve(ctx)
	}
	return watch.Resolution{State: watch.Live, Manifest: "https://media.test/list.m3u8"}
}

func (s *stream) Probe(context.Context, monitor.StreamURL) watch.ProbeResult {
	return watch.ProbeResult{}
}

func (s *stream) ReadPlaylist(_ context.Context, url string) watch.Playlist {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := watch.Playlist{URL: url, TargetDuration: 2 * time.Second, Ended: s.ended}
	if s.unreadable {
		p.Failure = watch.NewFailure(watch.FailureNetwork, "no playlist")
		return p
	}
	newest := time.Now().Add(s.ahead).Unix() / 2
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

func (s *stream) FetchSegment(context.Context, watch.Segment) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("")), nil
}

func (s *stream) Analyse(ctx context.Context, seg watch.Segment, _ io.Reader, _ func(string) float64) (watch.Analysis, error) {
	s.mu.Lock()
	analyse, black := s.analyse, s.black
	if s.blackAt != nil {
		black = s.blackAt(seg)
	}
	silent := s.silentAt != nil && s.silentAt(seg)
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
		Video:     watch.Track{Present: true, To: seg.Duration},
		Audio:     watch.Track{Present: true, To: seg.Duration},
		Intervals: map[detector.Name][]watch.Interval{},
	}
	if black {
		a.Intervals[detector.Blackout] = []watch.Interval{{To: seg.Duration}}
	}
	if silent {
		a.Intervals[detector.Silence] = []watch.Interval{{To: seg.Duration}}
	}
	return a, nil
}

// fakeGateway stores what it accepts.
type fakeGateway struct {
	mu       sync.Mutex
	config   monitor.Config
	snapshot []byte
	refusal  error                                       // of an assignment
	answer   func(monitor.Report) (monitor.Order, error) // nil: run
	way      func(ctx context.Context) error             // what a report meets on its way here; nil: nothing
	back     func() error                                // what its answer meets; nil: nothing
	newest   int                                         // generation; 0: whoever comes
	reports  []monitor.Report
	accepted []event.Event
}

func newFakeGateway() *fakeGateway {
	c := monitor.DefaultConfig()
	c.CheckIntervalSec = 2
	c.SetThresholdSec(detector.Blackout, 6)
	return &fakeGateway{config: c}
}

func (d *fakeGateway) Assignment(_ context.Context, id monitor.ID, generation int) (monitor.Assignment, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refusal != nil {
		return monitor.Assignment{}, d.refusal
	}
	return monitor.Assignment{ID: id, Generation: generation, Config: d.config, Snapshot: d.snapshot,
		StreamURL: "https://www.youtube.com/watch?v=abcdefghijk"}, nil
}

func (d *fakeGateway) Report(ctx context.Context, _ monitor.ID, r monitor.Report) (monitor.Order, error) {
	d.mu.Lock()
	way, back := d.way, d.back
	d.mu.Unlock()
	if way != nil {
		if err := way(ctx); err != nil {
			return "", err
		}
	}
	order, err := d.take(r)
	if err == nil && back != nil {
		err = back()
	}
	return order, err
}

func (d *fakeGateway) take(r monitor.Report) (monitor.Order, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.newest != 0 && r.Generation != d.newest {
		return "", monitor.ErrSuperseded
	}
	if d.answer != nil {
		if order, err := d.answer(r); err != nil || order == monitor.Stop {
			return order, err
		}
	}
	d.reports = append(d.reports, r)
	for _, e := range r.Events {
		known := false
		for _, a := range d.accepted {
			known = known || a.ID == e.ID
		}
		if !known {
			d.accepted = append(d.accepted, e)
		}
	}
	if r.Snapshot != nil {
		d.snapshot = r.Snapshot
	}
	if r.Status != "" && !r.Status.Active() {
		return monitor.Stop, nil
	}
	return monitor.Run, nil
}

func (d *fakeGateway) set(change func(*fakeGateway)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d)
}

// types is what was accepted, in order.
func (d *fakeGateway) types() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var types []string
	for _, e := range d.accepted {
		types = append(types, string(e.Type))
	}
	return strings.Join(types, " ")
}

// count is how many events were accepted.
func (d *fakeGateway) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.accepted)
}

func (d *fakeGateway) last() monitor.Report {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.reports) == 0 {
		return monitor.Report{}
	}
	return d.reports[len(d.reports)-1]
}

var errAway = errors.New("the gateway is away")

// watching runs a worker in the background and gives a function that waits for
// it to end.
func watching(ctx context.Context, t *testing.T, s *stream, d *fakeGateway, change ...func(*worker.Config)) (wait func() error) {
	t.Helper()
	return watchingUntil(ctx, context.Background(), ports(s, d), change...)
}

func ports(s *stream, d *fakeGateway) worker.Ports {
	return worker.Ports{Gateway: d, Resolver: s, Prober: s, Playlists: s, Segments: s, Analyser: s}
}

func watchingUntil(ctx, force context.Context, p worker.Ports, change ...func(*worker.Config)) (wait func() error) {
	w := newWorker(p, change...)
	done := make(chan error, 1)
	go func() { done <- w.RunUntil(ctx, force) }()
	return func() error { return <-done }
}

// newWorker makes a worker that does not run yet.
func newWorker(p worker.Ports, change ...func(*worker.Config)) *worker.Worker {
	ids := 0
	cfg := worker.Config{
		ID: id, Generation: 1,
		NewEventID: func() string { ids++; return fmt.Sprintf("event-%d", ids) },
		Log:        slog.New(slog.DiscardHandler),
	}
	for _, c := range change {
		c(&cfg)
	}
	return worker.New(p, cfg)
}
