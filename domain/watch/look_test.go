package watch_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// expectLooks compares the looks of a time, as "sequence" or "sequence closely".
func (w *world) expectLooks(s span, want ...string) {
	w.t.Helper()
	var got []string
	for _, l := range w.looks {
		if !s.has(l.began) {
			continue
		}
		look := fmt.Sprint(l.sequence)
		if !l.picture {
			look += " closely"
		}
		got = append(got, look)
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("looked at %q, want %q", got, want)
	}
}

func TestACalmPictureIsScreened(t *testing.T) { // S18
	scenario(t).from(100).until(135).
		expectLooks(span{0, 200}, "49 closely", "54", "59", "64") // nothing is known before the first check
}

func TestADarkKeyFrameHasEveryFrameDecoded(t *testing.T) { // S18
	scenario(t, segmentsOf(10), black(101, 103), groups(2)).from(100).until(135).expectLooks(span{105, 200}, "10 closely", "11", "12")
	t.Run("as long as the picture is black", func(t *testing.T) {
		scenario(t, segmentsOf(10), black(110.5, 131), groups(2)).from(100).until(165).
			expectLooks(span{115, 200}, "11 closely", "12 closely", "13 closely", "14", "15")
	})
}

func groups(sec float64) option { return func(w *world) { w.groups = sec } }

func TestAScreenIsDoubtedBeforeTheOnset(t *testing.T) { // S18, S1
	follow(t, []timeline{
		// The picture turns black after the only key frame of the newest segment.
		{"picture and sound together", []option{segmentsOf(5), black(117, 200)}, 101, 260,
			"101 started since 0, 150 blackout since 117 for 33, 205 blackout_recovered since 117 until 200 for 83", nil},
		{"apart", []option{segmentsOf(5), black(117, 200), apart}, 101, 260,
			"101 started since 0, 150 blackout since 117 for 33, 205 blackout_recovered since 117 until 200 for 83", nil},
		{"when the segments between were not looked at", []option{black(118.5, 200)}, 100, 250,
			"100 started since 0, 150.5 blackout since 118.5 for 31, 202 blackout_recovered since 118.5 until 200 for 81", nil},
		{"across a restart", []option{black(119.5, 200), restarts(121, 126)}, 100, 250,
			"100 started since 0, 150.5 blackout since 119.5 for 30, 202 blackout_recovered since 119.5 until 200 for 80", nil},
	})
}

func TestAPictureThatCannotBeScreenedIsLookedAtClosely(t *testing.T) { // S18
	for name, set := range map[string][]option{
		"damage":                        {func(w *world) { w.damaged = []span{{0, never}} }},
		"no key frame in the segment":   {groups(50)},
		"a threshold of one interval":   {threshold(detector.Blackout, 10)},
		"key frames that are far apart": {segmentsOf(10), threshold(detector.Blackout, 20)},
	} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, set...).from(100).until(1100)
			for _, l := range w.looks {
				if l.picture {
					t.Errorf("only key frames of segment %d were decoded", l.sequence)
				}
			}
			if len(w.events) != 1 || len(w.looks) > 101 {
				t.Errorf("emitted %v in %d looks", w.events, len(w.looks))
			}
		})
	}
}

func TestSilenceDoesNotHaveThePictureDecoded(t *testing.T) { // S18
	w := scenario(t, silent(120.5, 151)).from(100).until(165).
		expect("100 started since 0, 152 silence since 120.5 for 30, 152 silence_recovered since 120.5 until 151 for 30")
	for _, l := range w.looks[1:] {
		if !l.picture {
			t.Errorf("every frame of segment %d was decoded", l.sequence)
		}
	}
}

func TestARecoveryIsToldWithinASegmentAndASecond(t *testing.T) { // S18
	for _, segment := range []float64{1, 2, 4, 6, 10} {
		for _, delay := range []float64{0, 0.4, 3.7, 8} {
			t.Run(fmt.Sprintf("segments of %v s, published after %v s", segment, delay), func(t *testing.T) {
				for _, end := range []float64{180, 180.3, 187.9, 300} {
					w := scenario(t, segmentsOf(segment), black(110, end), func(w *world) { w.delay = delay }).from(50).until(400)
					if w.emitted(event.BlackoutRecovered) != 1 {
						t.Fatalf("black until %v: emitted %v", end, w.events)
					}
					if told := w.events[2].at; told > end+segment+delay+1+tolerance {
						t.Errorf("black until %v, told at %v", end, told)
					}
					// Once it is known when segments appear, each takes one reading.
					if n := w.begunIn(watch.TaskPlaylist, span{160, 180}); float64(n) > 20/segment+4 && segment > 1 {
						t.Errorf("%d readings in 20 s", n)
					}
				}
			})
		}
	}
}

func TestAnAlertThatLastsIsLookedAtOnceAnIntervalAgain(t *testing.T) { // S18
	noSound := func(w *world) { w.noSound = true }
	// Each of its six hours after the alert has 1,800 segments of 2 s, instead of 360.
	for name, c := range map[string]struct {
		set    []option
		alerts int
	}{
		"no sound":        {[]option{noSound}, 1},
		"they take turns": {[]option{noSound, black(23000, never)}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			end := 23000 * float64(c.alerts)
			w := scenario(t, c.set...).from(100).until(end)
			if alerts := w.emitted(event.Silence) + w.emitted(event.Blackout); alerts != c.alerts {
				t.Errorf("emitted %v", w.events)
			}
			if want, n := int(end-100)/10+8640*c.alerts, w.begunIn(watch.TaskSegment, span{100, end}); n < want-100 || n > want+100 {
				t.Errorf("%d segments, want %d", n, want)
			}
			for _, kind := range []watch.TaskKind{watch.TaskSegment, watch.TaskPlaylist} {
				if n := w.begunIn(kind, span{end - 1000, end}); n > 101 {
					t.Errorf("%s %d times in 1000 s with a check every 10 s", kind, n)
				}
			}
		})
	}
	t.Run("and its recovery is told at the next check, with its instant", func(t *testing.T) {
		w := scenario(t, black(110.5, 23003.5)).from(100).until(23100)
		w.expect("100 started since 0, 142 blackout since 110.5 for 31, 23012 blackout_recovered since 110.5 until 23003.5 for 22893")
	})
	t.Run("also after a restart", func(t *testing.T) {
		w := scenario(t, noSound).from(100).until(23000).resume(3).until(24000)
		if n := w.begunIn(watch.TaskSegment, span{23003, 24003}); n > 101 {
			t.Errorf("%d segments in 1000 s with a check every 10 s", n)
		}
	})
}
