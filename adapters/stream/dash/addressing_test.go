package dash_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestSegmentsHaveByteRangesAndInitSections(t *testing.T) {
	segment := func(inside string) watch.Segment {
		p := readFirst(t, liveMPD(videoPeriod(`<BaseURL>file.mp4</BaseURL>`, inside)), noon)
		return p.Segments[len(p.Segments)-1]
	}
	times := timeline(`<S t="3500" d="10"/>`)
	const file = "https://cdn.example.com/live/file.mp4"
	t.Run("byte ranges of one file", func(t *testing.T) {
		s := segment(`<SegmentList><Initialization range="0-99"/>` + times + `<SegmentURL mediaRange="100-299"/></SegmentList>`)
		if s.URI != file || s.ID() != file+"@100+200" || !reflect.DeepEqual(s.Init, &watch.Init{URI: file, Range: &watch.ByteRange{Length: 100}}) {
			t.Errorf("got %+v %+v", s, s.Init)
		}
	})
	t.Run("an Initialization with a URL", func(t *testing.T) {
		s := segment(`<SegmentList><Initialization sourceURL="i.mp4"/>` + times + `<SegmentURL media="a"/></SegmentList>`)
		if s.Range != nil || !reflect.DeepEqual(s.Init, &watch.Init{URI: "https://cdn.example.com/live/i.mp4"}) {
			t.Errorf("got %+v %+v", s, s.Init)
		}
	})
	t.Run("no init section", func(t *testing.T) {
		if s := segment(template(`media="$Time$"`, times)); s.Init != nil {
			t.Errorf("got %+v", s.Init)
		}
	})
	t.Run("an Initialization element in a template", func(t *testing.T) {
		s := segment(template(`media="$Time$"`, `<Initialization sourceURL="i" range="5-5"/>`, times))
		if !reflect.DeepEqual(s.Init, &watch.Init{URI: "https://cdn.example.com/live/i", Range: &watch.ByteRange{Offset: 5, Length: 1}}) {
			t.Errorf("got %+v", s.Init)
		}
	})
	t.Run("identifiers in the URL of an init section", func(t *testing.T) {
		if s := segment(template(`media="$Time$" initialization="$RepresentationID$-$Bandwidth%07d$.mp4"`, times)); s.Init.URI != "https://cdn.example.com/live/v-0100000.mp4" {
			t.Errorf("got %+v", s.Init)
		}
	})
}

func TestSegmentsThatCannotBeAddressedAreMalformed(t *testing.T) {
	for name, c := range map[string]struct{ inside, detail string }{
		"neither timeline nor duration":      {template(`media="$Number$"`), "neither a SegmentTimeline nor a duration"},
		"a timescale of 0":                   {template(`media="$Number$" duration="1" timescale="0"`), "timescale of 0"},
		"a duration of 0":                    {template(`media="$Number$" duration="0"`), "neither a SegmentTimeline nor a duration"},
		"an S without a length":              {template(`media="$Number$"`, timeline(`<S t="1"/>`)), "shorter than"},
		"a repetition without an end":        {template(`media="$Number$"`, timeline(`<S t="100" d="10" r="-1"/><S d="10"/>`)), "S@r of -1"},
		"an S with a pattern":                {template(`media="$Number$"`, timeline(`<S t="100" p="1" d="10"/>`)), "S@p is not supported"},
		"an empty timeline":                  {template(`media="$Number$"`, timeline(``)), "without an available segment"},
		"an empty list":                      {`<SegmentList duration="10"/>`, "without an available segment"},
		"one URL for all segments":           {template(`media="a.mp4" duration="10"`), "one URL for all segments"},
		"a template without media":           {template(`duration="10"`), "one URL for all segments"},
		"a dollar without a pair":            {template(`media="$Number$$" duration="10"`), "a $ is missing"},
		"an unknown identifier":              {template(`media="$Number$$SubNumber$" duration="10"`), "an identifier other than"},
		"an unknown format":                  {template(`media="$Number%x$" duration="10"`), "a format other than"},
		"a format without its zero":          {template(`media="$Number%5d$" duration="10"`), "a format other than"},
		"a format of text":                   {template(`media="$RepresentationID%05d$$Number$" duration="10"`), "a format other than"},
		"a format without an identifier":     {template(`media="$%05d$$Number$" duration="10"`), "a format but no identifier"},
		"an init section for each segment":   {template(`media="$Number$" duration="10" initialization="$Number$"`), "depends on the segment"},
		"a malformed initialization":         {template(`media="$Number$" duration="10" initialization="$"`), "a $ is missing"},
		"a segment with a file URL":          {template(`media="file:///$Number$" duration="10"`), "the URL of a segment is not"},
		"an init section with a file URL":    {template(`media="$Number$" duration="10" initialization="file:///etc/passwd"`), "the URL of an initialization is not"},
		"a range that ends before it starts": {`<SegmentList duration="10"><SegmentURL mediaRange="5-4"/></SegmentList>`, "mediaRange is not"},
		"a range without an end":             {`<SegmentList duration="10"><SegmentURL mediaRange="5-"/></SegmentList>`, "mediaRange is not"},
		"a range of an init section":         {`<SegmentList duration="10"><Initialization range="x"/><SegmentURL media="a"/></SegmentList>`, "Initialization@range is not"},
		"no complete segment yet":            {template(`media="$Number$" duration="3600"`), "without an available segment"},
		"an eptDelta before the offset":      {template(`media="$Number$" duration="10" eptDelta="-1"`), "eptDelta"},
		"an endNumber before the first":      {template(`media="$Number$" duration="10" endNumber="0"`), "without an available segment"},
		"a single file beside a template":    {`<SegmentBase indexRange="1-2"/>`, "a single file"},
	} {
		t.Run(name, func(t *testing.T) { wantMalformed(t, liveMPD(videoPeriod(c.inside)), c.detail) })
	}
	t.Run("numbers without availabilityStartTime", func(t *testing.T) {
		wantMalformed(t, strings.ReplaceAll(liveMPD(videoPeriod(numbered)), "2026-11-21T11:00:00Z", "yesterday"), "availabilityStartTime is missing")
	})
}
