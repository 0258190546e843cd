package dash_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/dash"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

// The same MPD is decoded every half second for a minute.
func TestARenditionIsFoundAgainInAnUpdate(t *testing.T) {
	text := liveMPD(videoPeriod(template(`media="$Number$" duration="6"`)))
	text = strings.Replace(text, "<MPD ", `<MPD timeShiftBufferDepth="PT30S" `, 1)
	part := fragmentOf(t, renditions(t, text, noon)[0])
	seen := map[string]watch.Segment{}
	var newest string
	for after := time.Duration(0); after < time.Minute; after += 500 * time.Millisecond {
		p := readRendition(t, text, part, noon.Add(after))
		if len(p.Segments) != 5 {
			t.Fatalf("after %v: got %s", after, summary(p))
		}
		for _, s := range p.Segments {
			before, again := seen[s.ID()]
			if again && (!before.ProgramTime.Equal(s.ProgramTime) || before.Sequence != s.Sequence || before.Duration != s.Duration) {
				t.Errorf("after %v: %+v was %+v", after, s, before)
			}
			seen[s.ID()] = s
		}
		s := p.Segments[4]
		if late := noon.Add(after).Sub(s.ProgramTime.Add(s.Duration)); late < 6*time.Second || late >= 12*time.Second {
			t.Errorf("after %v the newest ended %v ago", after, late)
		}
		expect.Equal(t, fmt.Sprintf("after %v: moved", after), s.ID() != newest, (after%(6*time.Second) == 0))
		newest = s.ID()
	}
	expect.Equal(t, "segments seen", len(seen), 5+9)
}

