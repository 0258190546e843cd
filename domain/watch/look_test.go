package watch_test

import (
	"fmt"
	"slices"
	"testing"
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

func TestSilenceDoesNotHaveThePictureDecoded(t *testing.T) { // S18
	w := scenario(t, silent(120.5, 151)).from(100).until(165).
		expect("100 started since 0, 152 silence since 120.5 for 30, 152 silence_recovered since 120.5 until 151 for 30")
	for _, l := range w.looks[1:] {
		if !l.picture {
			t.Errorf("every frame of segment %d was decoded", l.sequence)
		}
	}
}
