package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// wall is a gateway whose pages show the monitor or not. It makes and takes thumbnails, and
// sees which bodies the analyser gets.
type wall struct {
	*fakeGateway
	*fakeStream

	mu       sync.Mutex
	open     bool
	makerErr error
	slow     time.Duration // that an analysis takes
	wrapped  int           // analysed bodies whose first bytes are kept for a thumbnail
	analysed int
	made     []string // what the thumbnails are of
	taken    []time.Time
	running  int
	most     int // thumbnails made at a time
}

func (w *wall) Report(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Answer, error) {
	answer, err := w.fakeGateway.Report(ctx, id, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	answer.ThumbnailWanted = w.open
	return answer, err
}

func (w *wall) FetchSegment(_ context.Context, s watch.Segment) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(s.URI + strings.Repeat(" ", 3<<20))), nil
}

func (w *wall) Analyse(ctx context.Context, s watch.Segment, calm watch.Look, body io.Reader, setting func(string) float64) (watch.Analysis, error) {
	_, _ = io.Copy(io.Discard, body)
	w.mu.Lock()
	w.analysed++
	if fmt.Sprintf("%T", body) == "*worker.prefixReader" {
		w.wrapped++
	}
	w.mu.Unlock()
	time.Sleep(w.slow)
	return w.fakeStream.Analyse(ctx, s, calm, body, setting)
}

func (w *wall) Thumbnail(_ context.Context, s watch.Segment, body io.Reader) ([]byte, error) {
	raw, _ := io.ReadAll(body)
	w.mu.Lock()
	w.running++
	w.most = max(w.most, w.running)
	w.mu.Unlock()
	time.Sleep(5 * time.Second) // slower than segments come
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	if len(raw) != 1<<20 || !strings.HasPrefix(string(raw), s.URI+" ") {
		return nil, errors.New("other bytes than the first of the segment")
	}
	return []byte(s.URI), w.makerErr
}

func (w *wall) AddThumbnail(_ context.Context, _ monitor.ID, generation int, takenAt time.Time, jpeg []byte) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if generation != 1 {
		return false, monitor.ErrSuperseded
	}
	w.made, w.taken = append(w.made, string(jpeg)), append(w.taken, takenAt)
	return w.open, nil
}

func (w *wall) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *wall) ports() worker.Ports {
	p := ports(w.fakeStream, w.fakeGateway)
	p.Gateway, p.Segments, p.Analyser = w, w, w
	p.Thumbnails = worker.ThumbnailPorts{Maker: w, Store: w}
	return p
}

func watchWall(t *testing.T, w *wall, then func()) {
	t.Helper()
	stop := runWorker(t, w.ports())
	then()
	stop()
}

func TestAClosedWallCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wall{fakeGateway: newFakeGateway(), fakeStream: &fakeStream{}}
		watchWall(t, w, func() { time.Sleep(2 * time.Minute) })
		if w.analysed < 30 || w.wrapped > 0 || w.most > 0 || len(w.made) > 0 {
			t.Errorf("%d segments were analysed, of %d bytes were kept; %d thumbnails were made, %d uploaded", w.analysed, w.wrapped, w.most, len(w.made))
		}
	})
}

func TestThumbnailsAreMadeOneAtATimeWhileTheWallIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wall{fakeGateway: newFakeGateway(), fakeStream: &fakeStream{}, open: true}
		after := func(d time.Duration) (made, wrapped, analysed int) {
			time.Sleep(d)
			synctest.Wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(w.made), w.wrapped, w.analysed
		}
		watchWall(t, w, func() {
			if made, _, analysed := after(2 * time.Minute); made < 12 || made > 30 || analysed < 30 {
				t.Errorf("in two minutes %d thumbnails were uploaded of %d segments", made, analysed)
			}
			w.set(func() { w.open = false })
			closed, kept, _ := after(15 * time.Second) // the next report, and what is being made
			if made, wrapped, _ := after(2 * time.Minute); made != closed || wrapped != kept {
				t.Errorf("after the wall was closed, %d more thumbnails were uploaded", made-closed)
			}
		})
		if w.most != 1 {
			t.Errorf("%d thumbnails were made at a time", w.most)
		}
		for n, at := range w.taken {
			if age := time.Since(at); age < 0 || n > 0 && !at.After(w.taken[n-1]) {
				t.Errorf("thumbnail %d was taken at %v", n, at)
			}
		}
	})
}

// The thumbnail's time is taken beside the loop, which adopts the clock. The race detector sees
// whether both may use it.
func TestThumbnailsAreTimedWhileTheClockIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wall{fakeGateway: newFakeGateway(), fakeStream: &fakeStream{}, open: true, slow: 11 * time.Second} // the loop looks at the clock meanwhile
		var clock wallClock
		stop := runWorker(t, w.ports(), func(c *worker.Config) { c.Now = clock.now })
		for i := range 60 {
			time.Sleep(2 * time.Second)
			clock.set(time.Duration(i) * time.Hour)
		}
		stop()
		w.mu.Lock()
		defer w.mu.Unlock()
		if n := len(w.taken); n < 5 || w.taken[n-1].Sub(w.taken[0]) < 24*time.Hour {
			t.Errorf("%d thumbnails, taken at %v", n, w.taken)
		}
	})
}

func TestAThumbnailThatCannotBeMadeDelaysNoAlert(t *testing.T) {
	alerts := func(open bool) string {
		var types string
		synctest.Test(t, func(t *testing.T) {
			w := &wall{fakeGateway: newFakeGateway(), fakeStream: &fakeStream{black: true}, open: open, makerErr: errors.New("hostile")}
			watchWall(t, w, func() { time.Sleep(time.Minute) })
			w.fakeGateway.mu.Lock()
			defer w.fakeGateway.mu.Unlock()
			for _, e := range w.accepted {
				types += string(e.Type) + e.At.Format(" 05.000 ")
			}
			if len(w.made) > 0 {
				t.Error("a thumbnail was uploaded")
			}
		})
		return types
	}
	if with, without := alerts(true), alerts(false); with != without || !strings.Contains(with, "alert.blackout") {
		t.Errorf("with an open wall the events are %q, else %q", with, without)
	}
}