func TestSegmentsOfSeveralPeriodsAreJoined(t *testing.T) {
	advertisement := mpd(t, "advertisement")
	before := renditions(t, advertisement, noon.Add(-time.Second))
	during := renditions(t, advertisement, noon.Add(time.Second))
	if len(before) != 3 || len(during) != 4 || fragmentOf(t, during[0]) != "bandwidth=2000000&id=high&kind=video" {
		t.Fatalf("got %+v, then %+v", before, during)
	}
	small, large, sound := fragmentOf(t, before[0]), fragmentOf(t, before[1]), fragmentOf(t, before[2])
	for name, c := range map[string]struct {
		part  string
		after time.Duration
		want  string
	}{
		"before the advertisement":         {small, -time.Second, "a/1/895@-24+4 a/1/896@-20+4 a/1/897@-16+4 a/1/898@-12+4"},
		"when it has just begun":           {small, time.Second, "a/1/898@-12+4 a/1/899@-8+4 ad/low/0@0+5"},
		"the last segment before it":       {small, 4 * time.Second, "a/1/898@-12+4 a/1/899@-8+4 a/1/900@-4+4 ad/low/0@0+5"},
		"its first segment":                {small, 6 * time.Second, "a/1/898@-12+4 a/1/899@-8+4 a/1/900@-4+4 ad/low/0@0+5"},
		"the rendition with most bits":     {large, 6 * time.Second, "a/2/898@-12+4 a/2/899@-8+4 a/2/900@-4+4 ad/high/0@0+5"},
		"sound of the same language":       {sound, 26 * time.Second, "ad/en/1@0+5 ad/en/2@5+5 ad/en/3@10+5 ad/en/4@15+5"},
		"only segments of it":              {small, 31 * time.Second, "ad/low/100@10+5 ad/low/150@15+5 ad/low/200@20+5 ad/low/250@25+5"},
		"after the advertisement":          {small, 41 * time.Second, "ad/low/150@15+5 ad/low/200@20+5 ad/low/250@25+5 b/1/908@30+4"},
		"sound after the advertisement":    {sound, 41 * time.Second, "ad/en/4@15+5 ad/en/5@20+5 ad/en/6@25+5 b/sound/1@30+4"},
		"an id of the advertisement":       {fragmentOf(t, during[1]), -time.Second, "a/1/895@-24+4 a/1/896@-20+4 a/1/897@-16+4 a/1/898@-12+4"},
		"of the language, not the default": {fragmentOf(t, during[2]), -time.Second, "a/sound/895@-24+4 a/sound/896@-20+4 a/sound/897@-16+4 a/sound/898@-12+4"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := last(4, summary(readRendition(t, byItsClock(advertisement, noon.Add(c.after)), c.part, noon.Add(c.after)))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	t.Run("an advertisement with other tracks", func(t *testing.T) {
		muxed := adaptationSet(`mimeType="video/mp4" codecs="avc1.1,mp4a.40.2"`, `<SegmentTemplate media="m/$Number$" duration="5"/>`, representation("m", "1"))
		apart := adaptationSet(`mimeType="video/mp4" codecs="avc1.1"`, `<SegmentTemplate media="v/$Number$" duration="5"/>`, representation("v", "1"))
		then := func(first, second string) string {
			return liveMPD(`<Period start="PT0S">` + first + `</Period><Period start="PT3570S">` + second + `</Period>`)
		}
		expect.Equal(t, "got", last(2, summary(readRendition(t, then(apart, muxed), "kind=video&id=v&bandwidth=1", noon))), "m/4@-15+5 m/5@-10+5")
		_, failure := decode(t, then(muxed, apart), "kind=both&id=m&bandwidth=1", noon)
		if failure == nil || failure.Kind != watch.FailureExpired || !strings.Contains(failure.Detail, "no rendition like the one") {
			t.Errorf("got %v", failure)
		}
		protected := adaptationSet(`mimeType="video/mp4"`, `<ContentProtection schemeIdUri="x"/>`, representation("v", "1"))
		expect.Equal(t, "got", last(1, summary(readRendition(t, then(muxed, protected), "kind=both&id=m&bandwidth=1", noon))), "m/714@-35+5")
		if got := renditions(t, then(muxed, protected), noon); len(got) != 1 || !got[0].HasAudio {
			t.Errorf("got %+v", got)
		}
	})
	numbers := func(media string) string { return `<SegmentTemplate media="` + media + `$Number$" duration="4"/>` }
	one := func(attributes string, inside ...string) string {
		return adaptationSet(`mimeType="video/mp4" codecs="avc1.1`+attributes, inside...)
	}
	same := one(`"`, numbers("$Bandwidth$/"), representation("1", "100"), representation("1", "900"))
	languages := adaptationSet(`mimeType="audio/mp4" lang="en"`, role("commentary"), numbers("c/"), representation("1", "100")) +
		adaptationSet(`mimeType="audio/mp4" lang="fr"`, role("main"), numbers("m/"), representation("2", "100"))
	for _, c := range []struct{ name, sets, part, want string }{
		{"of two with the same id the nearest in bandwidth", same, "kind=video&id=1&bandwidth=0", "100/"},
		{"below the middle", same, "kind=video&id=1&bandwidth=400", "100/"},
		{"above the middle", same, "kind=video&id=1&bandwidth=600", "900/"},
		{"beyond both", same, "kind=video&id=1&bandwidth=4294967295", "900/"},
		{"the id decides before the bandwidth", one(`"`, numbers("$RepresentationID$/"), representation("1", "900"), representation("2", "100")), "kind=video&id=1&bandwidth=100", "1/"},
		{
			"video alone before video with sound", one(`,mp4a.40.2"`, numbers("$RepresentationID$/"), representation("v", "100")) + one(`"`, numbers("$RepresentationID$/"), representation("w", "900")),
			"kind=video&id=v&bandwidth=100", "w/",
		},
		{"the main one if no language is asked for", languages, "kind=audio&id=9&bandwidth=100", "m/"},
		{"the language before the main one", languages, "kind=audio&id=9&bandwidth=100&lang=en", "c/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect.Equal(t, "got", last(1, summary(readRendition(t, liveMPD(period(c.sets)), c.part, noon))), c.want+"899@-8+4")
		})
	}
}

func TestNoSegmentIsListedTwiceAtAPeriodBoundary(t *testing.T) {
	then := func(old, later string) string {
		return liveMPD(`<Period start="PT0S">`+adaptationSet(`mimeType="video/mp4"`, template(`media="a$Time$" timescale="10"`, timeline(old)), representation("v", "1"))+`</Period>`,
			`<Period start="PT3570S">`+adaptationSet(`mimeType="video/mp4"`, template(`media="b$Time$" timescale="10" presentationTimeOffset="1000"`, timeline(later)), representation("v", "1"))+`</Period>`)
	}
	for name, c := range map[string]struct{ old, later, want string }{
		"segments on both sides overlap the boundary": {`<S t="35580" d="40" r="9"/>`, `<S t="950" d="60" r="2"/>`, "a35580@-42+4 a35620@-38+4 b950@-35+6 b1010@-29+6 b1070@-23+6"},
		"one on each side begins at the same time":    {`<S t="35640" d="20" r="9"/>`, `<S t="980" d="60" r="2"/>`, "a35640@-36+2 a35660@-34+2 b980@-32+6 b1040@-26+6 b1100@-20+6"},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "got", summary(readFirst(t, then(c.old, c.later), noon)), c.want)
		})
	}
	t.Run("the newest of both are kept", func(t *testing.T) {
		p := readFirst(t, then(`<S t="0" d="2" r="9999"/>`, `<S t="1000" d="1" r="199"/>`), noon)
		if n := len(p.Segments); n != dash.KeptSegments || p.Segments[n-201].Duration != 200*time.Millisecond || p.Segments[n-200].Sequence != 1000 {
			t.Errorf("got %d: %s", n, last(300, summary(p)))
		}
	})
}

