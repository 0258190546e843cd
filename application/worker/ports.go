package worker

import (
	"context"
	"io"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// The worker sets Began of every observation.

// Resolver finds the state of a stream and the URL of its manifest. It blocks until it
// knows, its own time limit passes, or ctx is done. It may be called concurrently. A
// failure is a Resolution whose State does not Answer, with the cause in Detail.
type Resolver interface {
	Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution
}

// Prober finds out whether a video still exists (section 7.4, method 2). The rules of
// Resolver apply.
type Prober interface {
	Probe(ctx context.Context, url monitor.StreamURL) watch.ProbeResult
}

// PlaylistReader reads the master or media playlist at url, within its own limits. It
// blocks and may be called concurrently. A failure is in Playlist.Failure.
type PlaylistReader interface {
	ReadPlaylist(ctx context.Context, url string) watch.Playlist
}

// SegmentFetcher opens the bytes of a segment, its initialisation section first. It
// blocks until the response header is read. Errors, also those of reading the body, are
// *watch.Failure: expired, network, too_large, truncated, malformed (its key) or
// undecodable (the key does not fit). The caller closes the body.
type SegmentFetcher interface {
	FetchSegment(ctx context.Context, s watch.Segment) (io.ReadCloser, error)
}

// Analyser decodes a segment and returns the intervals of every detector. It reads only
// body and blocks until its subprocess has ended. It wraps an error of body; its own
// errors are *watch.Failure: undecodable, tool. setting returns the value of a field of
// the registration's config object.
type Analyser interface {
	Analyse(ctx context.Context, s watch.Segment, body io.Reader, setting func(field string) float64) (watch.Analysis, error)
}

// Gateway gives a worker its assignment and takes its reports. For the command watch it
// is the terminal.
type Gateway interface {
	// Assignment makes one exchange and blocks until it or ctx is done. Errors:
	// monitor.ErrSuperseded; *monitor.Error if the gateway itself answered, with
	// NotFound for an unknown monitor. Any other error may pass: try again.
	Assignment(ctx context.Context, id monitor.ID, generation int) (monitor.Assignment, error)

	// Report delivers one report of at most 200 events. It is idempotent: after an
	// error, the report may be sent again, also with more events. It returns nil when
	// every event is stored, or the callback has failed for good. The gateway may
	// store a report whose exchange has timed out. Errors: those of Assignment;
	// *monitor.Error InvalidConfig if the gateway will never accept this report.
	Report(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Order, error)
}

// Source holds the adapters of one kind of source.
type Source struct {
	Resolver Resolver
	Prober   Prober // nil: only the resolver can tell whether a stream exists
}

// Sources is a Resolver and a Prober that calls those of the stream's source
// (monitor.Sources).
type Sources map[monitor.SourceName]Source

// Resolve implements Resolver. Without a resolver for the source, the State is
// ToolFailed.
func (s Sources) Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	if source := s[url.Source()]; source.Resolver != nil {
		return source.Resolver.Resolve(ctx, url)
	}
	return watch.Resolution{State: watch.ToolFailed, Source: string(url.Source()), Detail: "this worker has no resolver for " + string(url)}
}

// Probe implements Prober. Without a prober for the source, the result is not Known.
func (s Sources) Probe(ctx context.Context, url monitor.StreamURL) watch.ProbeResult {
	if source := s[url.Source()]; source.Prober != nil {
		return source.Prober.Probe(ctx, url)
	}
	return watch.ProbeResult{Detail: "this worker has no prober for " + string(url)}
}
