package dash

import (
	"cmp"

	"github.com/Eyevinn/dash-mpd/mpd"
)

// addressing is how the segments of a representation are named and timed, with
// what it inherits from its AdaptationSet and its Period (ISO/IEC 23009-1,
// 5.3.9.1).
type addressing struct {
	media          string // SegmentTemplate
	initialization string // SegmentTemplate
	first          *mpd.URLType
	urls           []*mpd.SegmentURLType // SegmentList
	listed         bool                  // by a SegmentList

	timeline    *mpd.SegmentTimelineType
	timescale   uint32
	duration    uint32
	startNumber uint32
	endNumber   *uint32
	offset      int64 // presentationTimeOffset; negative: too large
	eptDelta    int
}

// levels gives the elements that a representation's own are completed with,
// the most general first.
func levels[T any](of ...*T) []*T {
	var out []*T
	for _, one := range of {
		if one != nil {
			out = append(out, one)
		}
	}
	return out
}

func templates(one period, set *mpd.AdaptationSetType, rep *mpd.RepresentationType) []*mpd.SegmentTemplateType {
	return levels(one.SegmentTemplate, set.SegmentTemplate, rep.SegmentTemplate)
}

func lists(one period, set *mpd.AdaptationSetType, rep *mpd.RepresentationType) []*mpd.SegmentListType {
	return levels(one.SegmentList, set.SegmentList, rep.SegmentList)
}

// singular tells whether a representation is one file.
func singular(one period, set *mpd.AdaptationSetType, rep *mpd.RepresentationType) bool {
	return rep.SegmentBase != nil || len(templates(one, set, rep))+len(lists(one, set, rep)) == 0
}

// addressed completes what a representation says with what it inherits. A
// template goes before a list.
func addressed(one period, set *mpd.AdaptationSetType, rep *mpd.RepresentationType) addressing {
	a := addressing{timescale: 1, startNumber: 1}
	all := templates(one, set, rep)
	for _, t := range all {
		a.media = cmp.Or(t.Media, a.media)
		a.initialization = cmp.Or(t.Initialization, a.initialization)
		a.inherit(t.MultipleSegmentBaseType)
	}
	if len(all) > 0 {
		return a
	}
	for _, l := range lists(one, set, rep) {
		a.listed = true
		if len(l.SegmentURL) > 0 {
			a.urls = l.SegmentURL
		}
		a.inherit(l.MultipleSegmentBaseType)
	}
	return a
}

// inherit takes what a more special level says.
func (a *addressing) inherit(from mpd.MultipleSegmentBaseType) {
	a.first = cmp.Or(from.Initialization, a.first)
	a.timeline = cmp.Or(from.SegmentTimeline, a.timeline)
	a.timescale = *cmp.Or(from.Timescale, &a.timescale)
	a.duration = *cmp.Or(from.Duration, &a.duration)
	a.startNumber = *cmp.Or(from.StartNumber, &a.startNumber)
	a.endNumber = cmp.Or(from.EndNumber, a.endNumber)
	if from.PresentationTimeOffset != nil {
		var ok bool
		if a.offset, ok = mediaTime(*from.PresentationTimeOffset); !ok {
			a.offset = -1
		}
	}
	a.eptDelta = *cmp.Or(from.EptDelta, &a.eptDelta)
}
