package dash_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/dash"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// TestUpdates reads one MPD again and again, as time goes by.
func TestARenditionIsFoundAgainInAnUpdate(t *testing.T) {
	text := live(one(template(`media="$Number$" duration="6"`)))
	text = strings.Replace(text, "<MPD ", `<MPD timeShiftBufferDepth="PT30S" `, 1)
	part := partOf(t, renditions(t, text, noon)[0])
	seen := map[string]watch.Segment{}
	var newest string
	for after := time.Duration(0); after < time.Minute; after += 500 * time.Millisecond {
		p := readPart(t, text, part, noon.Add(after))
		if len(p.Segments) != 5 {
			t.Fatalf("after %v: got %s", after, brief(p))
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
		if moved := s.ID() != newest; moved != (after%(6*time.Second) == 0) {
			t.Errorf("after %v: moved: %v", after, moved)
		}
		newest = s.ID()
	}
	if len(seen) != 5+9 {
		t.Errorf("saw %d segments", len(seen))
	}
}

// withAd is a broadcast with an advertisement of 30 s, from noon on, whose
// representations are called otherwise and which is announced as a whole.
const withAd = `<MPD type="dynamic" availabilityStartTime="2026-11-21T11:00:00Z" timeShiftBufferDepth="PT20S">
 <Period id="a" start="PT0S">
  <AdaptationSet mimeType="video/mp4" codecs="avc1.1"><SegmentTemplate media="a/$RepresentationID$/$Number$" duration="4"/>
   <Representation id="1" bandwidth="500000"/><Representation id="2" bandwidth="3000000"/></AdaptationSet>
  <AdaptationSet mimeType="audio/mp4" codecs="mp4a.40.2" lang="en"><SegmentTemplate media="a/sound/$Number$" duration="4"/><Representation id="1" bandwidth="64000"/></AdaptationSet>
 </Period>
 <Period id="ad" start="PT1H">
  <AdaptationSet mimeType="video/mp4" codecs="avc1.1"><SegmentTemplate media="ad/$RepresentationID$/$Time$" timescale="10"><SegmentTimeline><S t="0" d="50" r="5"/></SegmentTimeline></SegmentTemplate>
   <Representation id="high" bandwidth="2000000"/><Representation id="low" bandwidth="400000"/></AdaptationSet>
  <AdaptationSet mimeType="audio/mp4" codecs="mp4a.40.2" lang="fr"><Role schemeIdUri="urn:mpeg:dash:role:2011" value="main"/><SegmentTemplate media="ad/fr/$Number$" duration="5"/><Representation id="f" bandwidth="64000"/></AdaptationSet>
  <AdaptationSet mimeType="audio/mp4" codecs="mp4a.40.2" lang="en"><SegmentTemplate media="ad/en/$Number$" duration="5"/><Representation id="e" bandwidth="128000"/></AdaptationSet>
 </Period>
 <Period id="b" start="PT1H30S">
  <AdaptationSet mimeType="audio/mp4" codecs="mp4a.40.2" lang="en"><SegmentTemplate media="b/sound/$Number$" duration="4"/><Representation id="1" bandwidth="64000"/></AdaptationSet>
  <AdaptationSet mimeType="video/mp4" codecs="avc1.1"><SegmentTemplate media="b/$RepresentationID$/$Number$" duration="4" startNumber="908"/>
   <Representation id="2" bandwidth="3000000"/><Representation id="1" bandwidth="500000"/></AdaptationSet>
 </Period>
</MPD>`

func TestSegmentsOfSeveralPeriodsAreJoined(t *testing.T) {
	before := renditions(t, withAd, noon.Add(-time.Second))
	during := renditions(t, withAd, noon.Add(time.Second))
	if len(before) != 3 || len(during) != 4 || partOf(t, during[0]) != "bandwidth=2000000&id=high&kind=video" {
		t.Fatalf("got %+v, then %+v", before, during)
	}
	small, large, sound := partOf(t, before[0]), partOf(t, before[1]), partOf(t, before[2])
	for name, c := range map[string]struct {
		part  string
		after time.Duration
		want  string
	}{
		"before it":                        {small, -time.Second, "a/1/895@-24+4 a/1/896@-20+4 a/1/897@-16+4 a/1/898@-12+4"},
		"when it has just begun":           {small, time.Second, "a/1/896@-20+4 a/1/897@-16+4 a/1/898@-12+4 a/1/899@-8+4"},
		"the last of the old one":          {small, 4 * time.Second, "a/1/897@-16+4 a/1/898@-12+4 a/1/899@-8+4 a/1/900@-4+4"},
		"a segment of it":                  {small, 6 * time.Second, "a/1/898@-12+4 a/1/899@-8+4 a/1/900@-4+4 ad/low/0@0+5"},
		"as large as it gets":              {large, 6 * time.Second, "a/2/898@-12+4 a/2/899@-8+4 a/2/900@-4+4 ad/high/0@0+5"},
		"sound of the same language":       {sound, 26 * time.Second, "ad/en/1@0+5 ad/en/2@5+5 ad/en/3@10+5 ad/en/4@15+5"},
		"all of it":                        {small, 31 * time.Second, "ad/low/100@10+5 ad/low/150@15+5 ad/low/200@20+5 ad/low/250@25+5"},
		"back again":                       {small, 41 * time.Second, "ad/low/150@15+5 ad/low/200@20+5 ad/low/250@25+5 b/1/908@30+4"},
		"sound again":                      {sound, 41 * time.Second, "ad/en/4@15+5 ad/en/5@20+5 ad/en/6@25+5 b/sound/1@30+4"},
		"its name finds the old one, too":  {partOf(t, during[1]), -time.Second, "a/1/895@-24+4 a/1/896@-20+4 a/1/897@-16+4 a/1/898@-12+4"},
		"of the language, not the default": {partOf(t, during[2]), -time.Second, "a/sound/895@-24+4 a/sound/896@-20+4 a/sound/897@-16+4 a/sound/898@-12+4"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := last(4, brief(readPart(t, withAd, c.part, noon.Add(c.after)))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	t.Run("an advertisement that is not like the rest", func(t *testing.T) {
		muxed := set(`mimeType="video/mp4" codecs="avc1.1,mp4a.40.2"`, `<SegmentTemplate media="m/$Number$" duration="5"/>`, rep("m", "1"))
		apart := set(`mimeType="video/mp4" codecs="avc1.1"`, `<SegmentTemplate media="v/$Number$" duration="5"/>`, rep("v", "1"))
		then := func(one, other string) string {
			return live(`<Period start="PT0S">` + one + `</Period><Period start="PT3570S">` + other + `</Period>`)
		}
		if got := last(2, brief(readPart(t, then(apart, muxed), "kind=video&id=v&bandwidth=1", noon))); got != "m/4@-15+5 m/5@-10+5" {
			t.Errorf("got %s", got)
		}
		_, failure := decode(t, then(muxed, apart), "kind=both&id=m&bandwidth=1", noon)
		if failure == nil || failure.Kind != watch.FailureExpired || !strings.Contains(failure.Detail, "nothing like the rendition") {
			t.Errorf("got %v", failure)
		}
		protected := set(`mimeType="video/mp4"`, `<ContentProtection schemeIdUri="x"/>`, rep("v", "1"))
		if got := last(1, brief(readPart(t, then(muxed, protected), "kind=both&id=m&bandwidth=1", noon))); got != "m/714@-35+5" {
			t.Errorf("got %s", got)
		}
		if got := renditions(t, then(muxed, protected), noon); len(got) != 1 || !got[0].HasAudio {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("of two with one id the nearest in bandwidth", func(t *testing.T) {
		text := live(period(set(`mimeType="video/mp4" codecs="avc1.1"`, `<SegmentTemplate media="$Bandwidth$/$Number$" duration="4"/>`, rep("1", "100"), rep("1", "900"))))
		for bandwidth, want := range map[string]string{"0": "100/899@-8+4", "400": "100/899@-8+4", "600": "900/899@-8+4", "4294967295": "900/899@-8+4"} {
			if got := last(1, brief(readPart(t, text, "kind=video&id=1&bandwidth="+bandwidth, noon))); got != want {
				t.Errorf("%s: got %s", bandwidth, got)
			}
		}
	})
	t.Run("an id goes before a bandwidth, which may be measured anew", func(t *testing.T) {
		text := live(period(set(`mimeType="video/mp4" codecs="avc1.1"`, `<SegmentTemplate media="$RepresentationID$/$Number$" duration="4"/>`, rep("1", "900"), rep("2", "100"))))
		if got := last(1, brief(readPart(t, text, "kind=video&id=1&bandwidth=100", noon))); got != "1/899@-8+4" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("pictures alone, where there are such", func(t *testing.T) {
		numbers := `<SegmentTemplate media="$RepresentationID$/$Number$" duration="4"/>`
		text := live(period(set(`mimeType="video/mp4" codecs="avc1.1,mp4a.40.2"`, numbers, rep("v", "100")), set(`mimeType="video/mp4" codecs="avc1.1"`, numbers, rep("w", "900"))))
		if got := last(1, brief(readPart(t, text, "kind=video&id=v&bandwidth=100", noon))); got != "w/899@-8+4" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("without language, not an alternate", func(t *testing.T) {
		text := live(period(set(`mimeType="audio/mp4" lang="en"`, role("commentary"), `<SegmentTemplate media="c/$Number$" duration="4"/>`, rep("1", "100")),
			set(`mimeType="audio/mp4" lang="fr"`, role("main"), `<SegmentTemplate media="m/$Number$" duration="4"/>`, rep("2", "100"))))
		if got := last(1, brief(readPart(t, text, "kind=audio&id=9&bandwidth=100", noon))); got != "m/899@-8+4" {
			t.Errorf("got %s", got)
		}
		if got := last(1, brief(readPart(t, text, "kind=audio&id=9&bandwidth=100&lang=en", noon))); got != "c/899@-8+4" {
			t.Errorf("got %s", got)
		}
	})
}

func TestNoSegmentIsListedTwiceAtAPeriodBoundary(t *testing.T) {
	then := func(old, later string) string {
		return live(`<Period start="PT0S">`+set(`mimeType="video/mp4"`, template(`media="a$Time$" timescale="10"`, timeline(old)), rep("v", "1"))+`</Period>`,
			`<Period start="PT3570S">`+set(`mimeType="video/mp4"`, template(`media="b$Time$" timescale="10" presentationTimeOffset="1000"`, timeline(later)), rep("v", "1"))+`</Period>`)
	}
	t.Run("segments that reach over it from both sides", func(t *testing.T) {
		text := then(`<S t="35580" d="40" r="9"/>`, `<S t="950" d="60" r="2"/>`)
		if got := brief(follow(t, text, noon)); got != "a35580@-42+4 a35620@-38+4 b950@-35+6 b1010@-29+6 b1070@-23+6" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("the newest of both are kept", func(t *testing.T) {
		p := follow(t, then(`<S t="0" d="2" r="9999"/>`, `<S t="1000" d="1" r="199"/>`), noon)
		if n := len(p.Segments); n != dash.KeptSegments || p.Segments[n-201].Duration != 200*time.Millisecond || p.Segments[n-200].Sequence != 1000 {
			t.Errorf("got %d: %s", n, last(300, brief(p)))
		}
	})
}

func TestPeriodsHaveStartsAndEnds(t *testing.T) {
	of := func(attributes, media string) string {
		return `<Period ` + attributes + `><AdaptationSet mimeType="video/mp4" codecs="avc1.1"><SegmentTemplate media="` + media + `$Number$" duration="10"/><Representation id="v" bandwidth="1"/></AdaptationSet></Period>`
	}
	for name, c := range map[string]struct{ text, want string }{
		"the first may leave out its start":  {live(of(``, "a")), "a358@-30+10 a359@-20+10"},
		"a start follows from a duration":    {live(of(`duration="PT59M20S"`, "a") + of(``, "b")), "b1@-40+10 b2@-30+10 b3@-20+10"},
		"one without a start is not yet":     {live(of(`start="PT0S"`, "a") + of(``, "b")), "a358@-30+10 a359@-20+10"},
		"a start before the end cuts it":     {live(of(`start="PT0S" duration="PT2H"`, "a") + of(`start="PT59M25S"`, "b")), "a357@-40+5 b1@-35+10 b2@-25+10"},
		"one that is to come":                {live(of(`start="PT0S"`, "a") + of(`start="PT1H1S"`, "b")), "a358@-30+10 a359@-20+10"},
		"one without a length":               {live(of(`start="PT0S"`, "a") + of(`start="PT59M"`, "x") + of(`start="PT59M"`, "b")), "b4@-30+10 b5@-20+10"},
		"years and months that are 0":        {live(of(`start="P0Y0M0DT0H59M20.000S"`, "a")), "a2@-30+10 a3@-20+10"},
		"a duration counts from the start":   {live(of(`start="PT10S" duration="PT25S"`, "a")), "a1@-3590+10 a2@-3580+10 a3@-3570+5"},
		"fractions since 1970":               {strings.ReplaceAll(live(of(`start="PT1795262370.123457S"`, "a")), "2026-11-21T11", "1970-01-01T00"), "a1@-29.876543+10"},
		"days":                               {strings.ReplaceAll(live(of(`start="P1DT1M"`, "a")), "2026-11-21T11:00", "2026-11-20T11:58"), "a5@-20+10"},
		"fractions":                          {live(of(`start="PT3539.123456S"`, "a")), "a4@-30.876544+10 a5@-20.876544+10"},
		"availabilityStartTime with a zone":  {strings.ReplaceAll(live(of(``, "a")), "11:00:00Z", "20:00:00.5+09:00"), "a357@-39.5+10 a358@-29.5+10"},
		"availabilityStartTime without zone": {strings.ReplaceAll(live(of(``, "a")), "11:00:00Z", "11:00:00"), "a358@-30+10 a359@-20+10"},
	} {
		t.Run(name, func(t *testing.T) {
			n := len(strings.Fields(c.want))
			if got := last(n, brief(follow(t, c.text, noon))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	for name, c := range map[string]struct{ text, says string }{
		"no Period":                  {live(), "without a Period"},
		"Periods out of order":       {live(of(`start="PT1M"`, "a") + of(`start="PT59S"`, "b")), "not in order"},
		"one that is to come":        {live(of(`start="PT2H"`, "a")), "nothing of it is there before 2026-11-21T13:00:00Z"},
		"a start that is no time":    {live(of(`start="1"`, "a")), "Period@start is not a duration"},
		"a start before the start":   {live(of(`start="-PT1S"`, "a")), "Period@start is not a duration"},
		"a start in some month":      {live(of(`start="P1M"`, "a")), "Period@start is not a duration"},
		"nothing but a P":            {live(of(`start="P"`, "a")), "Period@start is not a duration"},
		"nothing but a T":            {live(of(`start="PT"`, "a")), "Period@start is not a duration"},
		"another type":               {strings.ReplaceAll(live(of(``, "a")), "dynamic", "Dynamic"), "neither static nor dynamic"},
		"a Period nobody knows when": {`<MPD type="static">` + of(``, "a") + of(``, "b") + `</MPD>`, "not said when it begins"},
	} {
		t.Run("refused: "+name, func(t *testing.T) { wantMalformed(t, c.text, c.says) })
	}
}

func TestAnMPDEndsWhenItSaysSo(t *testing.T) {
	numbers := one(template(`media="$Number$" duration="10"`))
	times := one(template(`media="$Time$"`, timeline(`<S t="0" d="10" r="4"/>`)))
	ending := func(text, attributes string) string { return strings.Replace(text, "<MPD ", "<MPD "+attributes+" ", 1) }
	static := func(text string) string { return strings.ReplaceAll(text, "dynamic", "static") }
	for name, c := range map[string]struct {
		text  string
		ended bool
		want  string
	}{
		"static, once live":                   {static(live(times)), true, "30@-3570+10 40@-3560+10"},
		"static, by number":                   {ending(static(live(numbers)), `mediaPresentationDuration="PT25S"`), true, "2@-3590+10 3@-3580+5"},
		"static, never live":                  {ending(`<MPD type="static">`+numbers+`</MPD>`, `mediaPresentationDuration="PT25S"`), true, "2@?+10 3@?+5"},
		"static by default":                   {`<MPD mediaPresentationDuration="PT25S">` + numbers + `</MPD>`, true, "2@?+10 3@?+5"},
		"static, in the future by our clock":  {strings.ReplaceAll(static(live(times)), "2026-", "2027-"), true, "30@31532430+10 40@31532440+10"},
		"static, repeated to the end":         {ending(static(live(one(template(`media="$Time$"`, timeline(`<S d="10" r="-1"/>`))))), `mediaPresentationDuration="PT35S"`), true, "20@-3580+10 30@-3570+10"},
		"static, repeated to no end":          {static(live(one(template(`media="$Time$"`, timeline(`<S d="10" r="-1"/>`))))), true, "0@-3600+10"},
		"static, one file":                    {ending(static(live(one(`<BaseURL>f.mp4</BaseURL><SegmentBase indexRange="1-2"/>`))), `mediaPresentationDuration="PT35S"`), true, "f.mp4@-3600+35"},
		"static, one file of unknown length":  {static(live(one(`<BaseURL>f.mp4</BaseURL>`))), true, ""},
		"static, nothing in it":               {static(live(one(template(`media="$Time$"`, timeline(``))))), true, ""},
		"dynamic, the whole of it has passed": {ending(live(numbers), `mediaPresentationDuration="PT1H"`), true, "358@-30+10 359@-20+10"},
		"dynamic, a moment before":            {ending(live(numbers), `mediaPresentationDuration="PT1H0.1S"`), false, "358@-30+10 359@-20+10"},
		"dynamic, long ago":                   {ending(live(numbers), `mediaPresentationDuration="PT25S"`), true, "2@-3590+10 3@-3580+5"},
		"dynamic, of no length":               {ending(live(numbers), `mediaPresentationDuration="PT0S"`), false, "358@-30+10 359@-20+10"},
		"dynamic, only its Period has passed": {strings.ReplaceAll(live(numbers), "<Period", `<Period duration="PT25S"`), false, "2@-3590+10 3@-3580+5"},
		"dynamic, without a clock to go by":   {ending(strings.ReplaceAll(live(times), "availabilityStartTime", "x"), `mediaPresentationDuration="PT25S"`), false, "10@?+10 20@?+10"},
		"static, timeShiftBufferDepth or not": {ending(static(live(times)), `timeShiftBufferDepth="PT10S"`), true, "30@-3570+10 40@-3560+10"},
	} {
		t.Run(name, func(t *testing.T) {
			all, failure := decode(t, c.text, "", noon)
			if failure != nil || all.Ended {
				t.Fatalf("got %+v, %v", all, failure) // an end is told by what is watched
			}
			got := follow(t, c.text, noon)
			if n := len(strings.Fields(c.want)); got.Ended != c.ended || last(max(1, n), brief(got)) != c.want {
				t.Errorf("ended: %v, got %s, want %s", got.Ended, brief(got), c.want)
			}
		})
	}
	t.Run("static, by number, of unknown length", func(t *testing.T) { wantMalformed(t, static(live(numbers)), "does not say how long it is") })
}

func TestTheWindowIsBounded(t *testing.T) {
	text := func(attributes string) string {
		return strings.Replace(live(one(template(`media="$Time$"`, timeline(`<S t="3500" d="10" r="8"/>`)))), "<MPD ", "<MPD "+attributes+" ", 1)
	}
	for attributes, want := range map[string]string{
		``:                               "3500 3510 3520 3530 3540 3550 3560 3570 3580",
		`timeShiftBufferDepth="PT30S"`:   "3560 3570 3580",
		`timeShiftBufferDepth="PT29.9S"`: "3570 3580",
		`timeShiftBufferDepth="PT1S"`:    "3580",
		`timeShiftBufferDepth="PT0S"`:    "3500 3510 3520 3530 3540 3550 3560 3570 3580",
	} {
		var got []string
		for _, s := range follow(t, text(attributes), noon).Segments {
			got = append(got, s.URI[strings.LastIndexByte(s.URI, '/')+1:])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v", attributes, got)
		}
	}
	for attributes, want := range map[string]time.Duration{
		``: 10 * time.Second, `maxSegmentDuration="PT12S"`: 10 * time.Second, `maxSegmentDuration="PT8S"`: 8 * time.Second,
	} {
		if got := follow(t, text(attributes), noon).TargetDuration; got != want {
			t.Errorf("%s: got %v", attributes, got)
		}
	}
}
