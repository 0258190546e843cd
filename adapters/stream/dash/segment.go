package dash

import (
	"math"
	"net/url"

	"github.com/Eyevinn/dash-mpd/mpd"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// segmentBuilder makes the segments of one representation.
type segmentBuilder struct {
	addressing

	bases         []*url.URL // in the order in which they are tried
	container     string
	mediaTemplate template // unused with a SegmentList
	init          *watch.Init
}

// newSegmentBuilder reads the templates and the initialization section.
func newSegmentBuilder(a addressing, bases []*url.URL, container string, rep *mpd.RepresentationType) (b segmentBuilder, err *watch.Failure) {
	b = segmentBuilder{addressing: a, bases: bases, container: container}
	if b.timescale == 0 || b.offset < 0 {
		return b, malformed("a timescale of 0, or a presentationTimeOffset that is too large")
	}
	if !b.isList {
		if b.mediaTemplate, err = newTemplate(a.media, rep); err != nil {
			return b, err
		}
		if !b.mediaTemplate.hasNumber && !b.mediaTemplate.hasTime {
			return b, malformed("a SegmentTemplate with one URL for all segments")
		}
	}
	b.init, err = b.initSection(rep)
	return b, err
}

// initSection returns the initialization section; nil: the MPD states none.
func (b *segmentBuilder) initSection(rep *mpd.RepresentationType) (*watch.Init, *watch.Failure) {
	var reference, byteRange string
	switch {
	case b.initialization != "":
		t, err := newTemplate(b.initialization, rep)
		if err != nil {
			return nil, err
		}
		if t.hasNumber || t.hasTime {
			return nil, malformed("an initialization that depends on the segment")
		}
		reference = t.expand(0, 0)
	case b.initElement != nil:
		reference, byteRange = string(b.initElement.SourceURL), b.initElement.Range
	default:
		return nil, nil
	}
	u, mirrors, ok := resolveAll(b.bases, reference)
	if !ok {
		return nil, malformed("the URL of an initialization is not an http or https URL of up to %d bytes", MaxURL)
	}
	init := &watch.Init{URI: u.String(), Mirrors: mirrors}
	if byteRange != "" {
		if init.Range, ok = parseByteRange(byteRange); !ok {
			return nil, malformed("Initialization@range is not a range of bytes")
		}
	}
	return init, nil
}

// runs returns the segments of a Period. explicit reports whether the MPD lists each
// of them; otherwise they follow from a duration.
func (b *segmentBuilder) runs(p *presentation, period timedPeriod) (runs []run, explicit bool, err *watch.Failure) {
	if b.timeline != nil {
		runs, problem := timelineRuns(b.timeline.S, b.timescale, b.startNumber)
		p.note(problem)
		return runs, true, nil
	}
	if b.duration == 0 {
		return nil, false, malformed("neither a SegmentTimeline nor a duration of segments")
	}
	start, count := b.offset+int64(b.eptDelta), int64(math.MaxInt64)
	if start < 0 {
		return nil, false, malformed("an eptDelta of more than the presentationTimeOffset")
	}
	switch {
	case b.isList && len(b.urls) == 0:
		return nil, true, nil
	case b.isList:
		count = int64(len(b.urls))
	case b.endNumber != nil && *b.endNumber < b.startNumber:
		return nil, false, nil
	case b.endNumber != nil:
		count = int64(*b.endNumber) - int64(b.startNumber) + 1
	case !p.live && period.end == noEnd:
		return nil, false, malformed("a static MPD without a duration")
	}
	r, err := newRun(start, int64(b.duration), count, 0, b.timescale)
	return []run{r}, b.isList, err
}

// segment returns the segment at t. Its Sequence is its time if the template has $Time$,
// else its number. A SegmentList has none if it does not state where it begins.
func (b *segmentBuilder) segment(t timedSegment) (watch.Segment, *watch.Failure) {
	number := int64(b.startNumber) + t.index
	sequence := number
	var reference string
	var byteRange *watch.ByteRange
	if b.isList {
		listed := b.urls[t.index]
		reference = string(listed.Media)
		if listed.MediaRange != "" {
			var ok bool
			if byteRange, ok = parseByteRange(string(listed.MediaRange)); !ok {
				return watch.Segment{}, malformed("SegmentURL@mediaRange is not a range of bytes")
			}
		}
	} else {
		reference = b.mediaTemplate.expand(number, t.start)
		if b.mediaTemplate.hasTime {
			sequence = t.start
		}
	}
	u, mirrors, ok := resolveAll(b.bases, reference)
	if !ok {
		return watch.Segment{}, malformed("the URL of a segment is not an http or https URL of up to %d bytes", MaxURL)
	}
	duration, ok := toDuration(t.duration, b.timescale)
	if !ok {
		return watch.Segment{}, timeTooLarge()
	}
	return watch.Segment{
		URI: u.String(), Mirrors: mirrors, Sequence: uint64(max(0, sequence)), Duration: duration,
		Range: byteRange, Init: b.init, Container: b.container, Unnumbered: b.isList && !b.numbered,
	}, nil
}
