package dash_test

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// summary returns segments as "name@start+duration", in seconds; the start is relative
// to noon.
func summary(p watch.Playlist) string {
	var out []string
	for _, s := range p.Segments {
		at := "?"
		if !s.ProgramTime.IsZero() {
			at = strconv.FormatFloat(s.ProgramTime.Sub(noon).Seconds(), 'f', -1, 64)
		}
		out = append(out, fmt.Sprintf("%s@%s+%v", strings.TrimPrefix(s.URI, folder), at, s.Duration.Seconds()))
	}
	return strings.Join(out, " ")
}

// byItsClock adds the UTCTiming of an MPD that states the time.
func byItsClock(text string, at time.Time) string {
	return strings.Replace(text, "<Period", `<UTCTiming schemeIdUri="urn:mpeg:dash:utc:direct:2014" value="`+at.Format(time.RFC3339)+`"/><Period`, 1)
}

// last returns the last n segments of a summary.
func last(n int, all string) string {
	fields := strings.Fields(all)
	return strings.Join(fields[max(0, len(fields)-n):], " ")
}

// mp4Template is template with an init section.
func mp4Template(attributes string, inside ...string) string {
	return template(`initialization="i.mp4" `+attributes, inside...)
}

// templated is a live MPD whose only representation has this template.
func templated(attributes string, inside ...string) string {
	return liveMPD(videoPeriod(mp4Template(attributes, inside...)))
}

func segmentList(attributes string, inside ...string) string {
	return `<SegmentList ` + attributes + `>` + strings.Join(inside, "") + `</SegmentList>`
}

const threeURLs = `<SegmentURL media="a"/><SegmentURL media="b"/><SegmentURL media="c"/>`

// addressingCase is an MPD with the summary of its last three segments at noon.
type addressingCase struct{ text, want string }

