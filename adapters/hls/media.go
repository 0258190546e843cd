package hls

import (
	"bytes"
	"context"
	"net/url"
	"strconv"

	"github.com/grafov/m3u8"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// decodeMedia decodes a media playlist: the scan finds the entries, the library
// decodes the newest of them, and both must agree.
func decodeMedia(ctx context.Context, body []byte, base *url.URL) (watch.Playlist, error) {
	d := &draft{base: base}
	s := newScanner(ctx, body)
	for s.next() {
		if err := d.add(s.line); err != nil {
			return watch.Playlist{}, malformed("line %d: %s", s.read, err.Detail)
		}
	}
	if s.err != nil {
		return watch.Playlist{}, s.err
	}
	if d.open {
		return watch.Playlist{}, malformed("it ends between EXTINF and its URI")
	}
	if len(d.entries) > 0 && d.target <= 0 {
		return watch.Playlist{}, malformed("EXT-X-TARGETDURATION is missing or not positive")
	}
	dropped := max(0, len(d.entries)-KeptSegments)
	entries, first := d.entries[dropped:], d.sequence+uint64(dropped)

	decoded, err := throughLibrary(entries, first, d.ended)
	if err != nil {
		return watch.Playlist{}, err
	}
	p := watch.Playlist{TargetDuration: d.target, Ended: d.ended}
	for i, e := range entries {
		if e.gap {
			continue // announced, but not there (RFC 8216bis, 4.4.4.7)
		}
		uri, ok := resolve(base, decoded[i].URI)
		if !ok {
			return watch.Playlist{}, malformed("the URI of segment %d is not an http or https URL", decoded[i].SeqId)
		}
		p.Segments = append(p.Segments, watch.Segment{
			URI:         uri,
			Sequence:    decoded[i].SeqId,
			Duration:    e.duration,
			ProgramTime: e.at,
			Range:       e.part,
			Init:        e.init,
		})
	}
	if len(p.Segments) == 0 && !p.Ended {
		return watch.Playlist{}, malformed("a live playlist without a usable segment")
	}
	return p, nil
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
