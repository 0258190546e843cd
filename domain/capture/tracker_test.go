package capture_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/capture"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

var zero = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }

// segments returns the segments of two seconds from one time to another.
func segments(from, to int) (all []watch.Segment) {
	for s := from; s < to; s += 2 {
		all = append(all, watch.Segment{URI: fmt.Sprintf("https://media.example/%d.ts", s), Sequence: uint64(s / 2), Duration: 2 * time.Second, ProgramTime: at(float64(s))})
	}
	return all
}

// playlist is what the watcher knows when the newest media end at a time: ten seconds.
func playlist(end int) []watch.Media {
	return []watch.Media{{URL: "https://media.example/144.m3u8", Video: true, Audio: true, Height: 144, Segments: segments(end-10, end)}}
}

func black(onset, until float64, alerted bool) []watch.OpenCondition {
	return []watch.OpenCondition{{Detector: detector.Table[detector.Index(detector.Blackout)], Onset: at(onset), BadUntil: at(until), Alerted: alerted}}
}

func alert(onset float64) []event.Event {
	return []event.Event{{ID: "alert", Type: "alert.blackout", Data: event.Alert{StartedAt: at(onset)}}}
}

func recovery(onset, recovered float64) []event.Event {
	return []event.Event{{ID: "recovery", Type: "alert.blackout_recovered", Data: event.Recovered{StartedAt: at(onset), RecoveredAt: at(recovered)}}}
}

// step is one step of a timeline.
type step struct {
	now    float64
	open   []watch.OpenCondition
	events []event.Event
	over   trouble.Name // whose end is signalled
	media  int          // where the media end; 0: at now
}

func outage(onset float64) []event.Event {
	return []event.Event{{ID: "outage", Type: event.SegmentError, Data: event.Outage{StartedAt: at(onset)}}}
}

func blind(now float64) []event.Event {
	return []event.Event{{ID: "blind", Type: event.MonitorError, At: at(now), Data: event.MonitorFailure{Reason: event.ReasonBlind}}}
}

func (s step) input() capture.Input {
	if s.media == 0 {
		s.media = int(s.now)
	}
	in := capture.Input{Media: playlist(s.media), Open: s.open, Events: s.events}
	if s.over != "" {
		in.Signals = []monitor.Signal{{Condition: s.over, StartedAt: at(s.now - 60), EndedAt: at(s.now)}}
	}
	return in
}

// describe writes a job as "step condition phase event pictures from-to".
func describe(j capture.Job) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s %s", j.Step, j.Condition, j.Phase, j.EventID)
	if j.Fetch {
		b.WriteString(" fetch")
	}
	for _, p := range j.Pictures {
		fmt.Fprintf(&b, " %s@%g", p.Variant, p.At.Sub(zero).Seconds())
	}
	for _, t := range j.Tracks {
		if n := len(t.Segments); n > 0 {
			fmt.Fprintf(&b, " %g-%g", t.Segments[0].ProgramTime.Sub(zero).Seconds(), t.Segments[n-1].End().Sub(zero).Seconds())
		}
	}
	return strings.TrimSpace(b.String())
}

