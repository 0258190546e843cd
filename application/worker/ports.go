package worker

import (
	"context"
	"io"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// The answers of a Resolver, a Prober, a PlaylistReader and an Analyser need no
// Began: the worker sets it.

// Resolver answers what state a stream is in and where its manifest is. It
// blocks until it knows, until its own time limit, or until ctx is done. It
// may be called concurrently. Failing to find out is an answer too: a
// Resolution whose State does not Answer, with the cause in Detail.
type Resolver interface {
	Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution
}

// Prober answers whether a video still exists (section 7.4, method 2). Same
// rules as Resolver.
type Prober interface {
	Probe(ctx context.Context, url monitor.StreamURL) watch.ProbeResult
}

// PlaylistReader reads the master or media playlist at url, within limits of
// its own. It blocks, may be called concurrently, and tells failure in the
// answer.
type PlaylistReader interface {
	ReadPlaylist(ctx context.Context, url string) watch.Playlist
}

// SegmentFetcher opens the bytes of a segment, its initialisation section
// first. It blocks until the answer's header is read. Errors, of Fetch and of
// reading the body, are *watch.Failure: expired, network, too_large,
// truncated; malformed, of its key; undecodable, when that does not fit. The
// caller closes the body.
type SegmentFetcher interface {
	FetchSegment(ctx context.Context, s watch.Segment) (io.ReadCloser, error)
}

// Analyser decodes a segment and tells where it is black and where silent. It
// reads body to its end or gives up, never opens anything else, and blocks
// until its child has ended. An error that came from body is returned
// unchanged within the chain; its own are *watch.Failure: undecodable, tool.
// setting returns the value of a field of the registration's config object.
type Analyser interface {
	Analyse(ctx context.Context, s watch.Segment, body io.Reader, setting func(field string) float64) (watch.Analysis, error)
}

// Gateway is where a worker gets its assignment and reports to. In the
// foreground (watch URL) it is the terminal.
type Gateway interface {
	// Assignment blocks for one exchange, which ctx bounds. Errors: monitor.ErrSuperseded; an
	// *monitor.Error, of code NotFound when the monitor is gone, is the
	// gateway's own word; anything else may pass and be asked again.
	Assignment(ctx context.Context, id monitor.ID, generation int) (monitor.Assignment, error)

	// Report delivers one report, of at most 200 events, and is idempotent: the
	// same report may be delivered again after an error, with more in it. When it
	// returns nil, every event in it is on disk, or of a monitor whose callback has
	// failed: nothing is told of that any more. ctx bounds the exchange; the gateway may
	// store a report whose exchange has timed out. Errors: as of
	// Assignment; and an *monitor.Error InvalidConfig when this report will never
	// be taken.
	Report(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Order, error)
}
