package hls

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Get fetches at most limit bytes from url and tells from which URL they came
// in the end. Its errors are *watch.Failure.
type Get func(ctx context.Context, url string, limit int64) (body []byte, finalURL string, err error)

// Reader reads playlists. It implements worker.PlaylistReader, keeps no state
// and may be used concurrently.
type Reader struct {
	get Get
	now func() time.Time
}

// New makes a Reader that fetches with get.
func New(get func(ctx context.Context, url string, limit int64) ([]byte, string, error), now func() time.Time) *Reader {
	return &Reader{get: get, now: now}
}

// ReadPlaylist fetches and decodes the playlist at rawURL. It blocks for as
// long as get does, plus at most DecodeTime. Failures are those of get, and
// malformed.
func (r *Reader) ReadPlaylist(ctx context.Context, rawURL string) watch.Playlist {
	asked := watch.Playlist{Began: r.now(), URL: rawURL}
	body, finalURL, err := r.get(ctx, rawURL, MaxBytes)
	if err == nil {
		var p watch.Playlist
		if p, err = decode(ctx, body, finalURL); err == nil {
			p.Began, p.URL = asked.Began, asked.URL
			return p
		}
	}
	asked.Failure = failure(err)
	return asked
}

// failure keeps the text of an unknown error out of sight: it may hold the
// signed URL.
func failure(err error) *watch.Failure {
	if known, ok := errors.AsType[*watch.Failure](err); ok {
		return known
	}
	return watch.Failed(watch.FailureNetwork, "the playlist could not be fetched")
}

// decode makes sense of body, which came from finalURL. Its errors are
// *watch.Failure.
func decode(ctx context.Context, body []byte, finalURL string) (p watch.Playlist, err error) {
	// A decoder that panics must cost one reading, not the worker.
	defer func() {
		if recover() != nil {
			p, err = watch.Playlist{}, malformed("the decoder gave up on it")
		}
	}()
	if len(body) > MaxBytes {
		return p, watch.Failed(watch.FailureTooLarge, "a playlist of more than %d bytes", MaxBytes)
	}
	base, err := url.Parse(finalURL)
	if err != nil {
		return p, malformed("the playlist's own URL cannot be parsed")
	}
	ctx, cancel := context.WithTimeout(ctx, DecodeTime)
	defer cancel()

	kind, err := kindOf(ctx, body)
	if err != nil {
		return p, err
	}
	if kind == master {
		return decodeMaster(ctx, body, base)
	}
	return decodeMedia(ctx, body, base)
}

func malformed(format string, args ...any) *watch.Failure {
	return watch.Failed(watch.FailureMalformed, format, args...)
}