func TestTheStepsOfACaptureFollowTheCondition(t *testing.T) {
	for name, c := range map[string]struct {
		timeline []step
		want     []string
	}{
		"an alert with a threshold of 30 s, and its recovery": {
			[]step{
				{now: 90}, {now: 100}, {now: 104, open: black(100, 104, false)}, {now: 110, open: black(100, 110, false)},
				{now: 114, open: black(100, 114, false)}, {now: 124, open: black(100, 124, false)},
				{now: 130, open: black(100, 130, true), events: alert(100)},
				{now: 140, open: black(100, 140, true)}, {now: 150, events: recovery(100, 148)}, {now: 160},
			},
			[]string{
				"collect black alert  before@99 onset@100.3 80-104",
				"collect black alert  before@99 onset@100.3 80-114",
				"collect black alert  before@99 onset@100.3 80-124",
				"report black alert alert fetch before@99 onset@100.3 80-130",
				"complete black alert alert fetch before@99 onset@100.3 80-130",
				"complete black recovery recovery fetch recovery@148.5 118-150",
			},
		},
		"the media after an early alert are awaited": {
			[]step{
				{now: 100}, {now: 104, open: black(100, 104, true), events: alert(100)},
				{now: 110, open: black(100, 110, true)}, {now: 120, open: black(100, 120, true)}, {now: 130, open: black(100, 130, true)},
			},
			[]string{
				"report black alert alert fetch before@99 onset@100.3 90-104",
				"collect black alert alert fetch before@99 onset@100.3 90-120",
				"complete black alert alert fetch before@99 onset@100.3 90-130",
			},
		},
		"an early recovery completes the alert": {
			[]step{{now: 100}, {now: 104, open: black(100, 104, true), events: alert(100)}, {now: 110, events: recovery(100, 108)}},
			[]string{
				"report black alert alert fetch before@99 onset@100.3 90-104",
				"complete black alert alert fetch before@99 onset@100.3 90-110",
				"complete black recovery recovery fetch recovery@108.5 90-110",
			},
		},
		"a recovery in the last moments of the media waits for newer ones": {
			[]step{
				{now: 104, open: black(100, 104, true), events: alert(100)}, {now: 110, events: recovery(100, 109.8)},
				{now: 111, media: 110}, {now: 112}, {now: 114},
			},
			[]string{
				"report black alert alert fetch before@99 onset@100.3 94-104",
				"complete black alert alert fetch before@99 onset@100.3 94-110",
				"complete black recovery recovery fetch recovery@110.3 94-112",
			},
		},
		"a short blackout costs nothing": {
			[]step{{now: 100}, {now: 102, open: black(100, 102, false)}, {now: 104}},
			nil,
		},
		"what was collected for no alert is discarded": {
			[]step{{now: 100}, {now: 104, open: black(100, 104, false)}, {now: 106}},
			[]string{"collect black alert  before@99 onset@100.3 90-104", "discard black alert"},
		},
		"the end of the stream completes the alert": {
			[]step{
				{now: 104, open: black(100, 104, true), events: alert(100)},
				{now: 106, open: black(100, 106, true), events: []event.Event{{ID: "end", Type: event.StreamEnded, Data: event.Ended{}}}},
			},
			[]string{"report black alert alert fetch before@99 onset@100.3 94-104", "complete black alert alert fetch before@99 onset@100.3 94-106"},
		},
		"an alert of an earlier worker is not captured, its recovery is": {
			[]step{{now: 110, open: black(60, 110, true)}, {now: 120, events: recovery(60, 114)}},
			[]string{"complete black recovery recovery fetch recovery@114.5 100-120"},
		},
		"the recovery from an outage has a picture": {
			[]step{{now: 100}, {now: 160, media: 100, events: outage(102)}, {now: 170, over: trouble.NoMedia}, {now: 172}},
			[]string{"complete no_media alert outage fetch before@99 90-100", "complete no_media recovery outage fetch recovery@168.5 160-170"},
		},
		"an outage that is alerted when the media are back": {
			[]step{{now: 100}, {now: 170, events: outage(102), over: trouble.NoMedia}},
			[]string{"complete no_media alert outage fetch before@101 90-100", "complete no_media recovery outage fetch recovery@168.5 160-170"},
		},
		"an outage that the stream's end ends has no recovery": {
			[]step{
				{now: 100}, {now: 160, media: 100, events: outage(102)},
				{now: 170, over: trouble.NoMedia, events: []event.Event{{ID: "end", Type: event.StreamEnded, Data: event.Ended{}}}},
			},
			[]string{"complete no_media alert outage fetch before@99 90-100"},
		},
		"blindness ends before the media are back": {
			[]step{{now: 100}, {now: 400, media: 100, events: blind(400)}, {now: 410, media: 100, over: trouble.Blind}, {now: 420}},
			[]string{"complete blind alert blind fetch before@99 90-100", "complete blind recovery blind fetch recovery@418.5 410-420"},
		},
		"another worker's outage has no evidence": {
			[]step{{now: 100}, {now: 110, over: trouble.NoMedia}},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var tracker capture.Tracker
			var got []string
			for _, s := range c.timeline {
				for _, j := range tracker.Step(at(s.now), s.input()) {
					got = append(got, describe(j))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
		})
	}
}

func TestACaptureEndsAlthoughTheMediaDoNotGoOn(t *testing.T) {
	var tracker capture.Tracker
	events := alert(100)
	tracker.Step(at(106), capture.Input{Media: playlist(104), Open: black(100, 104, true), Events: events})
	for _, now := range []float64{110, 190, 196} {
		jobs := tracker.Step(at(now), capture.Input{Media: playlist(104), Open: black(100, 104, true)})
		if complete := len(jobs) == 1 && jobs[0].Step == capture.Complete; complete != (now == 196) {
			t.Errorf("at %v: %v", now, jobs)
		}
	}
}

func TestTheCaptureOfARecoveryWaitsForNewerMediaForALimitedTime(t *testing.T) {
	const want = "complete black recovery recovery fetch recovery@110.3 100-110"
	recovered := func() (tracker capture.Tracker) {
		if jobs := tracker.Step(at(111), step{now: 111, media: 110, events: recovery(60, 109.8)}.input()); len(jobs) > 0 {
			t.Errorf("at the recovery: %v", jobs)
		}
		return tracker
	}
	t.Run("when the media stop", func(t *testing.T) {
		tracker := recovered()
		for _, now := range []float64{150, 200, 202, 210} {
			jobs := tracker.Step(at(now), step{now: now, media: 110}.input())
			if captured := len(jobs) == 1 && describe(jobs[0]) == want; captured != (now == 202) {
				t.Errorf("at %v: %v", now, jobs)
			}
		}
	})
	t.Run("when the worker ends", func(t *testing.T) {
		tracker := recovered()
		if jobs := tracker.Finish(); len(jobs) != 1 || describe(jobs[0]) != want {
			t.Errorf("%v, want %s", jobs, want)
		}
	})
}

func TestPicturesComeFromUpTo720Lines(t *testing.T) {
	r := func(height, bandwidth int) watch.Rendition {
		return watch.Rendition{URL: fmt.Sprintf("%d/%d", height, bandwidth), Height: height, Bandwidth: bandwidth, HasVideo: true}
	}
	for name, c := range map[string]struct {
		listed []watch.Rendition
		want   string
	}{
		"nothing is listed":                {nil, ""},
		"the largest of up to 720":         {[]watch.Rendition{r(144, 1), r(360, 2), r(720, 4), r(720, 3), r(1080, 5)}, "720/3"},
		"none is larger than the watched":  {[]watch.Rendition{r(144, 1), r(144, 9)}, ""},
		"all others are larger than 720":   {[]watch.Rendition{r(144, 1), r(1080, 5)}, ""},
		"sound alone has no picture":       {[]watch.Rendition{{URL: "sound", Height: 360}}, ""},
		"a size that is unknown is no use": {[]watch.Rendition{{URL: "unknown", HasVideo: true}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var tracker capture.Tracker
			tracker.Step(at(100), capture.Input{Observation: watch.Playlist{Renditions: c.listed}, Media: playlist(100)})
			jobs := tracker.Step(at(104), capture.Input{Media: playlist(104), Open: black(100, 104, false)})
			if len(jobs) != 1 || jobs[0].Extra.URL != c.want {
				t.Errorf("%v, want %q", jobs, c.want)
			}
		})
	}
}

// rendition is the condition of a rendition of 360 lines from second 40 on, found at second 100.
func rendition(now float64, state detector.RenditionState, alerted bool, events ...event.Event) step {
	d, _ := detector.Of("rendition_bad")
	return step{now: now, events: events, open: []watch.OpenCondition{{
		Detector: d, Onset: at(40), BadUntil: at(now), Alerted: alerted, Values: map[string]float64{"height": 360, "kbps": 800, string(state): 1},
	}}}
}

func TestTheCaptureOfARenditionShowsThatOne(t *testing.T) { // section 16.2
	recovered := event.Event{ID: "recovery", Type: "alert.rendition_recovered", Data: event.Recovered{StartedAt: at(40), RecoveredAt: at(130)}}
	alerted := event.Event{ID: "alert", Type: "alert.rendition", Data: event.Alert{StartedAt: at(40), ThresholdSec: 60}}
	shown := func(start int) []watch.OtherRendition {
		s := segments(start, start+2)[0]
		s.URI = fmt.Sprintf("360/%d", start)
		return []watch.OtherRendition{{Height: 720, Bandwidth: 2_000_000, Segment: &watch.Segment{URI: "720"}}, {Height: 360, Bandwidth: 800_000, Segment: &s, Shows: time.Second}}
	}
	undated := []watch.OtherRendition{{Height: 360, Bandwidth: 800_000, Segment: &watch.Segment{URI: "360/undated"}}}
	const note = ` "the bad quality (stalled) has no picture: those of the watched one are shown"`
	for name, c := range map[string]struct {
		state          detector.RenditionState
		others, better []watch.OtherRendition
		want           []string
	}{
		"it is black": {detector.RenditionBlack, shown(96), shown(128), []string{
			"collect before@97 onset@97:360p of 360/96", "report before@97 onset@97:360p of 360/96", "complete before@97 onset@97:360p of 360/96",
			"complete recovery@129:360p of 360/128",
		}},
		"it was not looked at since a restart": {detector.RenditionBlack, shown(96)[:1], nil, []string{
			"collect before@97 onset@98.3", "report before@97 onset@98.3", "complete before@97 onset@98.3", "complete recovery@130.5",
		}},
		"the playlist states no time": {detector.RenditionBlack, undated, nil, []string{
			"collect before@97 onset@98:360p of 360/undated", "report before@97 onset@98:360p of 360/undated", "complete before@97 onset@98:360p of 360/undated",
			"complete recovery@130.5",
		}},
		"it stands still": {detector.RenditionStalled, shown(96), shown(128), []string{
			"collect before@97 onset@98.3", "report before@97 onset@98.3", "complete before@97 onset@98.3" + note, "complete recovery@129:360p of 360/128",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var tracker capture.Tracker
			var got []string
			listed := watch.Playlist{Renditions: []watch.Rendition{{URL: "360", Height: 360, HasVideo: true}}} // larger than the watched one
			for _, s := range []step{{now: 90}, rendition(100, c.state, false), rendition(110, c.state, true, alerted), rendition(128, c.state, true), {now: 132, events: []event.Event{recovered}}} {
				in := s.input()
				in.Observation, in.Others = listed, c.others
				if s.now == 132 {
					in.Others = c.better
				}
				for _, j := range tracker.Step(at(s.now), in) {
					line := string(j.Step)
					for _, p := range j.Pictures {
						line += fmt.Sprintf(" %s@%g", p.Variant, p.At.Sub(zero).Seconds())
						if p.Segment != nil {
							line += fmt.Sprintf(":%dp of %s", p.Height, p.Segment.URI)
						}
					}
					if line += j.Extra.URL; j.Note != "" {
						line += fmt.Sprintf(" %q", j.Note)
					}
					got = append(got, line)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
		})
	}
}

func TestTheCounterpartOfASegmentHasTheSamePictures(t *testing.T) {
	listed := segments(90, 110)
	unnamed := slices.Clone(listed)
	for i := range unnamed {
		unnamed[i].ProgramTime = time.Time{}
	}
	watched := segments(100, 102)[0]
	for name, p := range map[string][]watch.Segment{"by program time": listed, "by sequence number": unnamed} {
		s, offset, ok := capture.Counterpart(watch.Playlist{Segments: p}, watched, at(101.5))
		if !ok || s.Sequence != 50 || offset != 1500*time.Millisecond || !s.ProgramTime.Equal(at(100)) {
			t.Errorf("%s: %+v %v %v", name, s, offset, ok)
		}
	}
	if _, _, ok := capture.Counterpart(watch.Playlist{Segments: segments(0, 20)}, watched, at(101.5)); ok {
		t.Error("a playlist of another time has a counterpart")
	}
}

func TestARenewedURLReplacesTheSegmentsOfItsTime(t *testing.T) {
	var tracker capture.Tracker
	tracker.Step(at(100), capture.Input{Media: playlist(100)})
	renewed := playlist(104)
	for i := range renewed[0].Segments {
		renewed[0].Segments[i].URI += "?renewed"
	}
	jobs := tracker.Step(at(104), capture.Input{Media: renewed, Open: black(100, 104, false)})
	var got []string
	for _, s := range jobs[0].Tracks[0].Segments {
		got = append(got, strings.TrimPrefix(s.URI, "https://media.example/"))
	}
	want := []string{"90.ts", "92.ts", "94.ts?renewed", "96.ts?renewed", "98.ts?renewed", "100.ts?renewed", "102.ts?renewed"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAPauseEndsEveryCapture(t *testing.T) { // section 16.9
	var tracker capture.Tracker
	steps := []step{{now: 104, open: black(100, 104, false)}, {now: 106, open: black(100, 106, true), events: alert(100)}}
	for _, s := range steps {
		tracker.Step(at(s.now), s.input())
	}
	jobs := tracker.Pause()
	if len(jobs) != 1 || jobs[0].Step != capture.Complete || jobs[0].EventID != "alert" || jobs[0].Fetch {
		t.Errorf("of an alert follow %+v", jobs)
	}
	after := step{now: 304, open: black(300, 304, false)}
	if jobs := tracker.Step(at(after.now), after.input()); len(jobs) != 1 || jobs[0].Step != capture.Collect || !jobs[0].Instant.Equal(at(300)) {
		t.Errorf("after the pause follow %+v", jobs)
	}
	tracker = capture.Tracker{}
	tracker.Step(at(104), step{now: 104, open: black(100, 104, false)}.input())
	if jobs := tracker.Pause(); len(jobs) != 1 || jobs[0].Step != capture.Discard || jobs[0].Key == "" {
		t.Errorf("of what was not alerted follow %+v", jobs)
	}
	if jobs := tracker.Pause(); len(jobs) > 0 {
		t.Errorf("of a second pause follow %+v", jobs)
	}
}
