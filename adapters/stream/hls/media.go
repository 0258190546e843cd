package hls

import (
	"bytes"
	"context"
	"net/url"
	"slices"
	"strconv"

	"github.com/grafov/m3u8"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// decodeMedia decodes a media playlist: the scan finds the entries, the library
// decodes the newest of them, and both must agree.
func decodeMedia(ctx context.Context, body []byte, base *url.URL) (watch.Playlist, error) {
	d, err := draw(ctx, body)
	if err != nil {
		return watch.Playlist{}, err
	}
	first, ok := d.first()
	switch {
	case d.open:
		return watch.Playlist{}, malformed("it ends between EXTINF and its URI")
	case len(d.entries) > 0 && d.target <= 0:
		return watch.Playlist{}, malformed("EXT-X-TARGETDURATION is missing or not positive")
	case !ok:
		return watch.Playlist{}, malformed("EXT-X-MEDIA-SEQUENCE and EXT-X-SKIP come to more than %d", uint64(MaxSequence))
	}
	dropped := max(0, len(d.entries)-KeptSegments)
	entries := d.entries[dropped:]
	decoded, err := throughLibrary(entries, first+uint64(dropped), d.ended)
	if err != nil {
		return watch.Playlist{}, err
	}
	p := watch.Playlist{TargetDuration: d.target, Ended: d.ended}
	room := KeptURLs
	for i, e := range slices.Backward(entries) {
		if e.gap {
			continue // announced, but not there (RFC 8216bis, 4.4.4.7)
		}
		s, fail := e.segment(base, decoded[i].URI, decoded[i].SeqId)
		if fail != nil {
			return watch.Playlist{}, fail
		}
		if room -= weight(s); room < 0 {
			break
		}
		p.Segments = append(p.Segments, s)
	}
	if len(p.Segments) == 0 && !p.Ended {
		return watch.Playlist{}, malformed("a live playlist without a usable segment")
	}
	slices.Reverse(p.Segments)
	return p, nil
}

// weight is how many bytes the URLs of s have.
func weight(s watch.Segment) int {
	sum := len(s.URI)
	if s.Init != nil {
		sum += len(s.Init.URI) + keyWeight(s.Init.Key)
	}
	return sum + keyWeight(s.Key)
}

func keyWeight(k *watch.Key) int {
	if k == nil {
		return 0
	}
	return len(k.URI)
}

// draw scans a media playlist.
func draw(ctx context.Context, body []byte) (*draft, error) {
	d := &draft{}
	s := newScanner(ctx, body)
	for s.next() {
		if err := d.add(s.line); err != nil {
			return nil, malformed("line %d: %s", s.read, err.Detail)
		}
	}
	return d, s.err
}

// segment makes the Segment that e stands for, of what the library read.
func (e entry) segment(base *url.URL, written string, sequence uint64) (watch.Segment, *watch.Failure) {
	s := watch.Segment{Sequence: sequence, Duration: e.duration, ProgramTime: e.at, Range: e.part}
	var ok bool
	var err *watch.Failure
	if s.URI, ok = resolve(base, written); !ok {
		return s, malformed("the URI of segment %d is %s", sequence, notAURL)
	}
	if s.Init, err = e.init.of(base); err != nil {
		return s, err
	}
	s.Key, err = e.key.of(base, sequence)
	return s, err
}

// throughLibrary has the library decode entries and makes sure that it saw what
// the scan saw. It is given EXTINF and URI only: what else belongs to a segment
// it would attach to the wrong one, or lose.
func throughLibrary(entries []entry, first uint64, ended bool) ([]*m3u8.MediaSegment, error) {
	size := 100
	for _, e := range entries {
		size += len("#EXTINF:,\n\n") + len(e.seconds) + len(e.uri)
	}
	var text bytes.Buffer
	text.Grow(size) // it may be a megabyte: growing to it by doubling would cost four
	text.WriteString("#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:" + strconv.FormatUint(first, 10) + "\n")
	for _, e := range entries {
		text.WriteString("#EXTINF:")
		text.Write(e.seconds)
		text.WriteString(",\n")
		text.Write(e.uri)
		text.WriteByte('\n')
	}
	if ended {
		text.WriteString("#EXT-X-ENDLIST\n")
	}
	list, err := m3u8.NewMediaPlaylist(0, uint(max(1, len(entries))))
	if err == nil {
		err = list.Decode(text, true)
	}
	if err != nil {
		return nil, malformed("the decoder refuses it")
	}
	if int(list.Count()) != len(entries) || list.Closed != ended {
		return nil, malformed("the decoder sees %d segments, the scan %d", list.Count(), len(entries))
	}
	for i, e := range entries {
		got := list.Segments[i]
		if toDuration(got.Duration) != e.duration || got.URI != string(e.uri) || got.SeqId != first+uint64(i) {
			return nil, malformed("the decoder disagrees with the scan about segment %d", first+uint64(i))
		}
	}
	return list.Segments[:len(entries)], nil
}
