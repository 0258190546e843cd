package dash

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/Eyevinn/dash-mpd/mpd"
	"github.com/Eyevinn/dash-mpd/xml"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Format reads MPDs. It implements manifest.Format.
type Format struct {
	// Now is the clock that tells which segments are there, where an MPD does
	// not bring its own. Nil: time.Now.
	Now func() time.Time
}

// Recognises implements manifest.Format: the root element is MPD, after a byte
// order mark, an XML declaration, comments or a DOCTYPE that says so.
func (Format) Recognises(body []byte) bool {
	text, tag := bytes.CutPrefix(prolog(body), []byte("<"))
	if root, doctype := bytes.CutPrefix(text, []byte("!DOCTYPE")); doctype {
		text = bytes.TrimLeft(root, blanks)
	}
	return tag && string(local(name(text))) == nameMPD
}

// Decode implements manifest.Format. It blocks for at most DecodeTime. part is
// what it gave renditions as their fragment; one that names no rendition, as
// "t=posix:now" does, counts as none.
func (f Format) Decode(ctx context.Context, body []byte, base, part string) (p watch.Playlist, err error) {
	// A decoder that panics must cost one reading, not the worker.
	defer func() {
		if recover() != nil {
			p, err = watch.Playlist{}, malformed("the decoder gave up on it")
		}
	}()
	if len(body) > MaxBytes {
		return p, watch.NewFailure(watch.FailureTooLarge, "an MPD of more than %d bytes", MaxBytes)
	}
	from, err := url.Parse(base)
	if err != nil {
		return p, malformed("the MPD's own URL cannot be parsed")
	}
	now := time.Now
	if f.Now != nil {
		now = f.Now
	}
	ctx, cancel := context.WithTimeout(ctx, DecodeTime)
	defer cancel()

	outline, err := load(ctx, body, nil)
	if err != nil {
		return p, err
	}
	all, err := newPresentation(outline.mpd, from, now())
	if err != nil {
		return p, err
	}
	asked, ok := parseName(part)
	if !ok {
		return all.renditions(outline.remote)
	}
	chosen, err := all.choose(asked, outline.remote)
	if err != nil {
		return p, err
	}
	full, err := load(ctx, body, chosen)
	if err != nil {
		return p, err
	}
	one, err := newPresentation(full.mpd, from, now())
	if err != nil {
		return p, err
	}
	return one.playlist(chosen)
}

// document is an MPD as far as it was let through the sieve.
type document struct {
	mpd    *mpd.MPD
	remote bool // it has elements whose contents are elsewhere (xlink)
}

// load has the library decode what the sieve lets through.
func load(ctx context.Context, body []byte, chosen choice) (document, error) {
	s := newSieve(ctx, body, chosen)
	var m mpd.MPD
	err := xml.NewDecoder(s).Decode(&m)
	s.drain()
	if s.err != nil {
		return document{}, s.err
	}
	if err != nil {
		return document{}, malformed("the decoder refuses it: a number or a time in it is not one")
	}
	return document{mpd: &m, remote: s.remote}, nil
}

func malformed(format string, args ...any) *watch.Failure {
	return watch.NewFailure(watch.FailureMalformed, format, args...)
}

// outOfTime tells an MPD that takes too long from a reader that is stopped.
func outOfTime(ctx context.Context) *watch.Failure {
	if errors.Is(ctx.Err(), context.Canceled) {
		return watch.NewFailure(watch.FailureNetwork, "stopped while decoding")
	}
	return malformed("not decoded within %v", DecodeTime)
}
