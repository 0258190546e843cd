package worker

import (
	"context"
	"io"

	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Resolver finds the state of a stream and the URL of its manifest. It blocks until it
// has an answer, its own time limit passes, or ctx is done. It may be called
// concurrently. It does not set Began; the worker does, for every observation. A
// failure is a Resolution whose State does not Answer, with the cause in Detail.
type Resolver interface {
	Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution
}

// Prober finds out by a small question whether a stream still exists (section 7.4, method 2). The rules of
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
// *watch.Failure: expired, refused, rate_limited, network, too_large, truncated, malformed
// (an invalid key) or undecodable (a key of another segment). The caller closes the body.
type SegmentFetcher interface {
	FetchSegment(ctx context.Context, s watch.Segment) (io.ReadCloser, error)
}

// Analyser decodes a segment, at least as closely as calm says, and returns the intervals
// of every detector. A track of which it has decoded some frames only is Screened. It
// reads only body and blocks until its subprocess has ended. Errors: a wrapped error of
// body; *watch.Failure of kind undecodable or tool. setting returns the value of a field
// in the registration's config object.
type Analyser interface {
	Analyse(ctx context.Context, s watch.Segment, calm watch.Look, body io.Reader, setting func(field string) float64) (watch.Analysis, error)
}

// Gateway gives a worker its assignment and takes its reports. The command watch
// implements it without a gateway and prints the events.
type Gateway interface {
	// Assignment makes one exchange and blocks until it ends or ctx is done. Errors:
	// monitor.ErrSuperseded; *monitor.Error if the gateway itself answered, with
	// NotFound for an unknown monitor. After any other error the caller tries again.
	Assignment(ctx context.Context, id monitor.ID, generation int) (monitor.Assignment, error)

	// Report delivers one report of at most 200 events and signals. It is idempotent:
	// after an error, the worker may send the report again, also with more events. It
	// returns no error when the gateway has stored every event, or has ended the monitor
	// because of its callback. The gateway may store a report even if the exchange times
	// out. Errors: those of Assignment; *monitor.Error InvalidConfig if the gateway will
	// never accept this report.
	Report(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Answer, error)

	// ReturnCookies tells what a question has learned of the cookie jar of the assignment, and returns the newest
	// version of the jar. It makes one exchange. Errors: those of Assignment; *monitor.Error InvalidConfig when the
	// monitor has another jar now.
	ReturnCookies(ctx context.Context, id monitor.ID, generation int, u cookie.Use) (cookie.Jar, error)
}

// Media reads the media of one stream in a way of its source. Close ends what is open.
type Media interface {
	PlaylistReader
	SegmentFetcher
	Close()
}

// Source holds the adapters of one kind of source.
type Source struct {
	Resolver Resolver
	Prober   Prober                        // nil: only the resolver can tell whether a stream exists
	Media    func(monitor.StreamURL) Media // for one worker; nil: manifests and segments are requested by their URLs
}

// Sources is a Resolver and a Prober that calls those of the stream's source
// (monitor.Sources).
type Sources map[monitor.SourceName]Source

// Media returns what reads the media of a stream in place of Ports.Playlists and Ports.Segments; nil: they do.
func (s Sources) Media(url monitor.StreamURL) Media {
	if open := s[url.Source()].Media; open != nil {
		return open(url)
	}
	return nil
}

// Resolve implements Resolver. Without a resolver for the source, the State is
// ToolFailed.
func (s Sources) Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	row := monitor.SourceOf(url)
	if source := s[row.Name]; source.Resolver != nil {
		r := source.Resolver.Resolve(ctx, url)
		r.Lifetime, r.Returns = row.Lifetime, row.Returns
		return r
	}
	return watch.Resolution{State: watch.ToolFailed, Source: string(row.Name), Detail: "this worker has no resolver for " + string(row.Name)}
}

// Probe implements Prober. Without a prober for the source, the result is not Known.
func (s Sources) Probe(ctx context.Context, url monitor.StreamURL) watch.ProbeResult {
	if source := s[url.Source()]; source.Prober != nil {
		return source.Prober.Probe(ctx, url)
	}
	return watch.ProbeResult{Detail: "this worker has no prober for " + string(url.Source())}
}
