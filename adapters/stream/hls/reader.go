package hls

import (
	"bytes"
	"context"
	"net/url"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Format reads HLS playlists. It implements manifest.Format.
type Format struct{}

// Recognises implements manifest.Format: a playlist begins with #EXTM3U (RFC
// 8216, 4.3.1.1), perhaps after a byte order mark or blank lines.
func (Format) Recognises(body []byte) bool {
	text := bytes.TrimLeft(bytes.TrimPrefix(body, byteOrderMark), " \t\r\n")
	return bytes.HasPrefix(text, []byte("#EXTM3U"))
}

// Decode implements manifest.Format. It blocks for at most DecodeTime. HLS names
// no parts. How large body may be is its caller's to say (manifest.MaxSize).
func (Format) Decode(ctx context.Context, body []byte, base, _ string) (watch.Playlist, error) {
	return decode(ctx, body, base)
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
	return watch.NewFailure(watch.FailureMalformed, format, args...)
}
