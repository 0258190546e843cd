package dash_test

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/stream/dash"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest/manifesttest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

func repeat(text string, n int) string { return strings.Repeat(text, n) }

// Each limit is reached, which is accepted, and then exceeded by one.
func TestAnMPDBeyondALimitIsMalformed(t *testing.T) {
	base := strings.Count(slidingMPD, "<") - strings.Count(slidingMPD, "</") - strings.Count(slidingMPD, "<?")
	within := func(filler string) string { return strings.Replace(slidingMPD, "<Period", filler+"<Period", 1) }
	attributes := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, ` a%d="1"`, i)
		}
		return within("<a" + b.String() + "/>")
	}
	sets := func(n int) string {
		return strings.Replace(slidingMPD, "<AdaptationSet ", repeat("<AdaptationSet/>", n-1)+"<AdaptationSet ", 1)
	}
	reps := func(n int) string {
		return strings.Replace(slidingMPD, "<Representation ", repeat(`<Representation id="v" bandwidth="1"/>`, n-1)+"<Representation ", 1)
	}
	described := func(n int) string {
		return within(repeat(`<UTCTiming schemeIdUri="x"/>`, n-2)) // SegmentTemplate and SegmentTimeline are two
	}
	entries := func(n int) string {
		return liveMPD(videoPeriod(template(`media="$Number$" timescale="10"`, timeline(repeat(`<S d="1"/>`, n)))))
	}
	runs := func(s string) string {
		return liveMPD(videoPeriod(template(`media="$Number$" timescale="1000"`, timeline(s))))
	}
	lasting := func(attributes string) string {
		return strings.Replace(slidingMPD, `<Period start="PT0S">`, `<Period start="PT0S" `+attributes+`>`, 1)
	}
	width := func(n int) string {
		return strings.Replace(slidingMPD, "$Time$", fmt.Sprintf("$Time%%0%dd$", n), 1)
	}
	ranges := func(end int) string {
		return liveMPD(videoPeriod(fmt.Sprintf(`<SegmentList duration="1"><SegmentURL media="a" mediaRange="0-%d"/></SegmentList>`, end-1)))
	}
	address := func(bytes int) string {
		return liveMPD(videoPeriod(template(`media="`+repeat("x", bytes-len(folder)-4)+`$Time$"`, timeline(`<S t="3500" d="10"/>`))))
	}
	for name, c := range map[string]struct {
		limit  int
		mpd    func(n int) string // an MPD with n of the limited things
		detail string
	}{
		"elements":        {dash.MaxElements - base, func(n int) string { return within(repeat("<a/>", n)) }, "more than 200000 elements"},
		"depth":           {dash.MaxDepth - 1, func(n int) string { return within(repeat("<a>", n) + repeat("</a>", n)) }, "32 deep"},
		"bytes of a tag":  {dash.MaxTag, func(n int) string { return within(`<a b="` + repeat("x", n-len(`<a b=""/>`)) + `"/>`) }, "a tag of more than"},
		"bytes of a name": {dash.MaxTag, func(n int) string { return within("<" + repeat("a", n-len("</>")) + "/>") }, "a tag of more than"},
		"attributes":      {dash.MaxAttributes, attributes, "more than 64 attributes"},
		"text":            {dash.MaxText, func(n int) string { return within("<Location>" + repeat(" ", n) + "</Location>") }, "Location of more than"},
		"text in pieces":  {dash.MaxText, func(n int) string { return within("<Location>" + repeat(" ", n-1) + "<!---->x</Location>") }, "Location of more than"},
		"Periods": {dash.MaxPeriods, func(n int) string {
			return strings.Replace(slidingMPD, "<Period ", repeat(`<Period start="PT0S"/>`, n-1)+"<Period ", 1)
		}, "500 Periods"},
		"AdaptationSets":  {dash.MaxAdaptationSets, sets, "1500 AdaptationSets"},
		"Representations": {dash.MaxRepresentations, reps, "3000 Representations"},
		"descriptions":    {dash.MaxDescriptions, described, "elements that describe"},
		"entries":         {dash.MaxEntries, entries, "S and SegmentURL elements"},
		"shortest": {1000, func(n int) string {
			return strings.Replace(runs(`<S t="0" d="1"/>`), `"1000"`, fmt.Sprintf("%q", fmt.Sprint(n)), 1)
		}, "shorter than"},
		"longest": {86400000, func(n int) string { return runs(fmt.Sprintf(`<S t="3600000000" d="%d"/>`, n)) }, "longer than"},
		"a time":  {dash.MaxTicks - 1000, func(n int) string { return runs(fmt.Sprintf(`<S t="%d" d="1000"/>`, n)) }, "too large"},
		"an offset": {dash.MaxTicks, func(n int) string {
			return strings.Replace(slidingMPD, "timescale", fmt.Sprintf(`presentationTimeOffset="%d" timescale`, n), 1)
		}, "presentationTimeOffset that is too large"},
		"a duration":        {365 * 100, func(n int) string { return lasting(fmt.Sprintf(`duration="P%dD"`, n)) }, "not a duration of up to 100 years"},
		"hours":             {365 * 100 * 24, func(n int) string { return lasting(fmt.Sprintf(`duration="PT%dH"`, n)) }, "not a duration of up to 100 years"},
		"a width":           {dash.MaxWidth, width, "a format other than"},
		"the end of ranges": {dash.MaxRangeEnd, ranges, "mediaRange is not"},
		"a URL":             {dash.MaxURL, address, "the URL of a segment is not"},
	} {
		t.Run(name, func(t *testing.T) {
			if p := readFirst(t, c.mpd(c.limit), noon); len(p.Segments) == 0 {
				t.Error("no segments")
			}
			wantMalformed(t, c.mpd(c.limit+1), c.detail)
		})
	}
	wantMalformed(t, lasting(`duration="PT999999999H9999999999M99999999999S"`), "not a duration")
	t.Run("entries of other representations do not count", func(t *testing.T) {
		all := repeat(`<Representation id="v" bandwidth="1">`+template(`media="$Number$" timescale="10"`, timeline(repeat(`<S d="1"/>`, dash.MaxEntries*2/3)))+`</Representation>`, 2)
		if p := readFirst(t, liveMPD(period(adaptationSet(`mimeType="video/mp4"`, all))), noon); len(p.Segments) != dash.KeptSegments {
			t.Errorf("got %d segments", len(p.Segments))
		}
	})
	t.Run("bytes", func(t *testing.T) {
		text := slidingMPD + repeat(" ", dash.MaxBytes-len(slidingMPD))
		readFirst(t, text, noon)
		if _, failure := decode(t, text+" ", "", noon); failure == nil || failure.Kind != watch.FailureTooLarge {
			t.Errorf("got %v", failure)
		}
	})
	t.Run("the newest segments are kept", func(t *testing.T) {
		for _, n := range []int{dash.KeptSegments - 1, dash.KeptSegments, dash.KeptSegments + 1, 30_000} {
			p := readFirst(t, liveMPD(videoPeriod(template(`media="$Number$" timescale="10"`, timeline(fmt.Sprintf(`<S t="0" d="1" r="%d"/>`, n-1))))), noon)
			if newest := p.Segments[len(p.Segments)-1]; len(p.Segments) != min(n, dash.KeptSegments) || newest.Sequence != uint64(n) {
				t.Errorf("of %d got %d, the last %d", n, len(p.Segments), newest.Sequence)
			}
		}
	})
}

