package hls_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestProgramTimesAreExtrapolated(t *testing.T) {
	const stated = "#EXT-X-PROGRAM-DATE-TIME:2026-11-21T12:00:"
	segment := func(name string, before ...string) string {
		return strings.Join(append(before, "#EXTINF:5,", name), "\n")
	}
	cases := map[string]struct {
		lines []string
		want  []int // seconds after noon; -1: unknown
	}{
		"unknown without a program time":                   {[]string{segment("a"), segment("b")}, []int{-1, -1}},
		"extrapolated to later segments":                   {[]string{segment("a", stated+"00Z"), segment("b"), segment("c")}, []int{0, 5, 10}},
		"each stated time is used":                         {[]string{segment("a", stated+"00Z"), segment("b", stated+"06Z"), segment("c")}, []int{0, 6, 11}},
		"extrapolated to earlier segments":                 {[]string{segment("a"), segment("b"), segment("c", stated+"30Z"), segment("d")}, []int{20, 25, 30, 35}},
		"not extrapolated past a discontinuity":            {[]string{segment("a", stated+"00Z"), segment("b", "#EXT-X-DISCONTINUITY")}, []int{0, -1}},
		"not extrapolated back past a discontinuity":       {[]string{segment("a"), segment("b", "#EXT-X-DISCONTINUITY"), segment("c", stated+"30Z")}, []int{-1, 25, 30}},
		"stated before the discontinuity tag":              {[]string{segment("a"), segment("b", stated+"30Z", "#EXT-X-DISCONTINUITY"), segment("c")}, []int{-1, 30, 35}},
		"stated after the discontinuity tag":               {[]string{segment("a"), segment("b", "#EXT-X-DISCONTINUITY", stated+"30Z"), segment("c")}, []int{-1, 30, 35}},
		"extrapolated over a gap":                          {[]string{segment("a", stated+"00Z"), segment("b", "#EXT-X-GAP"), segment("c")}, []int{0, 10}},
		"stated between EXTINF and URI":                    {[]string{segment("a"), "#EXTINF:5,\n" + stated + "30Z\nb"}, []int{25, 30}},
		"a zone with a colon":                              {[]string{segment("a", stated[:35]+"T21:00:10.0+09:00")}, []int{10}},
		"a zone without a colon":                           {[]string{segment("a", stated[:35]+"T21:00:10+0900")}, []int{10}},
		"a zone of hours":                                  {[]string{segment("a", stated[:35]+"T21:00:10,000+09")}, []int{10}},
		"ignored without a zone":                           {[]string{segment("a", stated+"00")}, []int{-1}},
		"ignored before 1970":                              {[]string{segment("a", "#EXT-X-PROGRAM-DATE-TIME:0001-01-01T00:00:00Z")}, []int{-1}},
		"ignored if JSON cannot hold an extrapolated time": {[]string{segment("a", "#EXT-X-PROGRAM-DATE-TIME:9999-12-31T23:59:59Z")}, []int{-1}},
		"an invalid time is extrapolated from the others":  {[]string{segment("a", stated+"00Z"), segment("b", stated+"99Z")}, []int{0, 5}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := mustRead(t, mediaPlaylist(c.lines...))
			var got []int
			for _, s := range p.Segments {
				if s.ProgramTime.IsZero() {
					got = append(got, -1)
				} else {
					got = append(got, int(s.ProgramTime.Sub(noon).Seconds()))
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestImpossibleProgramTimesAreIgnored(t *testing.T) { // decision S1: the time of the download counts then
	for year, known := range map[int]bool{1969: false, 1970: true, 2200: true, 2201: false, 9000: false} {
		p := read(t, mediaPlaylist(fmt.Sprintf("#EXT-X-PROGRAM-DATE-TIME:%d-06-01T00:00:00Z", year), "#EXTINF:5,", "a"))
		if p.Failure != nil || p.Segments[0].ProgramTime.IsZero() == known {
			t.Errorf("year %d: got %+v, want a program time: %v", year, p, known)
		}
	}
}
