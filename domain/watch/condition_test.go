package watch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// A segment far from the target duration is odd. One that states an impossible duration lasts as
// long as the target says.
func TestASegmentOfStrangeLengthIsLoggedAndCounted(t *testing.T) { // S10
	for length, strange := range map[time.Duration]bool{
		399 * time.Millisecond: true, 400 * time.Millisecond: false, 6 * time.Second: false, 6001 * time.Millisecond: true, 40 * time.Second: true,
	} {
		w := watch.New(rules(), at(0))
		w.Step(at(0), watch.Resolution{Began: at(0), State: watch.Live, Manifest: "m"})
		noted := false
		for _, e := range w.Step(at(1), watch.Playlist{Began: at(1), URL: "m", TargetDuration: 2 * time.Second,
			Segments: []watch.Segment{{URI: "a", Duration: length}}}) {
			if n, ok := e.(watch.LogEntry); ok && n.Warn && n.Data["count"] == 1 {
				noted = true
			}
		}
		if noted != strange {
			t.Errorf("%s with a target of 2 s: noted is %v", length, noted)
		}
		black := map[detector.Name][]detector.Interval{detector.Blackout: wholeSegment}
		for _, e := range w.Step(at(1), watch.Analysis{Began: at(1), Segment: "a", Video: decoded, Audio: decoded, Intervals: black}) {
			if e, ok := e.(watch.EventEmitted); ok {
				t.Errorf("%s: 2 s of black were alerted as %+v", length, e.Event.Data)
			}
		}
	}
}

func TestAManifestFoundByTheFallbackNeedsAPlaylist(t *testing.T) { // 5.2, 7.1: it never proves is_live
	found := says(watch.ManifestFound, 0, never)
	w := scenario(t, found).from(100).findManifest().until(150).expect("100 started since 100")
	if len(w.logged("The stream's state could not be learned, but its manifest was found; the stream is watched all the same")) == 0 {
		t.Error("nobody is told")
	}
	scenario(t, endsAt(50, true)).from(100).findManifest().until(150).expect("100 ended until 50 for 0 by endlist") // an archive's
	t.Run("and is dropped without a readable one", func(t *testing.T) {
		scenario(t, found, noPlaylist(0, 100)).from(50).findManifest().until(60).findManifest().until(120).findManifest().until(130).
			expect("120 started since 120")
	})
}

func TestHealthFollowsTheNewestMedia(t *testing.T) { // S6, S14, S15
	for name, c := range map[string]struct {
		set    []option
		from   float64
		health string // the second, the stream, the picture and the sound
	}{
		// 0.06 s of black is too short for health.
		"black, then an outage": {[]option{black(100, 130, 349.94, 350), noPlaylist(200, 300)}, 50,
			"60 live ok ok, 115 live black ok, 150 live ok ok, 220 live ok ok, 280 live unknown unknown, 350 live ok ok"},
		"a refusal, until media are seen again": {[]option{refused(200, 540), noPlaylist(540, 700)}, 100,
			"195 live ok ok, 215 unknown unknown unknown, 530 unknown unknown unknown, 550 live unknown unknown, 690 live unknown unknown, 790 live ok ok"},
		"an alerted black, until media are seen again": {[]option{black(120, 900), refused(200, 540), noSegment(540, 700)}, 100,
			"195 live black ok, 300 unknown unknown unknown, 560 live unknown unknown, 690 live unknown unknown, 790 live black ok, 930 live ok ok"},
		"nothing was ever learned": {[]option{unanswered(0, never)}, 0, "1 unknown unknown unknown"},
		"two questions before the start without an answer": {[]option{liveFrom(never), unanswered(25, never)}, 0,
			"29 upcoming unknown unknown, 59 upcoming unknown unknown, 66 unknown unknown unknown"},
		"two check intervals on air without anything": {[]option{noPlaylist(105, 150), unanswered(105, 150), failing(watch.FailureExpired)}, 100,
			"104 live ok ok, 119 live ok ok, 126 unknown unknown unknown, 190 live ok ok"},
	} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, c.set...).from(c.from)
			for part := range strings.SplitSeq(c.health, ", ") {
				var second float64
				if _, err := fmt.Sscan(part, &second); err != nil {
					t.Fatal(err)
				}
				r := w.until(second).watcher.Report()
				if got := fmt.Sprint(second, " ", r.StreamStatus, " ", r.Health.Video, " ", r.Health.Audio); got != part {
					t.Errorf("health is %s, want %s", got, part)
				}
			}
		})
	}
}
