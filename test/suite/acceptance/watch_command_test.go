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

// foregroundWatch is "stream-monitor watch" of a stream.
type foregroundWatch struct {
	*livestream.Stream
	t        *testing.T
	video    string
	cmd      *exec.Cmd
	out, log logbuffer.Buffer
}

// newWatchCommand starts a stream and makes the command that watches it.
func newWatchCommand(t *testing.T, env []string, args ...string) *foregroundWatch {
	t.Helper()
	f := &foregroundWatch{t: t, video: newVideoID()}
	var err error
	if f.Stream, err = shared.StartStream(t.Context(), f.video, livestream.Config{}); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"watch", "--json", "--check-interval-sec=2", "--blackout-threshold-sec=6", shared.YouTube.URL(f.video)}, args...)
	f.cmd = exec.CommandContext(timeoutContext(t, 3*time.Minute), binary, args...)
	f.cmd.Env = append(f.cmd.Environ(), shared.Service.Environment(env)...)
	f.cmd.Stdout, f.cmd.Stderr = &f.out, &f.log
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log is\n%s", f.log.String())
		}
	})
	return f
}

// waitChecked waits until the first check is over, because the next one has begun.
func (f *foregroundWatch) waitChecked() {
	f.t.Helper()
	eventually(f.t, scenario.StartTimeout, "two checks", func() bool { return shared.YouTube.Count(youtube.Segment, f.video) >= 2 })
}

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

func (f *foregroundWatch) waitEvent(event string) (found printedEvent) {
	f.t.Helper()
	eventually(f.t, time.Minute, event, func() bool {
		all := printedEvents(f.t, f.out.String())
		i := slices.IndexFunc(all, func(e printedEvent) bool { return e.Type == event })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}

// assertEvents asserts which events were printed.
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

// endAfterBlackout waits for the alert of a black picture, and ends the picture's blackout and
// the stream. The command must exit with status 0.
func (f *foregroundWatch) endAfterBlackout(black time.Time) {
	f.t.Helper()
	scenario.AssertNear(f.t, "started_at", f.waitEvent(scenario.Blackout).Data.StartedAt, black, mediaTolerance)
	picture := f.Black(false)
	scenario.AssertNear(f.t, "recovered_at", f.waitEvent(scenario.BlackoutRecovered).Data.RecoveredAt, picture, mediaTolerance)
	f.End()
	if err := f.cmd.Wait(); err != nil {
		f.t.Errorf("the command ended with %v", err)
	}
	assertPrinted(f.t, f.out.String())
}

func TestWatchPrintsEventsAndItsRecordingReplays(t *testing.T) { // decision P1
	runTimeline(t, 1)
	recording := filepath.Join(t.TempDir(), "recording.jsonl")
	f := newWatchCommand(t, shared.YouTube.Env(), "--record", recording)
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f.waitChecked()
	f.endAfterBlackout(f.Black(true))
	replayed, err := exec.CommandContext(t.Context(), binary, "replay", "--json", recording).Output()
	if err != nil {
		t.Fatal(err)
	}
	assertPrinted(t, string(replayed))
}
