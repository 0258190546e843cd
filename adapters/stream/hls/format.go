package hls

import (
	"bytes"
	"context"
	"net/url"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Format reads HLS playlists. It implements manifest.Format.
type Format struct{}

// Recognises implements manifest.Format: a playlist begins with #EXTM3U (RFC 8216,
// 4.3.1.1). A byte order mark or blank lines may precede it.
func (Format) Recognises(body []byte) bool {
	text := bytes.TrimLeft(bytes.TrimPrefix(body, byteOrderMark), " \t\r\n")
	return bytes.HasPrefix(text, []byte("#EXTM3U"))
}

// Decode implements manifest.Format. It blocks for at most DecodeTime. HLS has no
// fragments, so the last argument is ignored. The caller limits the size of body
// (manifest.MaxSize).
func (Format) Decode(ctx context.Context, body []byte, from reference.Origin, _ string) (watch.Playlist, error) {
	return decode(ctx, body, from.URL)
}

// decode decodes body, which was fetched from finalURL. Its errors are
// *watch.Failure.
func decode(ctx context.Context, body []byte, finalURL string) (p watch.Playlist, err error) {
	// A panic of the library must fail one playlist, not the worker.
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

	// Tags of entries decide which kind of playlist it is. Other tags decide where there are none,
	// and are ignored in a playlist of the other kind.
	lines := newScanner(ctx, body)
	if !lines.next() || string(lines.line.tag) != "EXTM3U" {
		if lines.err != nil {
			return p, lines.err
		}
		return p, malformed("not a playlist: it does not begin with #EXTM3U")
	}
	var media mediaScan
	var master masterScan
	for lines.next() { // the scan of the other kind is dropped, with its defects
		media.add(lines.read, lines.line)
		master.add(lines.read, lines.line)
	}
	switch {
	case lines.err != nil:
		return p, lines.err
	case media.hasSegment && master.variants > 0:
		return p, malformed("segments and variants in one playlist")
	case media.hasSegment, media.hasMediaTag && master.variants == 0:
		return media.playlist(base)
	case master.variants+master.iframes+master.media > 0:
		return master.playlist(base)
	}
	return p, malformed("neither a master nor a media playlist")
}

func malformed(format string, args ...any) *watch.Failure {
	return watch.NewFailure(watch.FailureMalformed, format, args...)
}

// Limits of a playlist, besides manifest.MaxSize bytes. A playlist beyond one is
// malformed. An hour of YouTube's shortest segments (1.03 s) with URLs of 1.5 KB has
// 3,500 segments, 10,500 lines and 5.5 MB.
const (
	MaxLines      = 40_000         // blank ones included
	MaxLine       = 16 << 10       // bytes of one line, without its end
	MaxURL        = 8 << 10        // bytes of an absolute URL; YouTube's have up to 1.5 KB
	MaxSegments   = 10_000         // of a media playlist, without skipped ones (EXT-X-SKIP)
	MaxVariants   = 200            // EXT-X-STREAM-INF and EXT-X-I-FRAME-STREAM-INF of a master playlist
	MaxMedia      = 200            // EXT-X-MEDIA of a master playlist, of any type
	MaxAttributes = 64             // of one attribute list
	MaxDuration   = 24 * time.Hour // of a segment, and of EXT-X-TARGETDURATION
	MaxRangeEnd   = 1 << 50        // bytes; the end of a byte range
	MaxSequence   = 1<<63 - 1      // sequence number of a segment

	// MaxRenditions is the largest number of renditions of a master playlist: every
	// variant, and every EXT-X-MEDIA of TYPE=AUDIO with a URI.
	MaxRenditions = MaxVariants + MaxMedia

	// KeptSegments limits how many of the newest segments are returned: an hour of 5 s
	// segments. Only the last is analysed (section 6.1). KeptURLs is how many bytes
	// their URLs may have together; keys and init sections count for each segment, and
	// older segments are left out. It limits memory when a long base URL is added to
	// short references. An hour of YouTube's segments has 1.1 MB.
	KeptSegments = 720
	KeptURLs     = 4 << 20

	// DecodeTime limits how long decoding takes. The scan checks it. The library cannot
	// be interrupted; it decodes at most MaxSegments segments or MaxVariants variants,
	// in milliseconds.
	DecodeTime = 2 * time.Second
)