func TestPeriodsHaveStartsAndEnds(t *testing.T) {
	of := func(attributes, media string) string {
		return `<Period ` + attributes + `><AdaptationSet mimeType="video/mp4" codecs="avc1.1"><SegmentTemplate media="` + media + `$Number$" duration="10"/><Representation id="v" bandwidth="1"/></AdaptationSet></Period>`
	}
	for name, c := range map[string]struct{ text, want string }{
		"the first may leave out its start":  {liveMPD(of(``, "a")), "a358@-30+10 a359@-20+10"},
		"a start follows from a duration":    {liveMPD(of(`duration="PT59M20S"`, "a") + of(``, "b")), "b1@-40+10 b2@-30+10 b3@-20+10"},
		"one without a start is announced":   {liveMPD(of(`start="PT0S"`, "a") + of(``, "b")), "a358@-30+10 a359@-20+10"},
		"a start before the end cuts it":     {liveMPD(of(`start="PT0S" duration="PT2H"`, "a") + of(`start="PT59M25S"`, "b")), "a357@-40+5 b1@-35+10 b2@-25+10"},
		"one that begins later":              {liveMPD(of(`start="PT0S"`, "a") + of(`start="PT1H1S"`, "b")), "a358@-30+10 a359@-20+10"},
		"one without a length":               {liveMPD(of(`start="PT0S"`, "a") + of(`start="PT59M"`, "x") + of(`start="PT59M"`, "b")), "b4@-30+10 b5@-20+10"},
		"years and months that are 0":        {liveMPD(of(`start="P0Y0M0DT0H59M20.000S"`, "a")), "a2@-30+10 a3@-20+10"},
		"a duration counts from the start":   {liveMPD(of(`start="PT10S" duration="PT25S"`, "a")), "a1@-3590+10 a2@-3580+10 a3@-3570+5"},
		"fractions since 1970":               {strings.ReplaceAll(liveMPD(of(`start="PT1795262370.123457S"`, "a")), "2026-11-21T11", "1970-01-01T00"), "a1@-29.876543+10"},
		"days":                               {strings.ReplaceAll(liveMPD(of(`start="P1DT1M"`, "a")), "2026-11-21T11:00", "2026-11-20T11:58"), "a5@-20+10"},
		"fractions":                          {liveMPD(of(`start="PT3539.123456S"`, "a")), "a4@-30.876544+10 a5@-20.876544+10"},
		"availabilityStartTime with a zone":  {strings.ReplaceAll(liveMPD(of(``, "a")), "11:00:00Z", "20:00:00.5+09:00"), "a357@-39.5+10 a358@-29.5+10"},
		"availabilityStartTime without zone": {strings.ReplaceAll(liveMPD(of(``, "a")), "11:00:00Z", "11:00:00"), "a358@-30+10 a359@-20+10"},
	} {
		t.Run(name, func(t *testing.T) {
			n := len(strings.Fields(c.want))
			expect.Equal(t, "got", last(n, summary(readFirst(t, c.text, noon))), c.want)
		})
	}
}

