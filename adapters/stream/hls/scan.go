package hls

import (
	"bytes"
	"context"
	"errors"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// line is one line of a playlist that says something: a tag with its value, or
// a URI. It points into the playlist's bytes.
type line struct {
	tag   []byte // from "EXT", with the colon if it has a value: EXTINF: or EXT-X-GAP; nil: value is a URI
	value []byte // what comes after the tag's colon
}

// scanner walks the lines of a playlist. It drops the byte order mark, blank
// lines, comments and the white space around lines, and enforces the limits of
// lines and of time.
type scanner struct {
	ctx  context.Context
	rest []byte
	read int // lines so far
	line line
	err  error
}

// timeEvery is how many lines pass between two looks at the clock.
const timeEvery = 256

var byteOrderMark = []byte("\xef\xbb\xbf")

func newScanner(ctx context.Context, body []byte) *scanner {
	return &scanner{ctx: ctx, rest: bytes.TrimPrefix(body, byteOrderMark)}
}

// next moves to the next line and tells whether there is one; if not, err says
// whether the playlist came to its end.
func (s *scanner) next() bool {
	for len(s.rest) > 0 && s.err == nil {
		text, rest, _ := bytes.Cut(s.rest, []byte("\n"))
		s.rest = rest
		s.read++
		switch {
		case s.read > MaxLines:
			s.err = malformed("more than %d lines", MaxLines)
			return false
		case len(bytes.TrimSuffix(text, []byte("\r"))) > MaxLine:
			s.err = malformed("line %d is longer than %d bytes", s.read, MaxLine)
			return false
		case s.read%timeEvery == 1 && s.ctx.Err() != nil:
			s.err = outOfTime(s.ctx)
			return false
		}
		text = bytes.TrimSpace(text)
		switch {
		case len(text) == 0:
		case text[0] != '#':
			s.line = line{value: text}
			return true
		case bytes.HasPrefix(text, []byte("#EXT")):
			end := bytes.IndexByte(text, ':') + 1
			if end == 0 {
				end = len(text)
			}
			s.line = line{tag: text[1:end], value: bytes.TrimSpace(text[end:])}
			return true
		}
	}
	return false
}

// outOfTime tells a playlist that takes too long from a reader that is stopped.
func outOfTime(ctx context.Context) *watch.Failure {
	if errors.Is(ctx.Err(), context.Canceled) {
		return watch.NewFailure(watch.FailureNetwork, "stopped while decoding")
	}
	return malformed("not decoded within %v", DecodeTime)
}

// kind is what a playlist lists: segments or other playlists.
type kind int

const (
	media kind = iota + 1
	master
)

// kindOf tells a master from a media playlist by its tags, which may not be
// mixed (RFC 8216, 4.1), and walks the playlist to its end once, so that the
// limits of lines hold before anything is decoded.
func kindOf(ctx context.Context, body []byte) (kind, error) {
	s := newScanner(ctx, body)
	if !s.next() || string(s.line.tag) != "EXTM3U" {
		if s.err != nil {
			return 0, s.err
		}
		return 0, malformed("not a playlist: it does not begin with #EXTM3U")
	}
	var found kind
	for s.next() {
		this := found
		switch string(s.line.tag) {
		case "EXTINF:", "EXT-X-TARGETDURATION:", "EXT-X-MEDIA-SEQUENCE:", "EXT-X-ENDLIST", "EXT-X-SKIP:":
			this = media
		case "EXT-X-STREAM-INF:", "EXT-X-I-FRAME-STREAM-INF:", "EXT-X-MEDIA:":
			this = master
		case "EXT-X-DEFINE:":
			return 0, malformed("variables (EXT-X-DEFINE) are not supported")
		}
		if found != 0 && this != found {
			return 0, malformed("line %d: tags of a master and of a media playlist", s.read)
		}
		found = this
	}
	if s.err == nil && found == 0 {
		return 0, malformed("neither a master nor a media playlist")
	}
	return found, s.err
}
