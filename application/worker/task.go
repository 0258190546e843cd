package worker

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// runTask runs a task with the ports and returns what was observed. It blocks.
func (l *loop) runTask(ctx context.Context, t watch.Task) watch.Observation {
	switch t.Kind {
	case watch.TaskResolve:
		ctx, cancel := context.WithTimeout(ctx, resolveLimit)
		defer cancel()
		return l.ports.Resolver.Resolve(ctx, l.stream)
	case watch.TaskProbe:
		ctx, cancel := context.WithTimeout(ctx, playlistLimit)
		defer cancel()
		return l.ports.Prober.Probe(ctx, l.stream)
	case watch.TaskPlaylist:
		ctx, cancel := context.WithTimeout(ctx, playlistLimit)
		defer cancel()
		p := l.ports.Playlists.ReadPlaylist(ctx, t.URL)
		p.URL = t.URL
		return p
	case watch.TaskSegment:
		return l.analyse(ctx, t.Segment)
	}
	return watch.Tick{}
}

// begunAt gives an observation the time at which its task began.
func withBegan(o watch.Observation, began time.Time) watch.Observation {
	switch o := o.(type) {
	case watch.Resolution:
		o.Began = began
		return o
	case watch.ProbeResult:
		o.Began = began
		return o
	case watch.Playlist:
		o.Began = began
		return o
	case watch.Analysis:
		o.Began = began
		return o
	}
	return o
}

// analyse fetches and decodes a segment. Its bytes are streamed and not kept.
func (l *loop) analyse(ctx context.Context, s watch.Segment) watch.Analysis {
	ctx, cancel := context.WithTimeout(ctx, segmentLimit)
	defer cancel()
	failed := func(err error) watch.Analysis {
		return watch.Analysis{Segment: s.ID(), Failure: failure(ctx, err)}
	}
	body, err := l.ports.Segments.FetchSegment(ctx, s)
	if err != nil {
		return failed(err)
	}
	a, err := l.decode(ctx, s, body)
	if err != nil {
		return failed(err)
	}
	a.Segment, a.Failure = s.ID(), nil
	return a
}

// decode decodes a segment and closes its body.
func (l *loop) decode(ctx context.Context, s watch.Segment, body io.ReadCloser) (a watch.Analysis, err error) {
	defer func() {
		if closeErr := body.Close(); err == nil {
			err = closeErr
		}
	}()
	return l.ports.Analyser.Analyse(ctx, s, body, l.setting)
}

// failure turns an adapter's error into a *watch.Failure.
func failure(ctx context.Context, err error) *watch.Failure {
	var f *watch.Failure
	switch {
	case errors.As(err, &f):
		return f
	case ctx.Err() != nil:
		return watch.NewFailure(watch.FailureNetwork, "took longer than %s", segmentLimit)
	}
	return watch.NewFailure(watch.FailureNetwork, "%v", err)
}
