package worker

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// MaxManifest is how many bytes a manifest of any format may have, after any
// content-encoding. A format may allow less.
const MaxManifest = 8 << 20

// Fetch gets at most limit bytes from url and tells from which URL they came in
// the end. Its errors are *watch.Failure.
type Fetch func(ctx context.Context, url string, limit int64) (body []byte, finalURL string, err error)

// Format makes sense of one kind of manifest. It keeps no state and may be used
// concurrently.
type Format interface {
	// Recognises tells from its bytes whether a manifest is of this kind, never
	// from a name: a segment's URL may contain "index.m3u8".
	Recognises(body []byte) bool

	// Decode reads a manifest that came from base. part is the fragment of the
	// URL that was asked for, with which a format names a rendition inside a
	// manifest; empty: none. It blocks for as long as the format's own limit of
	// time says. Errors are *watch.Failure.
	Decode(ctx context.Context, body []byte, base, part string) (watch.Playlist, error)
}

// Manifests is the PlaylistReader of all formats: it fetches a manifest once
// and hands it to the format that recognises it.
type Manifests struct {
	fetch   Fetch
	now     func() time.Time
	formats []Format
}

// NewManifests makes a Manifests. now is the watcher's clock.
func NewManifests(fetch Fetch, now func() time.Time, formats ...Format) *Manifests {
	return &Manifests{fetch: fetch, now: now, formats: formats}
}

// ReadPlaylist implements PlaylistReader.
func (m *Manifests) ReadPlaylist(ctx context.Context, url string) watch.Playlist {
	began := m.now()
	p, err := m.read(ctx, url)
	if err != nil {
		p = watch.Playlist{Failure: unreadable(err)}
	}
	p.Began, p.URL = began, url
	return p
}

func (m *Manifests) read(ctx context.Context, url string) (watch.Playlist, error) {
	address, part, _ := strings.Cut(url, "#")
	body, base, err := m.fetch(ctx, address, MaxManifest)
	if err != nil {
		return watch.Playlist{}, err
	}
	if len(body) > MaxManifest {
		return watch.Playlist{}, watch.NewFailure(watch.FailureTooLarge, "a manifest of more than %d bytes", MaxManifest)
	}
	for _, f := range m.formats {
		if f.Recognises(body) {
			return f.Decode(ctx, body, base, part)
		}
	}
	return watch.Playlist{}, watch.NewFailure(watch.FailureMalformed, "neither an HLS playlist nor a DASH MPD")
}

// unreadable keeps the text of an unknown error out of sight: it may hold the
// signed URL.
func unreadable(err error) *watch.Failure {
	if known, ok := errors.AsType[*watch.Failure](err); ok {
		return known
	}
	return watch.NewFailure(watch.FailureNetwork, "the manifest could not be fetched")
}
