package acceptance_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/broadcast"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// shapeLead is how much of the recording has been on the air when its row
// begins: its playlists list something, and the start of the watch falls into
// the calm before the black.
const shapeLead = 17 * time.Second

// partOfSegment is the path of one, which is of no use to who wants to see the
// whole.
var partOfSegment = regexp.MustCompile(`/seg-\d+\.\d+\.`)

// TestShapes watches the same recording in every shape that a live stream can
// have, and expects the same of all: what is told must not depend on how the
// media are packaged.
func TestShapes(t *testing.T) {
	library, err := broadcast.Open(broadcast.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// All material first: encoders at work would delay those who are watching.
	for _, s := range broadcast.Shapes() {
		if err := library.Prepare(t.Context(), s.Shape); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range broadcast.Shapes() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			watchShape(t, library, s.Shape)
		})
	}
}

func watchShape(t *testing.T, library *broadcast.Library, s broadcast.Shape) {
	t.Helper()
	stream, err := library.Start(t.Context(), s, broadcast.Config{Lead: shapeLead})
	if err != nil {
		t.Fatal(err)
	}
	origin := &youtube.Origin{Handler: stream.Handler(), HLS: stream.Entry()}
	if s.MPD != broadcast.HLS {
		origin.HLS, origin.DASH = "", stream.Entry()
	}
	v := video()
	common.YouTube.Add(v, youtube.Video{State: youtube.Live, Origin: origin})
	id := register(t, common, v, quick())
	arrives(t, common, id, "stream.ended", time.Until(stream.At(broadcast.Program.End))+30*time.Second)

	only(t, common, id, shapeEvents(s)...)
	if t.Failed() {
		t.Logf("its log:\n%s", shapeLog(id, "DEBUG", "INFO", "WARN", "ERROR"))
		return
	}
	told := map[string]webhookreceiver.Delivery{}
	for _, e := range about(common, id) {
		told[e.EventType] = e
	}
	tolerance := shapeTolerance(s)
	for _, c := range []struct {
		what, alert, recovered string
		from, to               time.Duration
	}{
		{"black", "alert.blackout", "alert.blackout_recovered", broadcast.Program.Black, broadcast.Program.Picture},
		{"silence", "alert.silence", "alert.silence_recovered", broadcast.Program.Silence, broadcast.Program.Sound},
	} {
		back, recovered := told[c.recovered]
		if !recovered { // the track is missing from the beginning
			if at := told[c.alert].Data.StartedAt; at.After(told["stream.started"].Received.Add(5 * time.Second)) {
				t.Errorf("%s: started_at is %s, long after the watch began", c.what, at)
			}
			continue
		}
		near(t, c.what+": started_at", told[c.alert].Data.StartedAt, stream.At(c.from), tolerance)
		near(t, c.what+": recovered_at", back.Data.RecoveredAt, stream.At(c.to), tolerance)
		t.Logf("%s: started_at off by %s, recovered_at by %s", c.what,
			told[c.alert].Data.StartedAt.Sub(stream.At(c.from)), back.Data.RecoveredAt.Sub(stream.At(c.to)))
	}
	if missed := stream.Missed(); len(missed) > 0 {
		t.Errorf("asked for what was not there: %v", missed)
	}
	for _, r := range common.YouTube.Requests() {
		if r.Video == v && partOfSegment.MatchString(r.Path) {
			t.Errorf("asked for a part: %s", r.Path[strings.LastIndex(r.Path, "/"):])
		}
	}
	if complaints := shapeLog(id, "WARN", "ERROR"); complaints != "" {
		t.Errorf("the log complains:\n%s", complaints)
	}
}

// shapeEvents is what has to be told of a shape, in this order. A track that is
// missing is bad from the beginning and never recovers (decision S4).
func shapeEvents(s broadcast.Shape) []string {
	switch {
	case s.Audio == broadcast.NoAudio && s.Video != broadcast.NoVideo:
		return []string{"stream.started", "alert.silence", "alert.blackout", "alert.blackout_recovered", "stream.ended"}
	case s.Video == broadcast.NoVideo && s.Audio != broadcast.NoAudio:
		return []string{"stream.started", "alert.blackout", "alert.silence", "alert.silence_recovered", "stream.ended"}
	}
	return []string{
		"stream.started", "alert.blackout", "alert.blackout_recovered", "alert.silence", "alert.silence_recovered", "stream.ended",
	}
}

// shapeTolerance is by how much an instant may be off. Without program times a
// segment is taken to end when the playlist with it was fetched (decision S1),
// which may be a check interval and a fetch after it appeared.
func shapeTolerance(s broadcast.Shape) time.Duration {
	if s.ProgramTime == broadcast.Nowhere {
		const interval = 2 * time.Second // quick()'s
		return interval + 2*exact
	}
	return exact
}

// shapeLog is what the service has logged of a monitor, of these levels.
func shapeLog(id string, levels ...string) string {
	var lines []string
	for _, l := range common.Service.Log() {
		if l.MonitorID == id && slices.Contains(levels, l.Level) {
			lines = append(lines, l.Raw)
		}
	}
	return strings.Join(lines, "\n")
}
