package acceptance_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

// packagingsOfTools are those that the real yt-dlp describes each in its own way. All are watched in virtual time, in test/suite/quality.
var packagingsOfTools = []string{
	"a media playlist as entry", "AES-128, rotating keys", "demuxed fMP4", "audio only", "DASH, duration and $Number$, ended by its duration",
}

func TestPackagingsAreWatchedWithTheRealTools(t *testing.T) { // section 5.1
	t.Parallel()
	for _, p := range livestream.Packagings() {
		if !slices.Contains(packagingsOfTools, p.Name) {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			runTimeline(t, 1)
			c := p.Config
			c.Preroll += livestream.ProgramLead
			watchPackaging(t, must.Get(shared.Library.Start(t.Context(), c))(t), p)
		})
	}
}

func watchPackaging(t *testing.T, stream *livestream.Stream, p livestream.Packaged) {
	t.Helper()
	v := newVideoID()
	shared.YouTube.Add(v, youtube.Video{State: youtube.Live, Origin: scenario.Origin(stream, p.Packaging)})
	id := shared.Register(t, v, fastConfig())
	shared.WaitEvent(t, id, scenario.Started, scenario.StartTimeout)
	shared.WaitEvent(t, id, scenario.Ended, time.Until(stream.At(p.Offset(livestream.Program.End)))+30*time.Second)

	shared.AssertEvents(t, id, p.Events()...)
	if t.Failed() {
		t.Logf("the log of the monitor:\n%s", monitorLog(id, "DEBUG", "INFO", "WARN", "ERROR"))
		return
	}
	events := map[string]webhookreceiver.Delivery{}
	for _, e := range shared.Events(id) {
		events[e.EventType] = e
	}
	for _, c := range []struct {
		what, alert, recovered string
		from, to               time.Duration
	}{
		{"black", scenario.Blackout, scenario.BlackoutRecovered, livestream.Program.Black, livestream.Program.Picture},
		{"silence", "alert.silence", "alert.silence_recovered", livestream.Program.Silence, livestream.Program.Sound},
	} {
		back, recovered := events[c.recovered]
		if !recovered { // the track is missing from the start
			continue
		}
		scenario.AssertNear(t, c.what+": started_at", events[c.alert].Data.StartedAt, stream.At(p.Offset(c.from)), mediaTolerance)
		scenario.AssertNear(t, c.what+": recovered_at", back.Data.RecoveredAt, stream.At(p.Offset(c.to)), mediaTolerance)
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
