package collector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/capture"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Limits of the media of one track.
const (
	maxMedia     = 48 << 20         // bytes
	segmentLimit = 20 * time.Second // of fetching one segment
)

var errMediaTooLarge = errors.New("the media are too large to be kept")

// track is the media of one playlist in a temporary file.
type track struct {
	video, audio bool
	height       int             // lines of the picture; 0: unknown
	listed       []watch.Segment // around the instant, oldest first
	file         TempFile
	size         int64
	parts        []part          // oldest first; in the file they are in the order of their arrival
	tried        []watch.Segment // that were asked for
}

// part is one segment in the file.
type part struct {
	segment      watch.Segment
	offset, size int64
}

// close frees its bytes.
func (t *track) close() { _ = t.file.Close() }

// has reports whether the file has the media of a segment, perhaps by another URL.
func (t *track) has(s watch.Segment) bool {
	return slices.ContainsFunc(t.parts, func(p part) bool {
		return p.segment.ProgramTime.Sub(s.ProgramTime).Abs() < s.Duration/2
	})
}

// fetch adds a segment from the server. It asks for each segment once.
func (t *track) fetch(ctx context.Context, segments Fetcher, s watch.Segment) (err error) {
	if slices.ContainsFunc(t.tried, s.SameListing) || t.has(s) {
		return nil
	}
	t.tried = append(t.tried, s)
	ctx, cancel := context.WithTimeout(ctx, segmentLimit)
	defer cancel()
	body, err := segments.FetchSegment(request.OfSegment(ctx, s), s)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := body.Close(); err == nil {
			err = closeErr
		}
	}()
	if err = t.add(s, body); errors.Is(err, ErrBudget) {
		t.tried = t.tried[:len(t.tried)-1] // the next step asks again
	}
	return err
}

// add adds the bytes of a segment.
func (t *track) add(s watch.Segment, body io.Reader) error {
	room := maxMedia - t.size
	n, err := io.Copy(io.NewOffsetWriter(t.file, t.size), io.LimitReader(body, room+1))
	switch {
	case errors.Is(err, ErrBudget):
		return err
	case err != nil:
		return fmt.Errorf("keep it: %w", err)
	case n > room:
		return errMediaTooLarge
	}
	at, _ := slices.BinarySearchFunc(t.parts, s, func(p part, s watch.Segment) int { return p.segment.ProgramTime.Compare(s.ProgramTime) })
	t.parts = slices.Insert(t.parts, at, part{s, t.size, n})
	t.size += n
	return nil
}

// media returns the bytes of consecutive parts.
func (t *track) media(parts []part) Media {
	return Media{Segment: parts[0].segment, Open: func() io.Reader {
		var all []io.Reader
		for _, p := range parts {
			all = append(all, io.NewSectionReader(t.file, p.offset, p.size))
		}
		return io.MultiReader(all...)
	}}
}

// covering returns the segment with the picture of a time, and the time from its start. The
// media may begin later, have a gap, or end just after the instant, and the last moments of
// a segment may have no picture. Then covering returns the nearest picture on the same side
// of the instant.
func covering(segments []watch.Segment, p capture.Picture, instant time.Time) (at int, offset time.Duration, ok bool) {
	for i, candidate := range segments {
		start, end := candidate.ProgramTime, candidate.End()
		if !start.After(p.At) && !p.At.After(end.Add(-lastPicture)) {
			return i, p.At.Sub(start), true
		}
		first, last := time.Duration(0), end.Sub(start)-lastPicture
		if p.Variant == evidence.Before {
			last = min(last, instant.Sub(start)-lastPicture)
		} else {
			first = max(0, instant.Sub(start))
			last = max(first, last)
		}
		if start.Add(first).Before(end) && last >= first && (!ok || !start.After(p.At)) {
			at, offset, ok = i, min(max(p.At.Sub(start), first), last), true
		}
	}
	return at, offset, ok
}

// lastPicture is the time from the last usable picture to the end of a segment or to the
// onset.
const lastPicture = 100 * time.Millisecond

// picture returns the media with the picture of a time, and the time from their start.
func (t *track) picture(p capture.Picture, instant time.Time) (m Media, offset time.Duration, ok bool) {
	var segments []watch.Segment
	for _, p := range t.parts {
		segments = append(segments, p.segment)
	}
	at, offset, ok := covering(segments, p, instant)
	if !ok {
		return Media{}, 0, false
	}
	return t.media(t.parts[at : at+1]), offset, true
}

// around returns the parts around an instant whose size together is at most limit.
func (t *track) around(instant time.Time, limit int64) []part {
	at := 0
	for i, p := range t.parts {
		if !p.segment.ProgramTime.After(instant) {
			at = i
		}
	}
	from, to := at, at // of the parts taken, to excluded
	for size := int64(0); ; {
		grown := false
		if to < len(t.parts) && size+t.parts[to].size <= limit {
			size += t.parts[to].size
			to++
			grown = true
		}
		if from > 0 && size+t.parts[from-1].size <= limit {
			from--
			size += t.parts[from].size
			grown = true
		}
		if !grown {
			return t.parts[from:to]
		}
	}
}

// maxGap is how far two segments without a gap between them may be apart.
const maxGap = 500 * time.Millisecond

// runs divides the parts at the gaps between them.
func (t *track) runs() (all [][]part) {
	from := 0
	for i := range t.parts {
		if next := i + 1; next == len(t.parts) || t.parts[next].segment.ProgramTime.Sub(t.parts[i].segment.End()) > maxGap {
			all = append(all, t.parts[from:next])
			from = next
		}
	}
	return all
}