func TestAnMPDEndsWhenItSaysSo(t *testing.T) {
	numbers := videoPeriod(template(`media="$Number$" duration="10"`))
	times := videoPeriod(template(`media="$Time$"`, timeline(`<S t="0" d="10" r="4"/>`)))
	direct := timing("direct:2014", "2026-11-21T12:00:00Z") // noon
	ending := func(text, attributes string) string { return strings.Replace(text, "<MPD ", "<MPD "+attributes+" ", 1) }
	static := func(text string) string { return strings.ReplaceAll(text, "dynamic", "static") }
	for name, c := range map[string]struct {
		text  string
		ended bool
		want  string
	}{
		"static, once live":                   {static(liveMPD(times)), true, "30@-3570+10 40@-3560+10"},
		"static, by number":                   {ending(static(liveMPD(numbers)), `mediaPresentationDuration="PT25S"`), true, "2@-3590+10 3@-3580+5"},
		"static, never live":                  {ending(`<MPD type="static">`+numbers+`</MPD>`, `mediaPresentationDuration="PT25S"`), true, "2@?+10 3@?+5"},
		"static by default":                   {`<MPD mediaPresentationDuration="PT25S">` + numbers + `</MPD>`, true, "2@?+10 3@?+5"},
		"static, in the future by our clock":  {strings.ReplaceAll(static(liveMPD(times)), "2026-", "2027-"), true, "30@31532430+10 40@31532440+10"},
		"static, repeated to the end":         {ending(static(liveMPD(videoPeriod(template(`media="$Time$"`, timeline(`<S d="10" r="-1"/>`))))), `mediaPresentationDuration="PT35S"`), true, "20@-3580+10 30@-3570+10"},
		"static, repeated to no end":          {static(liveMPD(videoPeriod(template(`media="$Time$"`, timeline(`<S d="10" r="-1"/>`))))), true, "0@-3600+10"},
		"static, one file":                    {ending(static(liveMPD(videoPeriod(`<BaseURL>f.mp4</BaseURL><SegmentBase indexRange="1-2"/>`))), `mediaPresentationDuration="PT35S"`), true, "f.mp4@-3600+35"},
		"static, one file of unknown length":  {static(liveMPD(videoPeriod(`<BaseURL>f.mp4</BaseURL>`))), true, ""},
		"static, nothing in it":               {static(liveMPD(videoPeriod(template(`media="$Time$"`, timeline(``))))), true, ""},
		"dynamic, the whole of it has passed": {ending(liveMPD(direct+numbers), `mediaPresentationDuration="PT1H"`), true, "358@-30+10 359@-20+10"},
		"dynamic, a moment before":            {ending(liveMPD(direct+numbers), `mediaPresentationDuration="PT1H0.1S"`), false, "358@-30+10 359@-20+10"},
		"dynamic, passed by our clock alone":  {ending(liveMPD(numbers), `mediaPresentationDuration="PT50M0.1S"`), false, "299@-620+10 300@-610+10"},
		"dynamic, passed by any wrong clock":  {ending(liveMPD(numbers), `mediaPresentationDuration="PT50M"`), true, "299@-620+10 300@-610+10"},
		"dynamic, long ago":                   {ending(liveMPD(numbers), `mediaPresentationDuration="PT25S"`), true, "2@-3590+10 3@-3580+5"},
		"dynamic, of no length":               {ending(liveMPD(numbers), `mediaPresentationDuration="PT0S"`), false, "358@-30+10 359@-20+10"},
		"dynamic, only its Period has passed": {strings.ReplaceAll(liveMPD(numbers), "<Period", `<Period duration="PT25S"`), false, "2@-3590+10 3@-3580+5"},
		"dynamic, no availabilityStartTime":   {ending(strings.ReplaceAll(liveMPD(times), "availabilityStartTime", "x"), `mediaPresentationDuration="PT25S"`), false, "10@?+10 20@?+10"},
		"static, timeShiftBufferDepth or not": {ending(static(liveMPD(times)), `timeShiftBufferDepth="PT10S"`), true, "30@-3570+10 40@-3560+10"},
	} {
		t.Run(name, func(t *testing.T) {
			all, failure := decode(t, c.text, "", noon)
			if failure != nil || all.Ended {
				t.Fatalf("got %+v, %v", all, failure) // only a list of segments says that it ended
			}
			got := readFirst(t, c.text, noon)
			if n := len(strings.Fields(c.want)); got.Ended != c.ended || last(max(1, n), summary(got)) != c.want {
				t.Errorf("ended: %v, got %s, want %s", got.Ended, summary(got), c.want)
			}
		})
	}
	t.Run("static, by number, of unknown length", func(t *testing.T) { wantMalformed(t, static(liveMPD(numbers)), "a static MPD without a duration") })
}

func TestTimeShiftBufferDepthBoundsTheSegments(t *testing.T) {
	text := func(attributes string) string {
		return strings.Replace(liveMPD(videoPeriod(template(`media="$Time$"`, timeline(`<S t="3500" d="10" r="8"/>`)))), "<MPD ", "<MPD "+attributes+" ", 1)
	}
	for attributes, want := range map[string]string{
		``:                               "3500 3510 3520 3530 3540 3550 3560 3570 3580",
		`timeShiftBufferDepth="PT30S"`:   "3560 3570 3580",
		`timeShiftBufferDepth="PT29.9S"`: "3570 3580",
		`timeShiftBufferDepth="PT1S"`:    "3580",
		`timeShiftBufferDepth="PT0S"`:    "3500 3510 3520 3530 3540 3550 3560 3570 3580",
	} {
		var got []string
		for _, s := range readFirst(t, text(attributes), noon).Segments {
			got = append(got, s.URI[strings.LastIndexByte(s.URI, '/')+1:])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v", attributes, got)
		}
	}
	for attributes, want := range map[string]time.Duration{
		``: 10 * time.Second, `maxSegmentDuration="PT12S"`: 10 * time.Second, `maxSegmentDuration="PT8S"`: 8 * time.Second,
	} {
		expect.Equal(t, attributes, readFirst(t, text(attributes), noon).TargetDuration, want)
	}
}
