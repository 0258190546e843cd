package manifest

import (
	"context"
	"errors"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// MaxSize is the maximum size of a manifest of any format in bytes, after any
// content-encoding. A format may have a lower limit.
const MaxSize = 8 << 20

// Origin names the URL from which a manifest came, and the time of its server.
type Origin = reference.Origin

// Fetch gets at most limit bytes from url and returns where they came from. Its errors are *watch.Failure.
type Fetch func(ctx context.Context, url string, limit int64) (body []byte, from Origin, err error)

// Format decodes one kind of manifest. It keeps no state and may be used
// concurrently.
type Format interface {
	// Recognises reports from its bytes whether a manifest is of this kind, never
	// from a name: a segment's URL may contain "index.m3u8".
	Recognises(body []byte) bool

	// Decode decodes a manifest that came from there. part is the fragment of the
	// requested URL, with which a format names a rendition inside a manifest; empty: none.
	// It blocks for at most the format's own time limit. Errors are *watch.Failure.
	Decode(ctx context.Context, body []byte, from Origin, part string) (watch.Playlist, error)
}

// Reader is the worker.PlaylistReader of all formats. It may be used concurrently.
type Reader struct {
	fetch   Fetch
	formats []Format
}

// NewReader makes a Reader that tries the formats in this order.
func NewReader(fetch Fetch, formats ...Format) *Reader {
	return &Reader{fetch: fetch, formats: formats}
}

// ReadPlaylist implements worker.PlaylistReader.
func (r *Reader) ReadPlaylist(ctx context.Context, url string) watch.Playlist {
	p, err := r.read(ctx, url)
	if err != nil {
		p = watch.Playlist{Failure: withoutURL(err)}
	}
	p.URL = url
	return p
}

func (r *Reader) read(ctx context.Context, url string) (watch.Playlist, error) {
	address, part, _ := strings.Cut(url, "#")
	body, from, err := r.fetch(ctx, address, MaxSize)
	if err != nil {
		return watch.Playlist{}, err
	}
	if len(body) > MaxSize {
		return watch.Playlist{}, watch.NewFailure(watch.FailureTooLarge, "a manifest of more than %d bytes", MaxSize)
	}
	for _, f := range r.formats {
		if f.Recognises(body) {
			return f.Decode(ctx, body, from, part)
		}
	}
	return watch.Playlist{}, watch.NewFailure(watch.FailureMalformed, "neither an HLS playlist nor a DASH MPD")
}

// withoutURL replaces an unknown error, whose text may contain the signed URL.
func withoutURL(err error) *watch.Failure {
	if known, ok := errors.AsType[*watch.Failure](err); ok {
		return known
	}
	return watch.NewFailure(watch.FailureNetwork, "the manifest could not be fetched")
}
