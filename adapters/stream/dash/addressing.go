package dash

import (
	"cmp"

	"github.com/Eyevinn/dash-mpd/mpd"
)

// addressing says how the segments of a representation are named and timed,
// including what its AdaptationSet and its Period state (ISO/IEC 23009-1, 5.3.9.1).
type addressing struct {
	media          string // SegmentTemplate@media
	initialization string // SegmentTemplate@initialization
	initElement    *mpd.URLType
	urls           []*mpd.SegmentURLType // of a SegmentList
	isList         bool                  // SegmentList, not SegmentTemplate

	timeline    *mpd.SegmentTimelineType
	timescale   uint32
	duration    uint32
	startNumber uint32
	numbered    bool // startNumber is stated
	endNumber   *uint32
	offset      int64 // presentationTimeOffset; -1: beyond MaxTicks
	eptDelta    int
}

// presentLevels returns the elements that are not nil.
func presentLevels[T any](levels ...*T) []*T {
	var present []*T
	for _, level := range levels {
		if level != nil {
			present = append(present, level)
		}
	}
	return present
}

// segmentTemplates returns those that apply to a representation, the Period's first.
func segmentTemplates(period timedPeriod, set *mpd.AdaptationSetType, rep *mpd.RepresentationType) []*mpd.SegmentTemplateType {
	return presentLevels(period.SegmentTemplate, set.SegmentTemplate, rep.SegmentTemplate)
}

// segmentLists returns those that apply to a representation, the Period's first.
func segmentLists(period timedPeriod, set *mpd.AdaptationSetType, rep *mpd.RepresentationType) []*mpd.SegmentListType {
	return presentLevels(period.SegmentList, set.SegmentList, rep.SegmentList)
}

// isSingleFile reports whether a representation is not divided into segments.
func isSingleFile(period timedPeriod, set *mpd.AdaptationSetType, rep *mpd.RepresentationType) bool {
	return rep.SegmentBase != nil || len(segmentTemplates(period, set, rep))+len(segmentLists(period, set, rep)) == 0
}

// newAddressing returns the addressing of a representation. A SegmentTemplate has
// priority over a SegmentList.
func newAddressing(period timedPeriod, set *mpd.AdaptationSetType, rep *mpd.RepresentationType) addressing {
	a := addressing{timescale: 1, startNumber: 1}
	templates := segmentTemplates(period, set, rep)
	for _, t := range templates {
		a.media = cmp.Or(t.Media, a.media)
		a.initialization = cmp.Or(t.Initialization, a.initialization)
		a.override(t.MultipleSegmentBaseType)
	}
	if len(templates) > 0 {
		return a
	}
	for _, l := range segmentLists(period, set, rep) {
		a.isList = true
		if len(l.SegmentURL) > 0 {
			a.urls = l.SegmentURL
		}
		a.override(l.MultipleSegmentBaseType)
	}
	return a
}

// override applies the attributes of a more specific level.
func (a *addressing) override(level mpd.MultipleSegmentBaseType) {
	a.initElement = cmp.Or(level.Initialization, a.initElement)
	a.timeline = cmp.Or(level.SegmentTimeline, a.timeline)
	a.timescale = *cmp.Or(level.Timescale, &a.timescale)
	a.duration = *cmp.Or(level.Duration, &a.duration)
	a.startNumber = *cmp.Or(level.StartNumber, &a.startNumber)
	a.numbered = a.numbered || level.StartNumber != nil
	a.endNumber = cmp.Or(level.EndNumber, a.endNumber)
	if level.PresentationTimeOffset != nil {
		var ok bool
		if a.offset, ok = mediaTime(*level.PresentationTimeOffset); !ok {
			a.offset = -1
		}
	}
	a.eptDelta = *cmp.Or(level.EptDelta, &a.eptDelta)
}
