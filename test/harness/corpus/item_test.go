package corpus_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

func TestEveryItemIsConsistent(t *testing.T) {
	names := map[string]bool{}
	for _, i := range corpus.Items() {
		t.Run(i.Name, func(t *testing.T) {
			if i.Name == "" || i.Description == "" || names[i.Name] {
				t.Error("an item must have a unique name and a description")
			}
			names[i.Name] = true
			if rest := math.Mod(i.Length, i.Target().Seconds()); rest != 0 {
				t.Errorf("%v s is not a whole number of segments of %v", i.Length, i.Target())
			}
			end := map[corpus.Condition]float64{}
			for _, s := range i.Truth {
				if s.From < end[s.Of] || s.To <= s.From || s.To > i.Length {
					t.Errorf("%+v is out of order or outside the clip", s)
				}
				end[s.Of] = s.To
				if s.Alert != (s.Duration() >= corpus.Threshold) {
					t.Errorf("%+v lasts %v: Alert must be set exactly from %v on", s, s.Duration(), corpus.Threshold)
				}
			}
		})
	}
}

func TestRandomItemsHaveEveryShape(t *testing.T) {
	var all strings.Builder
	for seed := range uint64(300) {
		i := corpus.Random(seed)
		if again := corpus.Random(seed); !reflect.DeepEqual(i, again) {
			t.Fatalf("seed %d makes %+v and %+v", seed, i, again)
		}
		all.WriteString(i.Description + "\n")
	}
	for _, shape := range []string{
		"H.264 and AAC in MPEG-TS", "with B frames", "with open groups of pictures", "H.264 and AAC in MP4", "HEVC and AAC in MPEG-TS", "HEVC and Opus in MP4", "VP9 and Opus in MP4",
		"every 1 frames", "every 25 frames", "every 250 frames", "late", "timestamps from", "timestamps jump", "timestamps wrap",
	} {
		if !strings.Contains(all.String(), shape) {
			t.Errorf("none of 300 has %q", shape)
		}
	}
}
