package worker

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// taskRunner runs the tasks of one stream with the ports of its worker.
type taskRunner struct {
	ports   Ports
	stream  monitor.StreamURL
	setting func(field string) float64 // returns a field of the registration's config
	cookies request.Cookies            // as secret; nil: it has no jar
	secret  monitor.StreamSecret       // of questions about the stream, and of a source that reads its media itself

	// keep returns a body that also keeps its bytes, for evidence.
	keep func(s watch.Segment, body io.ReadCloser) io.ReadCloser

	thumbnails *thumbnailer
}

// run runs a task and returns the observation. It blocks until the task has ended.
func (r taskRunner) run(ctx context.Context, t watch.Task) watch.Observation {
	ctx = request.WithHeader(request.WithAvoidedEgress(request.WithEgress(ctx, t.Egress), t.AvoidedEgress), t.Header)
	switch t.Kind {
	case watch.TaskResolve:
		ctx, cancel := context.WithTimeout(ctx, resolveLimit)
		defer cancel()
		return r.ports.Resolver.Resolve(request.WithSecret(request.WithCookies(ctx, r.cookies), r.secret), r.stream)
	case watch.TaskProbe:
		ctx, cancel := context.WithTimeout(ctx, playlistLimit)
		defer cancel()
		return r.ports.Prober.Probe(request.WithSecret(ctx, r.secret), r.stream)
	case watch.TaskPlaylist:
		return r.readPlaylist(ctx, t)
	case watch.TaskRendition:
		look := watch.RenditionLook{Playlist: r.readPlaylist(ctx, t), Text: t.Look.Text}
		if n := len(look.Playlist.Segments); n > 0 && (t.Look.Text || !look.Playlist.Segments[n-1].Ad) {
			newest := look.Playlist.Segments[n-1]
			a := r.analyse(ctx, newest, watch.LookAtRendition(newest, t.Look.Text))
			look.Analysis = &a
		}
		return look
	case watch.TaskSegment:
		return r.analyse(ctx, t.Segment, t.Look)
	}
	return watch.Tick{}
}

// readPlaylist reads the playlist of a task.
func (r taskRunner) readPlaylist(ctx context.Context, t watch.Task) watch.Playlist {
	ctx, cancel := context.WithTimeout(ctx, playlistLimit)
	defer cancel()
	p := r.ports.Playlists.ReadPlaylist(request.WithSecret(request.WithCookies(ctx, r.cookies), r.secret), t.URL)
	p.URL = t.URL
	for i := range p.Segments {
		p.Segments[i].Egress, p.Segments[i].Header = t.Egress, t.Header
	}
	return p
}

// withBegan sets the time at which the task of an observation began.
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
	case watch.RenditionLook:
		o.Playlist.Began = began
		return o
	}
	return o
}

// analyse fetches and decodes a segment. It streams the bytes to the decoder. Of a look at key frames alone
// it fetches the first bytes, and keeps nothing for evidence and thumbnails: they are of the watched rendition.
func (r taskRunner) analyse(ctx context.Context, s watch.Segment, calm watch.Look) watch.Analysis {
	ctx, cancel := context.WithTimeout(ctx, segmentLimit)
	defer cancel()
	failed := func(err error) watch.Analysis {
		return watch.Analysis{Segment: s.ID(), Failure: failure(ctx, err)}
	}
	body, err := r.ports.Segments.FetchSegment(request.OfSegment(ctx, s), s)
	if err != nil {
		return failed(err)
	}
	var a watch.Analysis
	if calm.KeyFrames {
		a, err = r.ports.Analyser.Analyse(ctx, s, calm, io.LimitReader(body, maxThumbnailInput), r.setting)
		_ = body.Close() // in the middle of the segment
	} else {
		a, err = r.decode(ctx, s, calm, r.keep(s, body))
	}
	if err != nil {
		return failed(err)
	}
	a.Segment, a.Failure = s.ID(), nil
	return a
}

// decode passes a segment's body to the Analyser and closes it.
func (r taskRunner) decode(ctx context.Context, s watch.Segment, calm watch.Look, body io.ReadCloser) (a watch.Analysis, err error) {
	defer func() {
		if closeErr := body.Close(); err == nil {
			err = closeErr
		}
	}()
	body, end := r.thumbnails.begin(s, body)
	a, err = r.ports.Analyser.Analyse(ctx, s, calm, body, r.setting)
	end(a, err)
	return a, err
}

// failure returns an adapter's error as a *watch.Failure.
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
