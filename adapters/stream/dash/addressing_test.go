package dash_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestSegmentsHaveByteRangesAndInitSections(t *testing.T) {
	times := timeline(`<S t="3500" d="10"/>`)
	init := func(name string, r *watch.ByteRange) *watch.Init { return &watch.Init{URI: folder + name, Range: r} }
	for name, c := range map[string]struct {
		inside, id string
		init       *watch.Init
	}{
		"byte ranges of one file":         {`<SegmentList><Initialization range="0-99"/>` + times + `<SegmentURL mediaRange="100-299"/></SegmentList>`, "file.mp4@100+200", init("file.mp4", &watch.ByteRange{Length: 100})},
		"an Initialization with a URL":    {`<SegmentList><Initialization sourceURL="i.mp4"/>` + times + `<SegmentURL media="a"/></SegmentList>`, "a", init("i.mp4", nil)},
		"no init section":                 {template(`media="$Time$"`, times), "3500", nil},
		"an Initialization in a template": {template(`media="$Time$"`, `<Initialization sourceURL="i" range="5-5"/>`, times), "3500", init("i", &watch.ByteRange{Offset: 5, Length: 1})},
		"identifiers in its URL":          {template(`media="$Time$" initialization="$RepresentationID$-$Bandwidth%07d$.mp4"`, times), "3500", init("v-0100000.mp4", nil)},
	} {
		t.Run(name, func(t *testing.T) {
			s := readFirst(t, liveMPD(videoPeriod(`<BaseURL>file.mp4</BaseURL>`, c.inside)), noon).Segments[0]
			if s.ID() != folder+c.id || !reflect.DeepEqual(s.Init, c.init) {
				t.Errorf("got %s, %+v", s.ID(), s.Init)
			}
		})
	}
}

func TestSegmentsThatCannotBeAddressedAreMalformed(t *testing.T) {
	for name, c := range map[string]struct{ inside, detail string }{
		"a timescale of 0":                 {template(`media="$Number$" duration="1" timescale="0"`), "timescale of 0"},
		"a duration of 0":                  {template(`media="$Number$" duration="0"`), "neither a SegmentTimeline nor a duration"},
		"an empty timeline":                {template(`media="$Number$"`, timeline(``)), "without an available segment"},
		"an empty list":                    {`<SegmentList duration="10"/>`, "without an available segment"},
		"one URL for all segments":         {template(`media="a.mp4" duration="10"`), "one URL for all segments"},
		"a template without media":         {template(`duration="10"`), "one URL for all segments"},
		"a dollar without a pair":          {template(`media="$Number$$" duration="10"`), "a $ is missing"},
		"an unknown format":                {template(`media="$Number%x$" duration="10"`), "a format other than"},
		"a format without its zero":        {template(`media="$Number%5d$" duration="10"`), "a format other than"},
		"a format of text":                 {template(`media="$RepresentationID%05d$$Number$" duration="10"`), "a format other than"},
		"a format without an identifier":   {template(`media="$%05d$$Number$" duration="10"`), "a format but no identifier"},
		"an init section for each segment": {template(`media="$Number$" duration="10" initialization="$Number$"`), "depends on the segment"},
		"a malformed initialization":       {template(`media="$Number$" duration="10" initialization="$"`), "a $ is missing"},
		"an init section with a file URL":  {template(`media="$Number$" duration="10" initialization="file:///etc/passwd"`), "the URL of an initialization is not"},
		"a range without an end":           {`<SegmentList duration="10"><SegmentURL mediaRange="5-"/></SegmentList>`, "mediaRange is not"},
		"a range of an init section":       {`<SegmentList duration="10"><Initialization range="x"/><SegmentURL media="a"/></SegmentList>`, "Initialization@range is not"},
		"no complete segment yet":          {template(`media="$Number$" duration="3600"`), "without an available segment"},
		"an eptDelta before the offset":    {template(`media="$Number$" duration="10" eptDelta="-1"`), "eptDelta"},
		"an endNumber before the first":    {template(`media="$Number$" duration="10" endNumber="0"`), "without an available segment"},
		"a single file beside a template":  {`<SegmentBase indexRange="1-2"/>`, "a single file"},
	} {
		t.Run(name, func(t *testing.T) { wantMalformed(t, liveMPD(videoPeriod(c.inside)), c.detail) })
	}
	t.Run("numbers without availabilityStartTime", func(t *testing.T) {
		wantMalformed(t, strings.ReplaceAll(liveMPD(videoPeriod(numbered)), "2026-11-21T11:00:00Z", "yesterday"), "availabilityStartTime is missing")
	})
}
