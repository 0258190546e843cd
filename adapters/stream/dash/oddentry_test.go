package dash_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest/manifesttest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

// One odd entry costs at most itself: the rest of the MPD is used, and Defect says what was left
// out or repaired.
func TestAnOddEntryCostsItselfAlone(t *testing.T) {
	of := func(s string) string {
		return liveMPD(videoPeriod(mp4Template(`media="$Number$" timescale="10"`, timeline(s))))
	}
	listed := func(urls string) string { return liveMPD(videoPeriod(segmentList(`duration="10"`, urls))) }
	based := func(mpd, period string) string {
		return liveMPD(mpd + `<Period start="PT0S">` + period + `<AdaptationSet mimeType="video/mp4"><Representation id="v" bandwidth="1">` +
			mp4Template(`media="$Number$" timescale="10"`, timeline(`<S t="35900" d="50"/>`)) + `</Representation></AdaptationSet></Period>`)
	}
	periods := func(first, second string) string {
		set := `<AdaptationSet mimeType="video/mp4"><Representation id="v" bandwidth="1"/></AdaptationSet>`
		numbers := func(name string) string { return template(`media="` + name + `$Number$" duration="10"`) }
		return liveMPD(`<Period ` + first + `>` + numbers("a") + set + `</Period><Period ` + second + `>` + numbers("b") + set + `</Period>`)
	}
	template := func(attributes string) string {
		return liveMPD(`<Period start="PT0S"><AdaptationSet mimeType="video/mp4">`+
			`<Representation id="v" bandwidth="1">`+mp4Template(attributes)+`</Representation></AdaptationSet></Period>`,
			`<Period start="PT3590S"><AdaptationSet mimeType="video/mp4"><Representation id="v" bandwidth="1">`+
				mp4Template(`media="$Number$" timescale="10"`, timeline(`<S t="0" d="50" r="1"/>`))+`</Representation></AdaptationSet></Period>`)
	}
	for name, c := range map[string]struct{ text, want, defect string }{
		"an S of no length":              {of(`<S t="35800" d="50"/><S t="35850" d="0"/><S d="50"/>`), "1@-20+5 3@-15+5", "shorter than"},
		"the last S of no length":        {of(`<S t="35800" d="50"/><S d="0"/>`), "1@-20+5", "shorter than"},
		"an S without a length":          {of(`<S t="35800"/><S t="35850" d="50"/>`), "2@-15+5", "shorter than"},
		"an S longer than a day":         {of(`<S t="0" d="864001"/><S t="35850" d="50"/>`), "2@-15+5", "longer than"},
		"an S with a fraction":           {of(`<S t="35800" d="50.5"/><S t="35850" d="50"/>`), "2@-15+5", "S@d is not a whole number"},
		"an S at no number":              {of(`<S t="x" d="50"/><S t="35850" d="50"/>`), "2@-15+5", "S@t is not a whole number"},
		"an S too late for a number":     {of(`<S t="18446744073709551615" d="50"/><S t="35850" d="50"/>`), "2@-15+5", "a time is too large"},
		"an S that runs backwards":       {of(`<S t="35700" d="50" r="2"/><S t="35800" d="50"/><S d="50"/>`), "1@-30+5 2@-25+5 4@-20+5 5@-15+5", "runs backwards"},
		"an S far ahead of the next":     {of(`<S t="35800" d="50"/><S t="99999999" d="50"/><S t="35850" d="50"/>`), "1@-20+5 3@-15+5", "runs backwards"},
		"an encoder that starts again":   {of(`<S t="35800" d="50" r="1"/><S t="35700" d="50"/>`), "3@-30+5", "runs backwards"},
		"a repetition of unknown length": {of(`<S t="35800" d="50"/><S d="50" r="-1"/><S d="50"/>`), "1@-20+5", "S@r of -1"},
		"a repetition that ends before":  {of(`<S t="35860" d="50" r="-1"/><S t="35850" d="50"/>`), "1@-15+5", "a time is too large"},

		"an S of unknown lengths":      {of(`<S t="35700" d="50"/><S t="35750" p="1" r="1"/><S t="35850" d="50"/>`), "1@-30+5 4@-15+5", "S@p is not supported"},
		"an S after unknown lengths":   {of(`<S t="35700" d="50"/><S t="35750" p="1" pE="2"/><S d="50"/>`), "1@-30+5", "S@p"},
		"an S with its number":         {of(`<S t="35700" n="7" d="50" r="1"/><S d="50"/><S t="35900" n="15" d="50"/>`), "7@-30+5 8@-25+5 9@-20+5 15@-10+5", ""},
		"an S with a number of before": {of(`<S t="35700" n="7" d="50" r="1"/><S n="8" d="50"/>`), "7@-30+5 8@-25+5 9@-20+5", "S@n is below"},
		"an S at a number too large":   {of(`<S t="35700" d="50"/><S n="18446744073709551615" d="50"/>`), "1@-30+5 2305843009213693952@-25+5", ""},
		"an S with a number in words":  {of(`<S t="35700" d="50"/><S t="35750" n="x" d="50"/><S t="35800" d="50"/>`), "1@-30+5 3@-20+5", "S@n is not a whole number"},

		"a range that is none":    {listed(`<SegmentURL media="a" mediaRange="5-4"/><SegmentURL media="b"/>`), "b@?+10", "mediaRange is not"},
		"a file among segments":   {listed(`<SegmentURL media="file:///a"/><SegmentURL media="b"/>`), "b@?+10", "the URL of a segment is not"},
		"a name with a colon":     {listed(`<SegmentURL media="1_2:00.mp4"/><SegmentURL media="100%.mp4"/>`), "1_2:00.mp4@?+10 100%25.mp4@?+10", ""},
		"a BaseURL of a file":     {based(`<BaseURL>file:///x/</BaseURL>`, ``), "1@-10+5", "a BaseURL is not"},
		"a BaseURL of a Period":   {based(`<BaseURL>a/</BaseURL>`, `<BaseURL>http://[::1/</BaseURL>`), "a/1@-10+5", "a BaseURL is not"},
		"one bad BaseURL of two":  {based(`<BaseURL>ftp://x/</BaseURL><BaseURL>b/</BaseURL>`, ``), "b/1@-10+5", "a BaseURL is not"},
		"a BaseURL with a colon":  {based(`<BaseURL>2_1:3/</BaseURL>`, ``), "2_1:3/1@-10+5", ""},
		"a Period without number": {periods(`start="soon"`, `start="PT3570S"`), "b1@-30+10 b2@-20+10", "Period@start is not a duration"},
		"a Period that ends soon": {periods(`start="PT0S" duration="soon"`, `start="PT3570S"`), "b1@-30+10 b2@-20+10", "Period@duration is not a duration"},
		"Periods out of order":    {periods(`start="PT3580S"`, `start="PT3570S"`), "b1@-30+10 b2@-20+10", "not in order"},
		"a depth that is none":    {strings.Replace(of(`<S t="35900" d="50"/>`), "<MPD ", `<MPD timeShiftBufferDepth="soon" `, 1), "1@-10+5", "MPD@timeShiftBufferDepth is not a duration"},

		"a Period that cannot be addressed": {template(`media="$Number$$x$" duration="10"`), "1@-10+5 2@-5+5", "an identifier other than"},
		"a Period without durations":        {template(`media="$Number$"`), "1@-10+5 2@-5+5", "neither a SegmentTimeline nor a duration"},
		"a timescale that is no number":     {template(`media="$Number$" duration="10" timescale="fast"`), "1@-10+5 2@-5+5", "timescale is not a whole number"},
		"a start number that is none":       {template(`startNumber="-1" media="$Number$" duration="10" timescale="1"`), "1@-10+5 2@-5+5", "startNumber is not a whole number"},
		"a bandwidth that is no number":     {strings.ReplaceAll(of(`<S t="35900" d="50"/>`), `bandwidth="100000"`, `bandwidth="1e6"`), "1@-10+5", "Representation@bandwidth is not a whole number"},
	} {
		t.Run(name, func(t *testing.T) {
			p := readFirst(t, c.text, noon)
			expect.Equal(t, "got", last(4, summary(p)), c.want)
			manifesttest.WantDefect(t, p, c.defect)
		})
	}
}

