package watch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// renamed lists how servers may change the URIs of segments from one reading to the next.
var renamed = map[string]func(w *world){
	"a token in the query": func(w *world) {
		w.rename = func(uri string) string { return fmt.Sprintf("%s?token=%d", uri, w.readingCount) }
	},
	"a token in the path": func(w *world) {
		w.rename = func(uri string) string {
			return strings.Replace(uri, "media.test/", fmt.Sprintf("media.test/%d-signed/", w.readingCount), 1)
		}
	},
	"another host": func(w *world) {
		w.rename = func(uri string) string {
			return strings.Replace(uri, "media.test", fmt.Sprintf("edge%d.test", w.readingCount%3), 1)
		}
	},
	"one name for all": func(w *world) {
		w.rename = func(uri string) string { return uri[:strings.LastIndex(uri, "/")] + "/live.ts" }
	},
}

func TestASegmentIsFetchedUnderItsNewestURI(t *testing.T) { // S1, S5, S18
	// The last key frame before it is that of a segment screened at second 110.
	w := scenario(t, renamed["a token in the query"], groups(1), black(109.3, 150), func(w *world) {
		w.refusesURI = func(uri string) bool { return !strings.HasSuffix(uri, fmt.Sprintf("token=%d", w.readingCount)) }
	}).from(50).until(300)
	w.expect("50 started since 0, 140.3 blackout since 109.3 for 30, 152 blackout_recovered since 109.3 until 150 for 40")
	if len(w.log) > 0 {
		t.Errorf("logged %v", w.log)
	}
}

func TestASuccessorTellsSegmentsByTimeAndNumber(t *testing.T) { // S5, S11
	for name, rename := range renamed {
		for _, noProgramTime := range []bool{false, true} {
			w := scenario(t, rename, stalls(100, 400), restarts(120, 122, 150, 151), func(w *world) { w.noProgramTime = noProgramTime }).from(50).restarting(380)
			if len(w.events) != 2 || w.events[1].Type != event.SegmentError || w.events[1].at > 174 {
				t.Errorf("%s, without program time %v: emitted %v", name, noProgramTime, w.events)
			}
		}
	}
}

func TestAnEndInAnOlderCopyEndsNothing(t *testing.T) { // S5, 7.6
	scenario(t, func(w *world) {
		w.copyDelays = []int{0, 0, 10}
		w.changePlaylist = func(p *watch.Playlist) { p.Ended = w.readingCount%3 == 0 }
	}).from(50).until(400).expect("50 started since 0")
}

// reading is a playlist of three segments of 2 s.
type reading struct {
	time          float64 // program time of the newest segment; negative: none is stated
	number        uint64  // of the newest segment
	discontinuity uint64
	sameURIs      bool // as those of every other such reading
}

func (r reading) playlist(began float64) watch.Playlist {
	p := watch.Playlist{Began: at(began), URL: "m", TargetDuration: 2 * time.Second}
	for i := range 3 {
		s := watch.Segment{URI: fmt.Sprintf("%d-%d-%d.ts", r.discontinuity, int(r.number)-2+i, int(began)), Duration: 2 * time.Second, Sequence: r.number - 2 + uint64(i), Discontinuity: r.discontinuity}
		if r.sameURIs {
			s.URI = fmt.Sprint(i)
		}
		if r.time >= 0 {
			s.ProgramTime = at(r.time - 4 + 2*float64(i))
		}
		p.Segments = append(p.Segments, s)
	}
	return p
}

