package s3

import (
	"context"
	"errors"
	"io"
	"time"

	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
)

// errStalled says that the server made no progress in time.
var errStalled = errors.New("the object storage made no progress")

// watchdog ends a call whose server makes no progress. A time limit for the whole call
// would end a slow clip, too.
type watchdog struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	timeout time.Duration
}

func (s *Store) watch(ctx context.Context) *watchdog {
	ctx, cancel := context.WithCancelCause(ctx)
	return &watchdog{ctx, cancel, time.AfterFunc(s.timeout, func() { cancel(errStalled) }), s.timeout}
}

// progress starts the time again.
func (w *watchdog) progress() { w.timer.Reset(w.timeout) }

// pause stops the time until the next progress: nothing is expected of the server.
func (w *watchdog) pause() { w.timer.Stop() }

// stop ends the call and what is left of its connection.
func (w *watchdog) stop() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}

// sender is an upload. The time stands still while it waits for the source.
type sender struct {
	content  *evidences.Content
	watchdog *watchdog
}

// Read implements io.Reader.
func (s *sender) Read(p []byte) (int, error) {
	s.watchdog.pause()
	n, err := s.content.Read(p)
	s.watchdog.progress()
	return n, err
}

// receiver is a blob that is being read. The time runs during reads only.
type receiver struct {
	io.ReadCloser

	watchdog *watchdog
	store    *Store
}

// Read implements io.Reader.
func (r *receiver) Read(p []byte) (int, error) {
	r.watchdog.progress()
	n, err := r.ReadCloser.Read(p)
	r.watchdog.pause()
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.store.wrap(r.watchdog.ctx, "read a blob", err)
	}
	return n, err
}

// Close implements io.Closer.
func (r *receiver) Close() error {
	r.watchdog.stop()
	_ = r.ReadCloser.Close() // the rest is not wanted
	return nil
}
