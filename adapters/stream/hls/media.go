package hls

import (
	"bytes"
	"cmp"
	"context"
	"net/url"
	"slices"

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
	first := scan.firstSequence()
	usable := slices.DeleteFunc(scan.entries[max(0, len(scan.entries)-KeptSegments):], func(e entry) bool {
		unreadable := scan.lost != "" && e.key != nil && e.key.iv == nil // its number would decrypt it
		return e.gap || e.problem != "" || unreadable                    // a gap is announced as missing (RFC 8216bis, 4.4.4.7)
	})
	decoded, err := decodeEntries(usable, scan.ended)
	if err != nil {
		return watch.Playlist{}, err
	}
	p := watch.Playlist{TargetDuration: scan.target, Ended: scan.ended}
	remaining := KeptURLs
	for i, e := range slices.Backward(usable) {
		s, problem := e.segment(base, decoded[i].URI, first+e.number)
		if problem != "" {
			scan.defect.note(0, "%s", problem)
			continue
		}
		scan.identify(e, &s)
		if remaining -= urlBytes(s); remaining < 0 {
			break
		}
		p.Segments = append(p.Segments, s)
	}
	if len(p.Segments) == 0 && !p.Ended {
		return watch.Playlist{}, scan.defect.failure("a live playlist without a usable segment")
	}
	if p.TargetDuration <= 0 && len(p.Segments) > 0 {
		scan.defect.note(0, "EXT-X-TARGETDURATION is missing or not a positive number")
		p.TargetDuration = slices.MaxFunc(p.Segments, func(a, b watch.Segment) int { return cmp.Compare(a.Duration, b.Duration) }).Duration
	}
	p.Defect = scan.defect.problem
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

// segment returns the Segment of e, with the URI that the library decoded, or the problem for
// which it is left out.
func (e entry) segment(base *url.URL, uri string, sequence uint64) (s watch.Segment, problem string) {
	s = watch.Segment{Sequence: sequence, Duration: e.duration, ProgramTime: e.programTime, Range: e.byteRange}
	if s.URI, problem = resolve(base, uri); problem != "" {
		return s, "the URI of a segment is " + problem
	}
	if s.Init, problem = e.init.initSection(base); problem != "" {
		return s, problem
	}
	s.Key, problem = e.key.key(base, sequence)
	return s, problem
}

// decodeEntries decodes entries with the library and checks that it saw what the
// scan saw. The library gets EXTINF and URI only: it would attach other tags to the
// wrong segment, or lose them.
func decodeEntries(entries []entry, ended bool) ([]*m3u8.MediaSegment, error) {
	size := 100
	for _, e := range entries {
		size += len("#EXTINF:,\n\n") + len(e.seconds) + len(e.uri)
	}
	var text bytes.Buffer
	text.Grow(size) // it may be a megabyte; growing by doubling would allocate four
	text.WriteString("#EXTM3U\n")
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
		if toDuration(got.Duration) != e.duration || got.URI != string(e.uri) {
			return nil, malformed("the decoder disagrees with the scan about a segment")
		}
	}
	return list.Segments[:len(entries)], nil
}