func TestWhatLiesBehindIsAnOlderCopyOrARestartedEncoder(t *testing.T) { // S5
	first := reading{time: 1000, number: 500}
	untimed := reading{time: -1, number: 500}
	reused := func(time float64) reading { return reading{time, 2, 0, true} } // the last of the numbers 0 to 2
	for name, c := range map[string]struct {
		first    reading
		readings []reading // every 10 s after the first
		analysed int       // which of them is the first to be analysed; 0: none
	}{
		"the same segment":                                               {first, []reading{first, first, first, first}, 0},
		"a later one":                                                    {first, []reading{{1002, 501, 0, false}}, 1},
		"a later time with the same number":                              {first, []reading{{1002, 500, 0, false}}, 1},
		"the same time with a later number":                              {first, []reading{{1000, 501, 0, false}}, 1},
		"the same time under the same URIs":                              {reused(1000), []reading{reused(1000), reused(1000.5)}, 0},
		"a later time under the same URIs, a restarted encoder":          {reused(1000), []reading{reused(1040)}, 1},
		"no time any more under the same URIs":                           {reused(1000), []reading{reused(-1), reused(-1)}, 0},
		"a copy by another packager, numbered lower":                     {first, []reading{{1000, 37, 0, false}, {1000.4, 37, 0, false}, {999.6, 37, 0, false}}, 0},
		"an earlier time with a later number, a reset":                   {first, []reading{{950, 505, 0, false}}, 1},
		"a later time with an earlier number":                            {first, []reading{{1030, 5, 0, false}}, 1},
		"20 s behind":                                                    {first, []reading{{980, 490, 0, false}, {990, 495, 0, false}}, 0},
		"20 s behind for the third time":                                 {first, []reading{{980, 490, 0, false}, {980, 490, 0, false}, {980, 490, 0, false}}, 3},
		"20 s behind, but not in a row":                                  {first, []reading{{980, 490, 0, false}, {980, 490, 0, false}, first, {980, 490, 0, false}, {980, 490, 0, false}}, 0},
		"60 s behind":                                                    {first, []reading{{940, 470, 0, false}}, 0},
		"more than 60 s behind":                                          {first, []reading{{939, 469, 0, false}}, 1},
		"without program time, the same number":                          {untimed, []reading{untimed, untimed, untimed}, 0},
		"without program time, a later number":                           {untimed, []reading{{-1, 501, 0, false}}, 1},
		"without program time, 60 s behind":                              {untimed, []reading{{-1, 470, 0, false}}, 0},
		"without program time, more than 60 s behind":                    {untimed, []reading{{-1, 469, 0, false}}, 1},
		"without program time, for the third time":                       {untimed, []reading{{-1, 490, 0, false}, {-1, 495, 0, false}, {-1, 499, 0, false}}, 3},
		"without program time, the same number after a discontinuity":    {untimed, []reading{{-1, 500, 1, false}}, 1},
		"without program time, an earlier number after a discontinuity":  {untimed, []reading{{-1, 490, 1, false}}, 1},
		"without program time, an earlier number before a discontinuity": {reading{-1, 500, 1, false}, []reading{{-1, 490, 0, false}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := watch.New(rules(), at(0))
			w.Step(at(0), watch.Resolution{Began: at(0), State: watch.Live, Manifest: "m"})
			analysed := 0
			read := func(i int, r reading) {
				now := 1001 + 10*float64(i)
				w.Step(at(now), r.playlist(now))
				for _, task := range w.Next() {
					if task.Kind == watch.TaskSegment {
						w.Step(at(now), watch.Analysis{Began: at(now), Segment: task.Segment.ID(), Video: decoded, Audio: decoded})
						if i > 0 && analysed == 0 {
							analysed = i
						}
					}
				}
			}
			read(0, c.first)
			for i, r := range c.readings {
				read(i+1, r)
			}
			if analysed != c.analysed {
				t.Errorf("the first reading analysed is the %d., want the %d.", analysed, c.analysed)
			}
		})
	}
}

func TestWithoutTimeAndNumberTheURITells(t *testing.T) { // S5
	follow(t, []timeline{{"", []option{noProgramTime, stalls(100, 400), func(w *world) {
		w.changePlaylist = func(p *watch.Playlist) {
			for i := range p.Segments {
				p.Segments[i].Unnumbered = true
			}
		}
	}}, 50, 398, "50 started since 0, 160 segment_error since 100 for 60 by stalled", nil}})
}

func TestARequestOfASegmentAnswersForTheSameListingOnly(t *testing.T) { // S5
	one := watch.Segment{URI: "live.ts", Sequence: 7, ProgramTime: at(14), Duration: 2 * time.Second}
	for name, c := range map[string]struct {
		change            func(s *watch.Segment)
		same, sameListing bool
	}{
		"itself":              {func(*watch.Segment) {}, true, true},
		"another token":       {func(s *watch.Segment) { s.URI += "?token=2" }, true, false},
		"a later number":      {func(s *watch.Segment) { s.Sequence = 8 }, false, false},
		"a later time":        {func(s *watch.Segment) { s.ProgramTime = at(16) }, false, false},
		"an estimated time":   {func(s *watch.Segment) { s.ProgramTime, s.TimeEstimated = at(20), true }, true, true},
		"a discontinuity":     {func(s *watch.Segment) { s.Discontinuity = 1 }, false, false},
		"another byte range":  {func(s *watch.Segment) { s.Range = &watch.ByteRange{Length: 10} }, true, false},
		"nothing stated":      {func(s *watch.Segment) { s.Unnumbered, s.ProgramTime = true, time.Time{} }, true, true},
		"nothing but its URI": {func(s *watch.Segment) { s.Unnumbered, s.ProgramTime, s.URI = true, time.Time{}, "b" }, false, false},
	} {
		other := one
		c.change(&other)
		if one.Same(other) != c.same || one.SameListing(other) != c.sameListing {
			t.Errorf("%s: same %v, one listing %v", name, one.Same(other), one.SameListing(other))
		}
	}
	first := watch.Segment{URI: "0.ts?token=1"} // the number 0 is a number
	if !first.Same(watch.Segment{URI: "0.ts?token=2"}) {
		t.Error("another token makes an encoder's first segment another one")
	}
}
