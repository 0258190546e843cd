package dash

import (
	"math"
	"net/url"

	"github.com/Eyevinn/dash-mpd/mpd"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// maker makes segments.
type maker struct {
	addressing

	base      *url.URL
	container string
	template  template
	init      *watch.Init
}

// prepare reads the templates and makes the initialisation section.
func (m *maker) prepare(rep *mpd.RepresentationType) error {
	var err error
	if !m.listed {
		if m.template, err = newTemplate(m.media, rep); err != nil {
			return err
		}
		if !m.template.number && !m.template.time {
			return malformed("a SegmentTemplate that does not tell segments apart")
		}
	}
	var reference, part string
	switch {
	case m.initialization != "":
		t, err := newTemplate(m.initialization, rep)
		if err != nil {
			return err
		}
		if t.number || t.time {
			return malformed("an initialization that depends on the segment")
		}
		reference = t.fill(0, 0)
	case m.first != nil:
		reference, part = string(m.first.SourceURL), m.first.Range
	default:
		return nil
	}
	u, ok := resolve(m.base, reference)
	if !ok {
		return malformed("the URL of an initialization is not an http or https URL of up to %d bytes", MaxURL)
	}
	m.init = &watch.Init{URI: u.String()}
	if part != "" {
		if m.init.Range, ok = byteRange(part); !ok {
			return malformed("Initialization@range is not a range of bytes")
		}
	}
	return nil
}

// runs gives the segments of a Period, and whether they are listed one by one
// or only follow from a duration.
func (m *maker) runs(live bool, one period) (runs []run, explicit bool, err error) {
	if m.timeline != nil {
		runs, err = timelineRuns(m.timeline.S, m.timescale)
		return runs, true, err
	}
	if m.duration == 0 {
		return nil, false, malformed("neither a SegmentTimeline nor a duration of segments")
	}
	from, count := m.offset+int64(m.eptDelta), int64(math.MaxInt64)
	if from < 0 {
		return nil, false, malformed("an eptDelta of more than the presentationTimeOffset")
	}
	switch {
	case m.listed && len(m.urls) == 0:
		return nil, true, nil
	case m.listed:
		count = int64(len(m.urls))
	case m.endNumber != nil && *m.endNumber < m.startNumber:
		return nil, false, nil
	case m.endNumber != nil:
		count = int64(*m.endNumber) - int64(m.startNumber) + 1
	case !live && one.end == forever:
		return nil, false, malformed("a static MPD that does not say how long it is")
	}
	r, err := newRun(from, int64(m.duration), count, 0, m.timescale)
	return []run{r}, m.listed, err
}

// segment makes the segment that is at a point.
func (m *maker) segment(at point) (watch.Segment, error) {
	number := int64(m.startNumber) + at.index
	sequence := number
	var reference string
	var part *watch.ByteRange
	if m.listed {
		listed := m.urls[at.index]
		reference = string(listed.Media)
		if listed.MediaRange != "" {
			var ok bool
			if part, ok = byteRange(string(listed.MediaRange)); !ok {
				return watch.Segment{}, malformed("SegmentURL@mediaRange is not a range of bytes")
			}
		}
	} else {
		reference = m.template.fill(number, at.at)
		if !m.template.number {
			sequence = at.at
		}
	}
	u, ok := resolve(m.base, reference)
	if !ok {
		return watch.Segment{}, malformed("the URL of a segment is not an http or https URL of up to %d bytes", MaxURL)
	}
	length, ok := scale(at.length, m.timescale)
	if !ok {
		return watch.Segment{}, tooLarge()
	}
	return watch.Segment{
		URI: u.String(), Sequence: uint64(max(0, sequence)), Duration: length,
		Range: part, Init: m.init, Container: m.container,
	}, nil
}
