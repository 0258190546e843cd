package collector

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Media is the bytes of one segment, or of consecutive segments of one playlist.
type Media struct {
	Segment watch.Segment    // the first one
	Open    func() io.Reader // returns the bytes from the beginning; it may be called again
}

// Tools makes the files of evidence. Its methods block until their subprocess has
// ended. Their errors are *watch.Failure or that of ctx.
type Tools interface {
	// Picture returns a JPEG of the first picture at or after a time that counts from the
	// start of m. The JPEG is at most 640 wide, 720 high and 512 KiB large.
	Picture(ctx context.Context, m Media, at time.Duration) ([]byte, error)

	// Levels measures the sound, about once a second.
	Levels(ctx context.Context, m Media) ([]watch.Measure, error)

	// Remux writes an MP4 of at most limit bytes. One medium holds both tracks, or the
	// first the picture and the second the sound. begin returns an empty writer, and is
	// called once for each attempt.
	Remux(ctx context.Context, media []Media, begin func() (io.Writer, error), limit int64) error
}

// Fetcher opens the bytes of a segment, its initialisation section first. The caller
// closes the body.
type Fetcher interface {
	FetchSegment(ctx context.Context, s watch.Segment) (io.ReadCloser, error)
}

// Playlists reads a media playlist. A failure is in Playlist.Failure.
type Playlists interface {
	ReadPlaylist(ctx context.Context, url string) watch.Playlist
}

// Store takes evidence (section 16.2); body has the bytes of the upload's file. It is idempotent. Errors: monitor.ErrSuperseded;
// *monitor.Error NotFound, InvalidConfig, evidence.Conflict or evidence.QuotaExceeded if it will
// not accept the upload. After any other error the caller tries again.
type Store interface {
	AddEvidence(ctx context.Context, u evidence.Upload, body io.Reader) error
}

// ErrBudget says that all captures of the host together hold as many bytes as they may.
var ErrBudget = errors.New("the captures of this host have used up EVIDENCE_BUDGET_MIB")

// TempFile is a temporary file that vanishes when it is closed. WriteAt returns
// ErrBudget, as Ports.TempFile does, if there is no room for more bytes now.
type TempFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// Ports are the adapters of a Collector. All but Memory are required.
type Ports struct {
	Tools     Tools
	Segments  Fetcher
	Playlists Playlists
	Store     Store
	TempFile  func() (TempFile, error)
	Memory    *Memory // shared by the collectors of a process; nil: this one is alone
}

// Config is the configuration of a Collector.
type Config struct {
	MonitorID  monitor.ID
	Generation int
	NewID      func() string

	// Reported blocks until the gateway has accepted all reports, or ctx is done.
	Reported func(ctx context.Context)
}
