package dash_test

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/stream/dash"
	"github.com/stream-monitor/stream-monitor/domain/watch"
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
