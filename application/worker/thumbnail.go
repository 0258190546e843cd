package worker

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Limits of thumbnails (section 17.2).
const (
	maxThumbnailInput = 1 << 20          // of a segment's first bytes, in which its first picture is
	thumbnailInterval = 4 * time.Second  // between the beginnings of two thumbnails
	thumbnailTimeout  = 15 * time.Second // to make and to upload one
	thumbnailWanted   = time.Minute      // how long an answer holds that wants thumbnails
)

// ThumbnailPorts make and upload thumbnails. A nil Store switches thumbnails off.
type ThumbnailPorts struct {
	Maker ThumbnailMaker
	Store ThumbnailStore
}

// ThumbnailMaker makes a small JPEG of the first picture of a segment, whose first bytes
// are the body. It blocks until its subprocess has ended, within the limits of the
// Analyser. Errors: there is no picture that can be decoded.
type ThumbnailMaker interface {
	Thumbnail(ctx context.Context, s watch.Segment, body io.Reader) ([]byte, error)
}

// ThumbnailStore uploads a thumbnail in one exchange. wanted reports whether a page still
// shows the monitor.
type ThumbnailStore interface {
	AddThumbnail(ctx context.Context, id monitor.ID, generation int, takenAt time.Time, jpeg []byte) (wanted bool, err error)
}

// thumbnailer makes thumbnails of analysed segments while the gateway wants them. It works
// beside the watch: one at a time, and a segment that comes meanwhile gets none. While
// none is wanted, segments pass it untouched.
type thumbnailer struct {
	w      *Worker
	ctx    context.Context
	cancel context.CancelFunc
	making sync.WaitGroup

	mu          sync.Mutex
	wantedUntil time.Time
	busy        bool
	next        time.Time // the earliest beginning of the next one
}

func newThumbnailer(force context.Context, w *Worker) *thumbnailer {
	ctx, cancel := context.WithCancel(force)
	return &thumbnailer{w: w, ctx: ctx, cancel: cancel}
}

// note notes what an answer of the gateway says.
func (t *thumbnailer) note(wanted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wantedUntil = time.Time{}
	if wanted && t.w.ports.Thumbnails.Store != nil {
		t.wantedUntil = time.Now().Add(thumbnailWanted)
	}
}

// begin decides whether the next analysed segment gets a thumbnail. It returns body itself
// if none is wanted, else one that keeps its first bytes. end is called when the analysis
// has ended.
func (t *thumbnailer) begin(s watch.Segment, body io.ReadCloser) (_ io.ReadCloser, end func(watch.Analysis, error)) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy || !now.Before(t.wantedUntil) || now.Before(t.next) {
		return body, func(watch.Analysis, error) {}
	}
	t.busy, t.next = true, now.Add(thumbnailInterval)
	takenAt, prefix := t.w.clock.now(), &prefixReader{ReadCloser: body}
	return prefix, func(a watch.Analysis, err error) {
		if err != nil || !a.Video.Present || t.ctx.Err() != nil {
			t.finish()
			return
		}
		t.making.Go(func() {
			defer t.finish()
			if err := recoverPanic(t.w.log, "making a thumbnail", func() error { return t.makeAndUpload(s, prefix.bytes(), takenAt) }); err != nil {
				t.w.log.Debug("No thumbnail could be made of a segment", "error", err)
			}
		})
	}
}

func (t *thumbnailer) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy = false
}

func (t *thumbnailer) makeAndUpload(s watch.Segment, prefix []byte, takenAt time.Time) error {
	ctx, cancel := context.WithTimeout(t.ctx, thumbnailTimeout)
	defer cancel()
	jpeg, err := t.w.ports.Thumbnails.Maker.Thumbnail(ctx, s, bytes.NewReader(prefix))
	if err != nil {
		return err
	}
	wanted, err := t.w.ports.Thumbnails.Store.AddThumbnail(ctx, t.w.cfg.ID, t.w.cfg.Generation, takenAt, jpeg)
	if err == nil && !wanted {
		t.note(false)
	}
	return err
}

// stop ends what is being made, and waits for it.
func (t *thumbnailer) stop() {
	t.cancel()
	t.making.Wait()
}

// prefixReader keeps the first maxThumbnailInput bytes of a segment that is read.
type prefixReader struct {
	io.ReadCloser

	mu   sync.Mutex
	kept []byte
}

// Read implements io.Reader.
func (p *prefixReader) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = append(p.kept, b[:min(n, maxThumbnailInput-len(p.kept))]...)
	return n, err
}

func (p *prefixReader) bytes() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
}