// hostileMPDs returns MPDs at the limits and some that never end.
func hostileMPDs() map[string]string {
	fill := func(head, piece, tail string) string {
		return head + repeat(piece, (dash.MaxBytes-len(head)-len(tail))/len(piece)) + tail
	}
	long := `media="` + repeat("x", 4000) + `$Number$"`
	many := liveMPD(videoPeriod(`<SegmentList duration="1">` + repeat(`<SegmentURL media="`+repeat("x", 50)+`"/>`, dash.MaxEntries) + `</SegmentList>`))
	reps := `<SegmentTemplate media="$Number$" duration="1"/>` + repeat(`<Representation id="`+repeat("x", 900)+`" bandwidth="1"><BaseURL/></Representation>`, dash.MaxRepresentations)
	all := map[string]string{
		"of the shortest S":               fill(liveMPD()[:len(liveMPD())-6]+`<Period start="PT0S"><AdaptationSet mimeType="video/mp4"><SegmentTemplate media="$Number$"><SegmentTimeline>`, `<S d="1"/>`, `</SegmentTimeline></SegmentTemplate><Representation id="v" bandwidth="1"/></AdaptationSet></Period></MPD>`),
		"of as many S as may be":          liveMPD(videoPeriod(template(`media="$Number$"`, timeline(repeat(`<S d="1" t="1"/>`, 1)+repeat(`<S d="1"/>`, dash.MaxEntries-1))))),
		"of as many SegmentURL as may be": many,
		"of as many long SegmentURL":      liveMPD(videoPeriod(`<SegmentList duration="1">` + repeat(`<SegmentURL media="`+repeat("x", 4000)+`"/>`, 1000) + `</SegmentList>`)),
		"of segments with long URLs":      liveMPD(videoPeriod(template(long + ` duration="1"`))),
		"of Representations":              liveMPD(period(adaptationSet(`mimeType="video/mp4"`, reps))),
		"of AdaptationSets":               liveMPD(`<Period start="PT0S">` + repeat(`<AdaptationSet mimeType="video/mp4"/>`, dash.MaxAdaptationSets-1) + `</Period>` + videoPeriod(template(`media="$Number$" duration="1"`))),
		"of descriptions":                 liveMPD(`<Period start="PT0S"><AdaptationSet mimeType="video/mp4">` + repeat(`<SegmentTemplate media="$Number$" duration="1"/>`, dash.MaxDescriptions-2) + `<Representation id="v" bandwidth="1"/></AdaptationSet></Period>`),
		"of Locations":                    fill(liveMPD()[:len(liveMPD())-6], "<Location>"+repeat("x", dash.MaxText)+"</Location>", "</MPD>"),
		"of attributes":                   fill("<MPD>", "<a"+repeat(` b=""`, dash.MaxAttributes)+"/>", "</MPD>"),
		"of one tag":                      fill("<MPD", ` a=""`, "/>"),
		"of one value":                    fill(`<MPD a="`, "x", `"/>`),
		"of Periods":                      liveMPD(repeat(`<Period start="PT0S"><SegmentTemplate duration="1"/><AdaptationSet mimeType="video/mp4"><SegmentTemplate media="$Number$"/><Representation id="v" bandwidth="1"/></AdaptationSet></Period>`, dash.MaxPeriods)),
		"of one comment":                  fill("<MPD><!--", "x", "--></MPD>"),
		"of white space":                  fill("<MPD>", " ", "</MPD>"),
		"of CDATA":                        fill("<MPD>", "<![CDATA[]]>", "</MPD>"),
		"of unclosed comments":            fill("<MPD>", "<!--", ""),
		"of open tags":                    fill("<MPD>", "<a>", ""),
		"of open brackets":                fill("<MPD>", "<", ""),
	}
	for name, s := range map[string]string{
		"repeated often":       `<S t="0" d="1" r="9223372036854775807"/>`,
		"repeated backwards":   `<S t="0" d="1" r="-9223372036854775808"/>`,
		"long and repeated":    fmt.Sprintf(`<S t="0" d="4294967295" r="%d"/>`, math.MaxInt64),
		"repeated to the next": `<S t="0" d="1" r="-1"/><S t="2305843009213693951" d="1"/>`,
		"many, repeated often": repeat(`<S d="1" r="2147483647"/>`, 40_000),
	} {
		for _, timescale := range []string{"1", "1000", "4294967295"} {
			all["of S "+name+", at "+timescale] = liveMPD(videoPeriod(template(`media="$Number$" timescale="`+timescale+`"`, timeline(s))))
		}
	}
	return all
}

// Counted is all memory that is allocated, whether or not it is still in use. Decoding has a limit of time.
func TestHostileMPDsStayWithinMemory(t *testing.T) {
	const limit = 64 << 20
	for name, text := range hostileMPDs() {
		t.Run(name, func(t *testing.T) {
			for _, part := range []string{"", "kind=video&id=v&bandwidth=1"} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				decode(t, text, part, noon)
				runtime.ReadMemStats(&after)
				if used := after.TotalAlloc - before.TotalAlloc; used > limit+uint64(len(text)) { // the text is copied
					t.Errorf("%.1f MB were allocated", float64(used)/1e6)
				}
			}
		})
	}
}

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