func checkLastSegments(t *testing.T, cases map[string]addressingCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := last(3, summary(readFirst(t, c.text, noon))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestASegmentTemplateListsSegments(t *testing.T) {
	checkLastSegments(t, map[string]addressingCase{
		"numbers by duration":                         {templated(`media="$Number$" duration="10"`), "357@-40+10 358@-30+10 359@-20+10"},
		"numbers from another start":                  {templated(`media="$Number$" duration="100" timescale="10" startNumber="0"`), "356@-40+10 357@-30+10 358@-20+10"},
		"numbers up to the last":                      {templated(`media="$Number$" duration="10" endNumber="12"`), "10@-3510+10 11@-3500+10 12@-3490+10"},
		"numbers that begin a little late":            {templated(`media="$Number$" duration="100" timescale="10" eptDelta="5"`), "356@-49.5+10 357@-39.5+10 358@-29.5+10"},
		"times by duration":                           {templated(`media="$Time$" duration="100" timescale="10" presentationTimeOffset="7"`), "35607@-40+10 35707@-30+10 35807@-20+10"},
		"a timeline by number":                        {templated(`media="$Number%05d$" timescale="10" startNumber="8"`, timeline(`<S t="35700" d="100"/><S d="90" r="1"/>`)), "00008@-30+10 00009@-20+9 00010@-11+9"},
		"a timeline by time":                          {templated(`media="$Time$" timescale="10"`, timeline(`<S t="35700" d="100"/><S t="35801" d="90" r="1"/>`)), "35700@-30+10 35801@-19.9+9 35891@-10.9+9"},
		"a timeline with an offset":                   {templated(`media="$Time$" timescale="10" presentationTimeOffset="1000"`, timeline(`<S t="36800" d="100"/><S d="90" r="1"/>`)), "36800@-20+10 36900@-10+9 36990@-1+9"},
		"a timeline without an end, by the clock":     {templated(`media="$Time$" timescale="10"`, timeline(`<S t="0" d="100" r="-1"/>`)), "35600@-40+10 35700@-30+10 35800@-20+10"},
		"a timeline with a repetition up to the next": {templated(`media="$Number$" timescale="10"`, timeline(`<S t="35500" d="100" r="-1"/><S t="35790" d="100"/>`)), "2@-40+10 3@-30+10 4@-21+10"},
		"a timeline that counts far ahead":            {templated(`media="$Number$"`, timeline(`<S t="0" d="10" r="2147483647"/>`)), "358@-30+10 359@-20+10 360@-10+10"},
		"segments that overlap a little":              {templated(`media="$Time$"`, timeline(`<S t="3500" d="12"/><S t="3510" d="12"/><S t="3520" d="12"/>`)), "3500@-100+12 3510@-90+12 3520@-80+12"},
	})
}

func TestASegmentListListsSegments(t *testing.T) {
	checkLastSegments(t, map[string]addressingCase{
		"a list with a timeline":               {liveMPD(videoPeriod(segmentList(`timescale="10" startNumber="5"`, timeline(`<S t="35500" d="100" r="5"/>`), threeURLs))), "a@-50+10 b@-40+10 c@-30+10"},
		"a list with more URLs than times":     {liveMPD(videoPeriod(segmentList(``, timeline(`<S t="3500" d="10" r="1"/>`), threeURLs))), "a@-100+10 b@-90+10"},
		"a list with a repetition without end": {liveMPD(videoPeriod(segmentList(``, timeline(`<S t="3500" d="10" r="-1"/>`), threeURLs))), "a@-100+10 b@-90+10 c@-80+10"},
		"a list with a duration":               {liveMPD(videoPeriod(segmentList(`duration="10" startNumber="50"`, threeURLs))), "a@?+10 b@?+10 c@?+10"},
		"a list inherits its times": {
			liveMPD(`<Period start="PT0S">` + segmentList(`timescale="10"`, timeline(`<S t="35500" d="100" r="2"/>`)) + `<AdaptationSet mimeType="video/mp4">` +
				segmentList(`startNumber="3"`) + `<Representation id="v" bandwidth="1">` + segmentList("", threeURLs) + `</Representation></AdaptationSet></Period>`),
			"a@-50+10 b@-40+10 c@-30+10",
		},
		"a list inherits its URLs": {
			liveMPD(`<Period start="PT0S"><AdaptationSet mimeType="video/mp4">` + segmentList("", timeline(`<S t="35500" d="100" r="2"/>`), threeURLs) +
				`<Representation id="v" bandwidth="1">` + segmentList(`timescale="10"`) + `</Representation></AdaptationSet></Period>`),
			"a@-50+10 b@-40+10 c@-30+10",
		},
	})
}

func TestSegmentsHaveTheURLsOfTheMPD(t *testing.T) {
	checkLastSegments(t, map[string]addressingCase{
		"a template inherits and overrides": {
			liveMPD(`<Period start="PT0S">` + mp4Template(`media="$Number$" timescale="10" startNumber="7"`) + `<AdaptationSet mimeType="video/mp4">` +
				template(`media="x/$RepresentationID$/$Number$" duration="5"`) + `<Representation id="v" bandwidth="1">` + template(`duration="100"`) + `</Representation></AdaptationSet></Period>`),
			"x/v/363@-40+10 x/v/364@-30+10 x/v/365@-20+10",
		},
		"relative to BaseURL of every level": {
			liveMPD(`<BaseURL>a/</BaseURL><BaseURL>z/</BaseURL><Period start="PT0S"><BaseURL>b/</BaseURL><AdaptationSet mimeType="video/mp4"><BaseURL serviceLocation="x"> c/ </BaseURL>
				<Representation id="v" bandwidth="1"><BaseURL>ftp://x/</BaseURL><BaseURL>d/e</BaseURL>` + mp4Template(`media="$Number$" duration="10"`) + `</Representation></AdaptationSet></Period>`),
			"a/b/c/d/357@-40+10 a/b/c/d/358@-30+10 a/b/c/d/359@-20+10",
		},
		"brackets in BaseURL":         {liveMPD(`<BaseURL>a]]>b/</BaseURL>` + videoPeriod(mp4Template(`media="$Number$" duration="10"`))), "a%5D%5D%3Eb/357@-40+10 a%5D%5D%3Eb/358@-30+10 a%5D%5D%3Eb/359@-20+10"},
		"brackets in a CDATA section": {liveMPD(`<BaseURL>a<![CDATA[<>&b/]]></BaseURL>` + videoPeriod(mp4Template(`media="$Number$" duration="10"`))), "a%3C%3E&b/357@-40+10 a%3C%3E&b/358@-30+10 a%3C%3E&b/359@-20+10"},
		"transport stream":            {strings.ReplaceAll(liveMPD(videoPeriod(template(`media="$Number$.ts" duration="10"`))), "video/mp4", "video/MP2T"), "357.ts@-40+10 358.ts@-30+10 359.ts@-20+10"},
	})
	t.Run("identifiers", func(t *testing.T) {
		all := readFirst(t, templated(`media="$RepresentationID$-$Bandwidth$-$Bandwidth%08d$-$$-$Number%06d$-$Time%01d$-%41" duration="10"`), noon)
		if uri := all.Segments[len(all.Segments)-1].URI; !strings.HasSuffix(uri, "/v-100000-00100000-$-000359-3580-%41") {
			t.Errorf("got %s", uri)
		}
	})
}

func TestOnlySegmentsOfThePastAreListed(t *testing.T) {
	checkLastSegments(t, map[string]addressingCase{
		"what is listed is available, even if this machine's clock is slow": {templated(`media="$Time$"`, timeline(`<S t="3660" d="10" r="1"/>`)), "3660@60+10 3670@70+10"},
		"segments that the MPD announces by its own clock are not listed":   {byItsClock(templated(`media="$Time$"`, timeline(`<S t="3580" d="10" r="9"/>`)), noon), "3580@-20+10 3590@-10+10"},
		"the first of a timeline that is ahead of the MPD's own clock":      {byItsClock(templated(`media="$Time$"`, timeline(`<S t="3660" d="10" r="9"/>`)), noon), "3660@60+10"},
		"those before a repetition without an end":                          {templated(`media="$Time$"`, timeline(`<S t="3660" d="10" r="1"/><S d="10" r="-1"/>`)), "3660@60+10 3670@70+10"},
		"a Period that has not begun by a slow clock":                       {strings.ReplaceAll(templated(`media="$Time$"`, timeline(`<S t="0" d="10" r="1"/>`)), "11:00:00Z", "12:01:00Z"), "0@60+10 10@70+10"},
		"numbers when this machine's clock is before the MPD was published": {
			strings.ReplaceAll(templated(`media="$Number$" duration="10"`), "<MPD ", `<MPD publishTime="2026-11-21T12:01:00Z" `),
			"363@20+10 364@30+10 365@40+10",
		},
		"a timeline far ahead is on another clock":         {templated(`media="$Time$"`, timeline(`<S t="9000" d="10" r="1"/>`)), "9000@?+10 9010@?+10"},
		"a timeline before the Period is on another clock": {templated(`media="$Time$" presentationTimeOffset="9000"`, timeline(`<S d="10" r="1"/>`)), "0@?+10 10@?+10"},
		"a timeline without an end on another clock":       {templated(`media="$Time$"`, timeline(`<S t="9000" d="10" r="1"/><S d="10" r="-1"/>`)), "9000@?+10 9010@?+10 9020@?+10"},
		"without availabilityStartTime there is no time":   {strings.ReplaceAll(templated(`media="$Time$"`, timeline(`<S t="90" d="10" r="1"/>`)), "availabilityStartTime", "x"), "90@?+10 100@?+10"},
	})
}

func TestSegmentsEndWithTheirPeriod(t *testing.T) {
	checkLastSegments(t, map[string]addressingCase{
		"the rest of a Period from rounding is no segment": {
			strings.ReplaceAll(templated(`media="$Number$" duration="10000" timescale="1000"`), `<Period start`, `<Period duration="PT90.05S" start`),
			"7@-3540+10 8@-3530+10 9@-3520+10",
		},
		"a longer rest of a Period is a segment": {
			strings.ReplaceAll(templated(`media="$Number$" duration="10000" timescale="1000"`), `<Period start`, `<Period duration="PT90.051S" start`),
			"8@-3530+10 9@-3520+10 10@-3510+0.051",
		},
		"a timeline beyond its Period": {strings.ReplaceAll(templated(`media="$Time$"`, timeline(`<S t="0" d="10" r="99"/>`)), `<Period start`, `<Period duration="PT95S" start`), "70@-3530+10 80@-3520+10 90@-3510+10"},
		"a timeline that begins before its Period": {
			strings.ReplaceAll(templated(`media="$Time$" presentationTimeOffset="25"`, timeline(`<S t="0" d="10" r="3"/>`)), `start="PT0S"`, `start="PT30M"`),
			"20@-1805+10 30@-1795+10",
		},
	})
}

func TestASegmentIsNumberedByTimeElseByNumber(t *testing.T) { // decision S5
	times := timeline(`<S t="35500" d="100" r="2"/>`)
	for name, c := range map[string]struct {
		set        string
		sequence   uint64
		unnumbered bool
	}{
		"$Time$":                      {mp4Template(`media="$Time$" timescale="10" startNumber="5"`, times), 35700, false},
		"$Number$":                    {mp4Template(`media="$Number$" timescale="10" startNumber="5"`, times), 7, false},
		"both":                        {mp4Template(`media="$Number$-$Time$" timescale="10" startNumber="5"`, times), 35700, false},
		"a list":                      {segmentList(`timescale="10" startNumber="5"`, times, threeURLs), 7, false},
		"a list that begins anywhere": {segmentList(`timescale="10"`, times, threeURLs), 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := readFirst(t, liveMPD(videoPeriod(c.set)), noon)
			if last := p.Segments[len(p.Segments)-1]; last.Sequence != c.sequence || last.Unnumbered != c.unnumbered {
				t.Errorf("got %+v", last)
			}
		})
	}
}

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
	one := func(attributes string) string { return strings.Replace(slidingMPD, `start="PT0S"`, attributes, 1) }
	for name, c := range map[string]struct{ text, detail string }{
		"numbers without availabilityStartTime": {strings.ReplaceAll(liveMPD(videoPeriod(numbered)), "2026-11-21T11:00:00Z", "yesterday"), "availabilityStartTime is missing"},
		"no Period":                             {liveMPD(), "without a Period"},
		"a Period that begins later":            {one(`start="PT2H"`), "its first Period begins at 2026-11-21T13:00:00Z"},
		"a start without PT":                    {one(`start="1"`), "Period@start is not a duration"},
		"a negative start":                      {one(`start="-PT1S"`), "Period@start is not a duration"},
		"a start in months":                     {one(`start="P1M"`), "Period@start is not a duration"},
		"a start of P alone":                    {one(`start="P"`), "Period@start is not a duration"},
		"a start of PT alone":                   {one(`start="PT"`), "Period@start is not a duration"},
		"another type":                          {strings.ReplaceAll(slidingMPD, "dynamic", "Dynamic"), "neither static nor dynamic"},
	} {
		t.Run(name, func(t *testing.T) { wantMalformed(t, c.text, c.detail) })
	}
}
