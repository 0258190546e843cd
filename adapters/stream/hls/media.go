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
// decodes the newest of them, and both have to agree.
func decodeMedia(ctx context.Context, body []byte, base *url.URL) (watch.Playlist, error) {
	scan, err := scanMedia(ctx, body)
	if err != nil {
		return watch.Playlist{}, err
	}
	first, ok := scan.firstSequence()
	switch {
	case scan.hasInf:
		return watch.Playlist{}, malformed("it ends between EXTINF and its URI")
	case len(scan.entries) > 0 && scan.target <= 0:
		return watch.Playlist{}, malformed("EXT-X-TARGETDURATION is missing or not positive")
	case !ok:
		return watch.Playlist{}, malformed("EXT-X-MEDIA-SEQUENCE and EXT-X-SKIP come to more than %d", uint64(MaxSequence))
	}
	dropped := max(0, len(scan.entries)-KeptSegments)
	entries := scan.entries[dropped:]
	decoded, err := decodeEntries(entries, first+uint64(dropped), scan.ended)
	if err != nil {
		return watch.Playlist{}, err
	}
	p := watch.Playlist{TargetDuration: scan.target, Ended: scan.ended}
	remaining := KeptURLs
	for i, e := range slices.Backward(entries) {
		if e.gap {
			continue // announced as missing (RFC 8216bis, 4.4.4.7)
		}
		s, failure := e.segment(base, decoded[i].URI, decoded[i].SeqId)
		if failure != nil {
			return watch.Playlist{}, failure
		}
		if remaining -= urlBytes(s); remaining < 0 {
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

// urlBytes returns the length of all URLs of s.
func urlBytes(s watch.Segment) int {
	sum := len(s.URI) + keyURLBytes(s.Key)
	if s.Init != nil {
		sum += len(s.Init.URI) + keyURLBytes(s.Init.Key)
	}
	return sum
}

func keyURLBytes(k *watch.Key) int {
	if k == nil {
		return 0
	}
	return len(k.URI)
}

// segment returns the Segment of e, with the URI and the sequence number that the
// library decoded.
func (e entry) segment(base *url.URL, uri string, sequence uint64) (watch.Segment, *watch.Failure) {
	s := watch.Segment{Sequence: sequence, Duration: e.duration, ProgramTime: e.programTime, Range: e.byteRange}
	var ok bool
	var err *watch.Failure
	if s.URI, ok = resolve(base, uri); !ok {
		return s, malformed("the URI of segment %d is %s", sequence, urlProblem)
	}
	if s.Init, err = e.init.initSection(base); err != nil {
		return s, err
	}
	s.Key, err = e.key.key(base, sequence)
	return s, err
}

// decodeEntries decodes entries with the library and checks that it saw what the
// scan saw. The library gets EXTINF and URI only: it would attach other tags to the
// wrong segment, or lose them.
func decodeEntries(entries []entry, first uint64, ended bool) ([]*m3u8.MediaSegment, error) {
	size := 100
	for _, e := range entries {
		size += len("#EXTINF:,\n\n") + len(e.seconds) + len(e.uri)
	}
	var text bytes.Buffer
	text.Grow(size) // it may be a megabyte; growing by doubling would allocate four
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
