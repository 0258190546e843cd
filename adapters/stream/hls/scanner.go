package hls

import (
	"bytes"
	"context"
	"errors"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// line is a tag with its value, or a URI. It points into the playlist's bytes.
type line struct {
	tag   []byte // without #, with the colon if it has a value: EXTINF: or EXT-X-GAP; nil: value is a URI
	value []byte // after the colon of the tag
}

// scanner reads the lines of a playlist. It drops the byte order mark, blank lines,
// comments and the white space around lines. It enforces MaxLines, MaxLine and
// DecodeTime.
type scanner struct {
	ctx  context.Context
	rest []byte
	read int // lines so far
	line line
	err  error
}

const linesPerTimeCheck = 256

var byteOrderMark = []byte("\xef\xbb\xbf")

func newScanner(ctx context.Context, body []byte) *scanner {
	return &scanner{ctx: ctx, rest: bytes.TrimPrefix(body, byteOrderMark)}
}

// next reads the next line and reports whether there is one. At the end of the
// playlist err is nil.
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
		case s.read%linesPerTimeCheck == 1 && s.ctx.Err() != nil:
			s.err = stoppedFailure(s.ctx)
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

// stoppedFailure returns the Failure of a canceled call, or of a playlist that takes
// too long.
func stoppedFailure(ctx context.Context) *watch.Failure {
	if errors.Is(ctx.Err(), context.Canceled) {
		return watch.NewFailure(watch.FailureNetwork, "stopped while decoding")
	}
	return malformed("not decoded within %v", DecodeTime)
}

// parseAttributes parses an attribute list (RFC 8216, 4.2) and removes the quotes of
// values. It refuses a list that is empty or not well-formed, names an attribute
// twice or has more than MaxAttributes: decoders disagree about those.
func parseAttributes(list []byte) (map[string]string, bool) {
	found := map[string]string{}
	for first := true; first || len(list) > 0; first = false {
		name, rest, ok := bytes.Cut(list, []byte("="))
		name = bytes.TrimLeft(name, " \t")
		if _, twice := found[string(name)]; !ok || twice || !isAttributeName(name) || len(found) == MaxAttributes {
			return nil, false
		}
		value, rest, ok := parseAttributeValue(rest)
		if !ok {
			return nil, false
		}
		found[string(name)] = string(value)
		list = rest
	}
	return found, true
}

// parseAttributeValue parses the value at the start of list and the comma after it.
func parseAttributeValue(list []byte) (value, rest []byte, ok bool) {
	if len(list) > 0 && list[0] == '"' {
		value, rest, ok = bytes.Cut(list[1:], []byte(`"`))
		if rest = bytes.TrimSpace(rest); !ok || len(rest) == 0 {
			return value, nil, ok
		}
		return value, rest[1:], rest[0] == ','
	}
	value, rest, _ = bytes.Cut(list, []byte(","))
	value = bytes.TrimSpace(value)
	return value, rest, len(value) > 0 && !bytes.ContainsRune(value, '"')
}

func isAttributeName(name []byte) bool {
	for _, c := range name {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return len(name) > 0
}
