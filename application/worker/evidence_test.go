package worker_test

import (
	"bytes"
	"context"
	"image"
	"image/jpeg"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker/collector"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// fakeEvidence takes evidence, and makes its files in no time.
type fakeEvidence struct {
	mu      sync.Mutex
	took    time.Duration // how long making a clip takes
	uploads []string      // phase and variant, or note
}

func (e *fakeEvidence) ports(s *fakeStream) collector.Ports {
	return collector.Ports{Tools: e, Segments: s, Playlists: s, Store: e, TempFile: func() (collector.TempFile, error) { return discardedFile{}, nil }}
}

// discardedFile is a file of zeros.
type discardedFile struct{}

func (discardedFile) ReadAt(p []byte, _ int64) (int, error)  { return len(p), nil }
func (discardedFile) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (discardedFile) Close() error                           { return nil }

func (e *fakeEvidence) Picture(context.Context, collector.Media, time.Duration) ([]byte, error) {
	var out bytes.Buffer
	err := jpeg.Encode(&out, image.NewYCbCr(image.Rect(0, 0, 16, 16), image.YCbCrSubsampleRatio420), nil)
	return out.Bytes(), err
}

func (e *fakeEvidence) Levels(context.Context, collector.Media) ([]watch.Measure, error) {
	level := -20.0
	return []watch.Measure{{Level: &level}}, nil
}

func (e *fakeEvidence) Remux(ctx context.Context, _ []collector.Media, begin func() (io.Writer, error), _ int64) error {
	select {
	case <-time.After(e.took):
	case <-ctx.Done():
		return ctx.Err()
	}
	out, err := begin()
	if err == nil {
		_, err = out.Write([]byte("clip"))
	}
	return err
}

func (e *fakeEvidence) AddEvidence(_ context.Context, u evidence.Upload, body io.Reader) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	what := string(u.Record.Phase) + " note"
	if u.File != nil {
		what = string(u.Record.Phase) + " " + string(u.File.Variant)
	}
	e.uploads = append(e.uploads, what)
	return nil
}

// The final report may be accepted while the last segment is analysed.
func TestAStreamsEndLeavesTimeForItsEvidence(t *testing.T) { // section 16.2
	for name, analysis := range map[string]time.Duration{"short analyses": 10 * time.Millisecond, "an analysis that goes on": 1900 * time.Millisecond} {
		scenario(t, name, func(t *testing.T) {
			s, g, e := &fakeStream{}, newFakeGateway(), &fakeEvidence{took: 8 * time.Second}
			s.analyse = func(context.Context) { time.Sleep(analysis) }
			asked := 0
			s.resolve = func(context.Context) watch.Resolution {
				if asked++; asked == 1 {
					return watch.Resolution{State: watch.Live, Manifest: "https://media.test/list.m3u8"}
				}
				s.set(func(s *fakeStream) { s.black = true })
				time.Sleep(15 * time.Second)
				return watch.Resolution{State: watch.Private}
			}
			p := ports(s, g)
			p.Evidence = e.ports(s)
			if err := startWorkerUntil(t.Context(), context.Background(), p)(); err != nil {
				t.Fatal(err)
			}
			if got, want := g.eventTypes(), "stream.started alert.blackout monitor.error"; got != want {
				t.Errorf("events %s, want %s", got, want)
			}
			if clip := string(evidence.AlertPhase) + " clip"; !slices.Contains(e.uploads, clip) {
				t.Errorf("uploaded %v, want %s", e.uploads, clip)
			}
		})
	}
}

// The segment that shows such a recovery may be the last one that the worker reads.
func TestARecoveryJustBeforeTheEndHasAPicture(t *testing.T) { // section 16.2
	for name, end := range map[string]func(s *fakeStream, stop func()){
		"of the stream": func(s *fakeStream, _ func()) { s.set(func(s *fakeStream) { s.ended = true }) },
		"of the worker": func(_ *fakeStream, stop func()) { stop() },
	} {
		scenario(t, name, func(t *testing.T) {
			s, g, e := &fakeStream{black: true}, newFakeGateway(), &fakeEvidence{}
			p := ports(s, g)
			p.Evidence = e.ports(s)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			wait := startWorkerUntil(ctx, context.Background(), p)
			time.Sleep(time.Minute)
			s.set(func(s *fakeStream) { s.backAt = time.Now().Truncate(2 * time.Second).Add(1800 * time.Millisecond) })
			for !strings.Contains(g.eventTypes(), "alert.blackout_recovered") {
				time.Sleep(10 * time.Millisecond)
			}
			end(s, stop)
			stopped := time.Now()
			endsWell(t, wait)
			if took := time.Since(stopped); took > 5*time.Second {
				t.Errorf("the worker ended after %s", took)
			}
			if !slices.Contains(e.uploads, "recovery recovery") {
				t.Errorf("uploaded %v", e.uploads)
			}
		})
	}
}

func TestTheRecoveryFromAnOutageHasAPicture(t *testing.T) { // section 16.2
	synctest.Test(t, func(t *testing.T) {
		s, g, e := &fakeStream{}, newFakeGateway(), &fakeEvidence{}
		p := ports(s, g)
		p.Evidence = e.ports(s)
		wait := startWorkerUntil(t.Context(), context.Background(), p)
		time.Sleep(time.Minute)
		s.set(func(s *fakeStream) { s.unreadable = true })
		time.Sleep(2 * time.Minute)
		s.set(func(s *fakeStream) { s.unreadable = false })
		time.Sleep(3 * time.Minute) // the playlist is read at growing intervals
		endStream(t, s, wait)
		want := []string{"alert before", "alert levels", "alert level", "alert clip", "recovery recovery", "recovery levels", "recovery level"}
		if !slices.Equal(e.uploads, want) {
			t.Errorf("uploaded %v, want %v", e.uploads, want)
		}
	})
}
