package hls

import (
	"bytes"
	"cmp"
	"net/url"
	"slices"

	"github.com/grafov/m3u8"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// playlist returns the newest usable segments.
func (s *mediaScan) playlist(base *url.URL) (watch.Playlist, error) {
	if s.uriDue {
		s.defect.note(s.line, "it ends between EXTINF and its URI")
	}
	if s.failure != nil {
		return watch.Playlist{}, s.failure
	}
	oldest := max(0, len(s.entries)-KeptSegments)
	segments, err := s.decode(oldest)
	if err != nil {
		return watch.Playlist{}, err
	}
	s.addProgramTimes()
	s.markAds()
	first := s.numberEntries()
	p := watch.Playlist{TargetDuration: s.target, Ended: s.ended}
	remaining := KeptURLs
	for i := len(s.entries) - 1; i >= oldest; i-- {
		e := s.entries[i]
		unreadable := s.lost && e.key != nil && e.key.iv == nil // its number would decrypt it
		if e.gap || e.unusable || unreadable {                  // a gap is announced as missing (RFC 8216bis, 4.4.4.7)
			continue
		}
		segment, problem := e.segment(base, segments[i].URI, first+uint64(i)) //nolint:gosec // i is 0 or more
		if problem != "" {
			s.defect.note(0, "%s", problem)
			continue
		}
		segment.Unnumbered = !s.numbered || s.lost
		if s.discontinuitySequence != nil { // else the tags before e prove nothing: they leave the playlist with time
			segment.Discontinuity = *s.discontinuitySequence + e.discontinuities
		}
		if remaining -= urlBytes(segment); remaining < 0 {
			break
		}
		p.Segments = append(p.Segments, segment)
	}
	if len(p.Segments) == 0 && !p.Ended {
		failure := s.defect.failure("a live playlist without a usable segment")
		failure.Empty = len(s.entries) == 0
		return watch.Playlist{}, failure
	}
	if p.TargetDuration <= 0 && len(p.Segments) > 0 {
		s.defect.note(0, "EXT-X-TARGETDURATION is missing or not a positive number")
		p.TargetDuration = slices.MaxFunc(p.Segments, func(a, b watch.Segment) int { return cmp.Compare(a.Duration, b.Duration) }).Duration
	}
	p.Defect = s.defect.problem
	slices.Reverse(p.Segments)
	return p, nil
}

// decode lets the library decode EXTINF and URI of every entry. It gets no other tags: it would
// attach them to the wrong segment, lose them, or panic. Entries before oldest have no URI;
// their durations are needed for the program times.
func (s *mediaScan) decode(oldest int) ([]*m3u8.MediaSegment, error) {
	var text bytes.Buffer
	for i, e := range s.entries {
		uri := e.uri
		if i < oldest {
			uri = []byte("-") // the others may come to megabytes
		}
		text.WriteString("#EXTINF:")
		text.Write(e.seconds)
		text.WriteString(",\n")
		text.Write(uri)
		text.WriteByte('\n')
	}
	list, err := m3u8.NewMediaPlaylist(0, uint(max(1, len(s.entries))))
	if err == nil {
		err = list.Decode(text, false)
	}
	if err != nil || int(list.Count()) != len(s.entries) {
		return nil, malformed("the decoder refuses it")
	}
	for i := range s.entries {
		e := &s.entries[i]
		seconds := list.Segments[i].Duration
		isNumber := isDecimal(e.seconds) && seconds <= MaxDuration.Seconds()
		e.duration = toDuration(seconds)
		if !isNumber {
			e.duration = s.target // a guess, for the program time of what follows
		}
		if !isNumber || e.duration <= 0 {
			e.unusable = true
			s.defect.note(e.line, "EXTINF is not a positive number of seconds")
		}
	}
	return list.Segments, nil
}

// addProgramTimes extrapolates the program times that are stated to the entries after and before
// them, but never over a discontinuity (RFC 8216, 4.3.2.6).
func (s *mediaScan) addProgramTimes() {
	for i := 1; i < len(s.entries); i++ {
		before, e := &s.entries[i-1], &s.entries[i]
		if e.programTime.IsZero() && !before.programTime.IsZero() && !e.afterCut {
			e.programTime = before.programTime.Add(before.duration)
		}
	}
	for i := len(s.entries) - 1; i > 0; i-- {
		before, e := &s.entries[i-1], &s.entries[i]
		if before.programTime.IsZero() && !e.programTime.IsZero() && !e.afterCut {
			before.programTime = e.programTime.Add(-before.duration)
		}
	}
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
	s = watch.Segment{Sequence: sequence, Duration: e.duration, ProgramTime: e.programTime, Range: e.byteRange, Ad: e.ad}
	if s.URI, problem = resolve(base, uri); problem != "" {
		return s, "the URI of a segment is " + problem
	}
	if s.Init, problem = e.init.initSection(base); problem != "" {
		return s, problem
	}
	s.Key, problem = e.key.forSequence(base, sequence)
	return s, problem
}
