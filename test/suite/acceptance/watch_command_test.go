package acceptance_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

// printedEvent is an event in the output of watch --json.
type printedEvent struct {
	Type string               `json:"event_type"`
	Data webhookreceiver.Data `json:"data"`
}

// printedEvents returns the events of JSON lines.
func printedEvents(t *testing.T, lines string) (events []printedEvent) {
	t.Helper()
	for line := range strings.Lines(lines) {
		if !strings.HasSuffix(line, "\n") { // it is being printed
			break
		}
		var e printedEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		events = append(events, e)
	}
	return events
}

// assertPrinted asserts which events were printed.
func assertPrinted(t *testing.T, lines string) {
	t.Helper()
	var got []string
	for _, e := range printedEvents(t, lines) {
		got = append(got, e.Type)
	}
	if want := []string{scenario.Started, scenario.Blackout, scenario.BlackoutRecovered, scenario.Ended}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func TestWatchPrintsEventsAndItsRecordingReplays(t *testing.T) { // decision P1
	runTimeline(t, 1)
	video, recording := newVideoID(), filepath.Join(t.TempDir(), "recording.jsonl")
	stream, err := shared.StartStream(t.Context(), video, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var out, log logbuffer.Buffer
	watch := exec.CommandContext(timeoutContext(t, 3*time.Minute), binary, "watch", "--json",
		"--check-interval-sec=2", "--blackout-threshold-sec=6", "--record", recording, shared.YouTube.URL(video))
	watch.Env = append(watch.Environ(), shared.Service.Environment(shared.YouTube.Env())...)
	watch.Stdout, watch.Stderr = &out, &log
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log is\n%s", log.String())
		}
	})
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	waitPrinted := func(event string) (found printedEvent) {
		eventually(t, time.Minute, event, func() bool {
			all := printedEvents(t, out.String())
			i := slices.IndexFunc(all, func(e printedEvent) bool { return e.Type == event })
			if i >= 0 {
				found = all[i]
			}
			return i >= 0
		})
		return found
	}
	eventually(t, scenario.StartTimeout, "two checks", func() bool { return shared.YouTube.Count(youtube.Segment, video) >= 2 })
	black := stream.Black(true)
	scenario.AssertNear(t, "started_at", waitPrinted(scenario.Blackout).Data.StartedAt, black, mediaTolerance)
	picture := stream.Black(false)
	scenario.AssertNear(t, "recovered_at", waitPrinted(scenario.BlackoutRecovered).Data.RecoveredAt, picture, mediaTolerance)
	stream.End()
	if err := watch.Wait(); err != nil {
		t.Errorf("the command ended with %v", err)
	}
	assertPrinted(t, out.String())
	replayed, err := exec.CommandContext(t.Context(), binary, "replay", "--json", recording).Output()
	if err != nil {
		t.Fatal(err)
	}
	assertPrinted(t, string(replayed))
}
