package hls_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// copyOf is a playlist of two segments of 2 s, the newest with this sequence number. Number 500
// begins at noon.
func copyOf(newest int, token string) string {
	return fmt.Sprintf("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:%d\n#EXT-X-PROGRAM-DATE-TIME:%s\n#EXTINF:2,\n%d.ts%s\n#EXTINF:2,\n%d.ts%s\n",
		newest-1, noon.Add(time.Duration(newest-501)*2*time.Second).Format(time.RFC3339), newest-1, token, newest, token)
}

// watchReadings lets the watcher of a stream read playlists from start on, each when it asks for
// one. All segments in black are black. It returns the events after the start, and how many
// segments were analysed.
func watchReadings(t *testing.T, start time.Time, until time.Duration, black func(sequence uint64) bool, text func(reading int, at time.Time) string) (events []event.Event, analysed int) {
	t.Helper()
	now := start
	w := watch.New(watch.RulesOf(monitor.DefaultConfig(), watch.Smallest), now)
	readings := 0
	step := func(o watch.Observation) {
		for _, e := range w.Step(now, o) {
			if e, ok := e.(watch.EventEmitted); ok && e.Event.Type != event.StreamStarted {
				events = append(events, e.Event)
			}
		}
	}
	for range 10_000 {
		var next *watch.Task
		for _, task := range w.Next() {
			if next == nil || task.At.Before(next.At) {
				next = &task
			}
		}
		if next.At.After(now) {
			now = next.At
		}
		if now.After(start.Add(until)) {
			return events, analysed
		}
		switch next.Kind {
		case watch.TaskResolve:
			step(watch.Resolution{Began: now, State: watch.Live, Manifest: baseURL + "list.m3u8"})
		case watch.TaskPlaylist:
			p := mustRead(t, text(readings, now))
			p.Began, p.URL = now, next.URL
			readings++
			step(p)
		case watch.TaskSegment:
			analysed++
			a := watch.Analysis{Began: now, Segment: next.Segment.ID(), Video: watch.Track{Present: true, To: 2 * time.Second}, Audio: watch.Track{Present: true, To: 2 * time.Second}}
			if black(next.Segment.Sequence) {
				a.Intervals = map[detector.Name][]watch.Interval{detector.Blackout: {{To: 2 * time.Second}}}
			}
			step(a)
		default:
			step(watch.Tick{})
		}
	}
	t.Fatal("the watcher makes steps without end")
	return nil, 0
}

func TestAPlaylistThatStandsStillIsReportedWhateverItsTokens(t *testing.T) { // decisions S5, S6
	events, analysed := watchReadings(t, noon.Add(4*time.Second), 155*time.Second, func(uint64) bool { return false },
		func(reading int, _ time.Time) string { return copyOf(501, fmt.Sprintf("?token=%d", reading)) })
	if len(events) != 1 || events[0].Type != event.SegmentError || !events[0].At.Equal(noon.Add(64*time.Second)) {
		t.Errorf("emitted %+v", events)
	}
	if analysed != 1 {
		t.Errorf("analysed the same segment %d times", analysed)
	}
}

func TestANewSegmentUnderAnOldNameIsAnalysed(t *testing.T) { // decision S5
	for name, strip := range map[string]string{"with program time": "", "without program time": "#EXT-X-PROGRAM-DATE-TIME"} {
		t.Run(name, func(t *testing.T) {
			events, analysed := watchReadings(t, noon.Add(4*time.Second), 100*time.Second, func(uint64) bool { return false }, func(_ int, at time.Time) string {
				newest := 499 + int(at.Sub(noon)/(2*time.Second))
				var lines []string
				for line := range strings.Lines(copyOf(newest, "")) {
					switch {
					case strip != "" && strings.HasPrefix(line, strip):
					case strings.HasSuffix(line, ".ts\n"):
						lines = append(lines, "live.ts\n")
					default:
						lines = append(lines, line)
					}
				}
				return strings.Join(lines, "")
			})
			if len(events) > 0 || analysed < 10 {
				t.Errorf("emitted %+v after %d analyses", events, analysed)
			}
		})
	}
}

func TestOlderCopiesOfAPlaylistAreNoNews(t *testing.T) { // decision S5
	const behind = 20 // segments of 2 s
	for name, every := range map[string]int{"every second": 2, "every fifth": 5} {
		t.Run(name, func(t *testing.T) {
			black := func(sequence uint64) bool { return sequence >= 545 && sequence < 590 } // from second 90 to 180
			start := noon.Add(44 * time.Second)
			events, _ := watchReadings(t, start, 300*time.Second, black, func(reading int, at time.Time) string {
				newest := 499 + int(at.Sub(noon)/(2*time.Second))
				if reading%every == every-1 {
					newest -= behind
				}
				return copyOf(newest, "")
			})
			if len(events) != 2 || events[0].Type != event.Blackout || events[1].Type != event.BlackoutRecovered {
				t.Fatalf("emitted %+v", events)
			}
			alert, back := events[0].Data.(event.Alert), events[1].Data.(event.Recovered)
			if onset := noon.Add(90 * time.Second); alert.StartedAt.Before(onset) || alert.StartedAt.After(onset.Add(10*time.Second)) || back.StartedAt != alert.StartedAt {
				t.Errorf("black since %v", alert.StartedAt)
			}
			if late := events[0].At.Sub(alert.StartedAt); late < 30*time.Second || late > 34*time.Second {
				t.Errorf("alerted %v after the onset", late)
			}
			if end := noon.Add(180 * time.Second); back.RecoveredAt.Before(end) || back.RecoveredAt.After(end.Add(4*time.Second)) {
				t.Errorf("black until %v", back.RecoveredAt)
			}
		})
	}
}

func TestASegmentHasTheNumbersThatItsPlaylistStates(t *testing.T) { // decision S5
	const entries = "#EXTINF:2,\na.ts\n#EXT-X-DISCONTINUITY\n#EXTINF:2,\nb.ts\n"
	for name, c := range map[string]struct {
		tags          string
		unnumbered    bool
		discontinuity uint64
	}{
		"both":                         {"#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-DISCONTINUITY-SEQUENCE:3\n", false, 4},
		"no discontinuity sequence":    {"#EXT-X-MEDIA-SEQUENCE:7\n", false, 0},
		"a discontinuity out of range": {"#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-DISCONTINUITY-SEQUENCE:-1\n", false, 0},
		"none":                         {"", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustRead(t, "#EXTM3U\n#EXT-X-TARGETDURATION:2\n"+c.tags+entries)
			if last := p.Segments[1]; last.Unnumbered != c.unnumbered || last.Discontinuity != c.discontinuity {
				t.Errorf("got %+v", last)
			}
		})
	}
}