func TestSegmentsCanBeHadFromEveryBaseURL(t *testing.T) {
	period := `<Period start="PT0S"><AdaptationSet mimeType="video/mp4"><BaseURL>x/</BaseURL><Representation id="v" bandwidth="1">` +
		mp4Template(`media="$Number$" timescale="10"`, timeline(`<S t="35900" d="50"/>`)) + `</Representation></AdaptationSet></Period>`
	for name, c := range map[string]struct {
		bases string
		want  []string
	}{
		"one":                    {`<BaseURL>https://a.example/</BaseURL>`, nil},
		"two":                    {`<BaseURL>https://a.example/</BaseURL><BaseURL>https://b.example/y/</BaseURL>`, []string{"https://b.example/y/"}},
		"one twice":              {`<BaseURL>https://a.example/</BaseURL><BaseURL>https://a.example/</BaseURL>`, nil},
		"more than can be tried": {strings.Repeat(`<BaseURL>https://a.example/</BaseURL>`, 3) + `<BaseURL>b/</BaseURL><BaseURL>c/</BaseURL><BaseURL>d/</BaseURL>`, []string{folder + "b/", folder + "c/"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := readFirst(t, liveMPD(c.bases+period), noon).Segments[0]
			if s.URI != "https://a.example/x/1" || s.Init.URI != "https://a.example/x/i.mp4" {
				t.Errorf("got %s, %s", s.URI, s.Init.URI)
			}
			var mirrors, inits []string
			for _, base := range c.want {
				mirrors, inits = append(mirrors, base+"x/1"), append(inits, base+"x/i.mp4")
			}
			if !reflect.DeepEqual(s.Mirrors, mirrors) || !reflect.DeepEqual(s.Init.Mirrors, inits) {
				t.Errorf("got %v and %v, want %v", s.Mirrors, s.Init.Mirrors, mirrors)
			}
		})
	}
	t.Run("a rendition of its own", func(t *testing.T) {
		all := renditions(t, liveMPD(`<BaseURL>a/</BaseURL><BaseURL>b/</BaseURL>`+period), noon)
		expect.Equal(t, "got", all, []watch.Rendition{{URL: mpdURL + "#bandwidth=1&id=v&kind=both", Bandwidth: 1, HasVideo: true, HasAudio: true}})
	})
}
