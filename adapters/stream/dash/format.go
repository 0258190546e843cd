package dash

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/Eyevinn/dash-mpd/mpd"
	"github.com/Eyevinn/dash-mpd/xml"

	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Format reads MPDs. It implements manifest.Format.
type Format struct {
	// Now is the clock for segment availability if neither an MPD nor the server that sent it
	// states the time; default time.Now.
	Now func() time.Time

	// TimeServers asks those that an MPD names. Nil: none is asked.
	TimeServers *TimeServers
}

// Recognises implements manifest.Format. The root element, or the one that a DOCTYPE
// announces, must be MPD; a byte order mark, an XML declaration and comments may
// come before it.
func (Format) Recognises(body []byte) bool {
	text, isTag := bytes.CutPrefix(skipProlog(body), []byte("<"))
	if announced, isDoctype := bytes.CutPrefix(text, []byte("!DOCTYPE")); isDoctype {
		text = bytes.TrimLeft(announced, whitespace)
	}
	return isTag && string(localName(leadingName(text))) == nameMPD
}

// Decode implements manifest.Format. It blocks for at most DecodeTime, and for
// timeServerTimeout while it asks time servers. part is the
// fragment of a rendition's URL; a fragment that names no rendition, such as
// "t=posix:now", counts as none.
func (f Format) Decode(ctx context.Context, body []byte, from reference.Origin, part string) (p watch.Playlist, err error) {
	// A panic of the library must cost one reading, not the worker.
	defer func() {
		if recover() != nil {
			p, err = watch.Playlist{}, malformed("the decoder panicked")
		}
	}()
	if len(body) > MaxBytes {
		return p, watch.NewFailure(watch.FailureTooLarge, "an MPD of more than %d bytes", MaxBytes)
	}
	source, err := url.Parse(from.URL)
	if err != nil {
		return p, malformed("the MPD's own URL cannot be parsed")
	}
	decoding, cancel := context.WithTimeout(ctx, DecodeTime)
	defer cancel()

	outline, err := load(decoding, body, nil)
	if err != nil {
		return p, err
	}
	now, clock := f.now(ctx, outline.mpd, source, from.Time)
	all, err := newPresentation(outline, source, now, clock)
	if err != nil {
		return p, err
	}
	wanted, ok := parseKey(part)
	if !ok {
		return all.renditions(outline.hasRemote)
	}
	selected, err := all.selectRepresentation(wanted, outline.hasRemote)
	if err != nil {
		return p, err
	}
	full, err := load(decoding, body, selected)
	if err != nil {
		return p, err
	}
	one, err := newPresentation(full, source, now, clock)
	if err != nil {
		return p, err
	}
	return one.playlist(selected)
}

// now returns the time for segment availability, and whose it is. The MPD's UTCTiming comes
// first, then its server, then this machine, whose time is not before publishTime.
func (f Format) now(ctx context.Context, m *mpd.MPD, source *url.URL, server time.Time) (time.Time, clockKind) {
	if now, ok := f.TimeServers.time(ctx, m.UTCTimings, source); ok {
		return now, utcTiming
	}
	if !server.IsZero() {
		return server, serverClock
	}
	now := time.Now()
	if f.Now != nil {
		now = f.Now()
	}
	if published := parseTime(string(m.PublishTime)); published.After(now) {
		return published, hostClock
	}
	return now, hostClock
}

// document is an MPD as the library decoded it from the filter's output.
type document struct {
	mpd       *mpd.MPD
	hasRemote bool   // elements have their contents at another URL (xlink)
	defect    string // the first value that was left out
}

// load decodes the selected part of an MPD.
func load(ctx context.Context, body []byte, selected selection) (document, error) {
	f := newFilter(ctx, body, selected)
	var m mpd.MPD
	err := xml.NewDecoder(f).Decode(&m)
	f.drain()
	if f.err != nil {
		return document{}, f.err
	}
	if err != nil {
		return document{}, malformed("the decoder refuses it: a number or a time cannot be parsed")
	}
	return document{mpd: &m, hasRemote: f.hasRemote, defect: f.defect}, nil
}

func malformed(format string, args ...any) *watch.Failure {
	return watch.NewFailure(watch.FailureMalformed, format, args...)
}

// contextFailure returns the failure for a context that is done: the MPD takes too
// long, or the reader was stopped.
func contextFailure(ctx context.Context) *watch.Failure {
	if errors.Is(ctx.Err(), context.Canceled) {
		return watch.NewFailure(watch.FailureNetwork, "stopped while decoding")
	}
	return malformed("not decoded within %v", DecodeTime)
}
