package quality_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// localClient returns a client that fetches from the test's own server. A call waits for it for limit at most; 0: as in production.
func localClient(limit time.Duration) *media.Client {
	return media.New(media.Config{
		Total:   limit,
		Control: func(string, string, syscall.RawConn) error { return nil },
		Proxy:   func(*http.Request) (*url.URL, error) { return nil, nil },
	})
}

// servedTasks does the tasks of a watcher as a worker does them, at a server of the test.
type servedTasks struct {
	at       func(now time.Time, url string) (delay time.Duration) // sets the server's time, and returns how long it takes to answer
	resolve  func() watch.Resolution
	segments worker.SegmentFetcher
	reader   worker.PlaylistReader
	analyser *remembered
	setting  func(string) float64
}

// observe performs a task. It returns the observation and its simulated duration.
func (l servedTasks) observe(ctx context.Context, t watch.Task, now time.Time) (watch.Observation, time.Duration) {
	switch t.Kind {
	case watch.TaskResolve:
		l.at(now, "")
		r := l.resolve()
		r.Began = now
		return r, resolveTime
	case watch.TaskProbe:
		return watch.ProbeResult{Began: now, Known: true, Exists: true}, resolveTime
	case watch.TaskPlaylist:
		return l.read(ctx, t, now)
	case watch.TaskRendition:
		playlist, took := l.read(ctx, t, now)
		look := watch.RenditionLook{Playlist: playlist, Text: t.Look.Text}
		if n := len(playlist.Segments); n > 0 {
			newest := playlist.Segments[n-1]
			a, more := l.analyse(ctx, newest, watch.LookAtRendition(newest, t.Look.Text), now)
			look.Analysis, took = &a, took+more
		}
		return look, took
	case watch.TaskSegment:
		return l.analyse(ctx, t.Segment, t.Look, now)
	}
	return watch.Tick{}, 0
}

func (l servedTasks) read(ctx context.Context, t watch.Task, now time.Time) (watch.Playlist, time.Duration) {
	delay := l.at(now, t.URL)
	p := l.reader.ReadPlaylist(ctx, t.URL)
	p.Began, p.URL = now, t.URL
	return p, playlistTime + delay
}

func (l servedTasks) analyse(ctx context.Context, s watch.Segment, look watch.Look, now time.Time) (a watch.Analysis, took time.Duration) {
	took = analysisTime + l.at(now, s.URI)
	body, err := l.segments.FetchSegment(ctx, s)
	if err == nil {
		var read io.Reader = body
		if look.KeyFrames {
			read = io.LimitReader(body, 1<<20)
		}
		a, err = l.analyser.analyse(ctx, s, look, read, l.setting)
		_ = body.Close()
	}
	if f := (*watch.Failure)(nil); errors.As(err, &f) {
		a = watch.Analysis{Failure: f}
	} else if err != nil {
		a = watch.Analysis{Failure: watch.NewFailure(watch.FailureNetwork, "%v", err)}
	}
	a.Began, a.Segment = now, s.ID()
	return a, took
}

// remembered analyses the same bytes once as closely.
type remembered struct {
	analyser worker.Analyser
	analyses map[string]watch.Analysis
}

// newRemembered returns an analyser as a worker has it, with the ffmpeg of a path.
func newRemembered(ffmpegPath string, pool *decoder.Pool) *remembered {
	return &remembered{analyses: map[string]watch.Analysis{}, analyser: ffmpeg.New(ffmpeg.Config{
		Path: ffmpegPath, Timeout: time.Minute, Decoder: pool.Stream(slog.New(slog.DiscardHandler)),
	})}
}

func (r *remembered) analyse(ctx context.Context, s watch.Segment, l watch.Look, body io.Reader, setting func(string) float64) (watch.Analysis, error) {
	all, err := io.ReadAll(body)
	if err != nil {
		return watch.Analysis{}, err
	}
	key := fmt.Sprintf("%x %v", sha256.Sum256(all), l)
	if a, known := r.analyses[key]; known {
		return a, nil
	}
	a, err := r.analyser.Analyse(ctx, s, l, bytes.NewReader(all), setting)
	if err == nil {
		r.analyses[key] = a
	}
	return a, err
}
