package acceptance_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

// packagingLead is how much of the script has been broadcast when the resolver first
// requests it. The picture goes black 13 s later.
const packagingLead = 17 * time.Second

// packagingInterval is the time between two checks of a packaging, longer than that of
// fastConfig: thirty of them are watched with the real tools.
const packagingInterval = 3 * time.Second

// TestEveryPackagingIsWatchedAlike watches the same recording in every packaging.
// The events must not depend on it.
func TestEveryPackagingIsWatchedAlike(t *testing.T) { // section 5.1
	// All material is encoded before other tests run, because encoders would delay
	// them.
	streams := map[string]*livestream.Stream{}
	for _, p := range livestream.Packagings() {
		c := p.Config
		c.Preroll += packagingLead
		stream, err := shared.Library.Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		streams[p.Name] = stream
	}
	t.Parallel()
	for _, p := range livestream.Packagings() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			take(t, packagings, 1)
			watchPackaging(t, streams[p.Name], p)
		})
	}
}

func watchPackaging(t *testing.T, stream *livestream.Stream, p livestream.Packaged) {
	t.Helper()
	v := newVideoID()
	shared.YouTube.Add(v, youtube.Video{State: youtube.Live, Origin: scenario.Origin(stream, p.Packaging)})
	id := shared.Register(t, v, map[string]any{
		"check_interval_sec": packagingInterval.Seconds(), "blackout_threshold_sec": 6, "silence_threshold_sec": 6,
	})
	shared.WaitEvent(t, id, scenario.Started, scenario.StartTimeout)
	shared.WaitEvent(t, id, scenario.Ended, time.Until(stream.At(p.Offset(livestream.Program.End)))+30*time.Second)

	shared.AssertEvents(t, id, expectedEvents(p)...)
	if t.Failed() {
		t.Logf("the log of the monitor:\n%s", monitorLog(id, "DEBUG", "INFO", "WARN", "ERROR"))
		return
	}
	events := map[string]webhookreceiver.Delivery{}
	for _, e := range shared.Events(id) {
		events[e.EventType] = e
	}
	tolerance := instantTolerance(p)
	for _, c := range []struct {
		what, alert, recovered string
		from, to               time.Duration
	}{
		{"black", scenario.Blackout, scenario.BlackoutRecovered, livestream.Program.Black, livestream.Program.Picture},
		{"silence", "alert.silence", "alert.silence_recovered", livestream.Program.Silence, livestream.Program.Sound},
	} {
		back, recovered := events[c.recovered]
		if !recovered { // the track is missing from the start
			if at := events[c.alert].Data.StartedAt; at.After(events[scenario.Started].Received.Add(5*time.Second + busyMachine)) {
				t.Errorf("%s: started_at is %s, long after the watch started", c.what, at)
			}
			continue
		}
		scenario.AssertNear(t, c.what+": started_at", events[c.alert].Data.StartedAt, stream.At(p.Offset(c.from)), tolerance)
		scenario.AssertNear(t, c.what+": recovered_at", back.Data.RecoveredAt, stream.At(p.Offset(c.to)), tolerance)
		t.Logf("%s: started_at off by %s, recovered_at by %s", c.what,
			events[c.alert].Data.StartedAt.Sub(stream.At(p.Offset(c.from))), back.Data.RecoveredAt.Sub(stream.At(p.Offset(c.to))))
	}
	if missed := stream.NotFound(); len(missed) > 0 {
		t.Errorf("requested what was not there: %v", missed)
	}
	for line := range strings.SplitSeq(monitorLog(id, "WARN", "ERROR"), "\n") {
		if line != "" && !strings.Contains(line, lateChecks) {
			t.Errorf("the log has a warning: %s", line)
		}
	}
}

// expectedEvents returns the events of a packaging, in order. The alert of a missing
// track comes at the start and is never resolved (decision S4).
func expectedEvents(p livestream.Packaged) []string {
	switch r := p.Renditions[0]; {
	case len(p.Renditions) == 1 && !r.HasAudio():
		return []string{scenario.Started, "alert.silence", scenario.Blackout, scenario.BlackoutRecovered, scenario.Ended}
	case len(p.Renditions) == 1 && !r.HasVideo():
		return []string{scenario.Started, scenario.Blackout, "alert.silence", "alert.silence_recovered", scenario.Ended}
	}
	return []string{
		scenario.Started, scenario.Blackout, scenario.BlackoutRecovered, "alert.silence", "alert.silence_recovered", scenario.Ended,
	}
}

// instantTolerance is how far an instant may be off. Without program times a
// segment ends when the playlist that lists it is fetched (decision S1). That may
// be a check interval after it appeared, and more on a busy machine.
func instantTolerance(p livestream.Packaged) time.Duration {
	if p.Packaging.ProgramTime == livestream.NoDateTime {
		return packagingInterval + 2*scenario.ExactTolerance + busyMachine
	}
	return scenario.ExactTolerance
}

// monitorLog returns the log lines about a monitor with one of these levels.
func monitorLog(id string, levels ...string) string {
	var lines []string
	for _, l := range shared.Service.Log() {
		if l.MonitorID == id && slices.Contains(levels, l.Level) {
			lines = append(lines, l.Raw)
		}
	}
	return strings.Join(lines, "\n")
}
