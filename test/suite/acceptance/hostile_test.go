package acceptance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// What a worker may hold by itself, children apart.
const (
	workerMemory  = 30 << 20 // on an ordinary stream
	hostileMemory = 64 << 20 // at any time, whatever it is sent
)

func TestHostileMediaAreNamedAndSurvived(t *testing.T) {
	const (
		hugeLine = "#EXT-X-SOMETHING:"
		mpd      = `<MPD type="dynamic" availabilityStartTime="2026-01-01T00:00:00Z"><Period><AdaptationSet mimeType="video/mp4"><Representation id="1"><SegmentTemplate media="$Time$.m4s"><SegmentTimeline>`
	)
	for name, c := range map[string]struct {
		part  livestream.Part
		fault httpfault.Fault
		says  string // in the log
	}{
		"a playlist with 50,000 lines":        {livestream.Playlists, httpfault.Lines("#EXTM3U", 50_000, "#EXTINF:2.0,\nseg.ts"), "malformed"},
		"a playlist that is one endless line": {livestream.Playlists, httpfault.Text("#EXTM3U\n" + hugeLine + strings.Repeat("x", 4<<20)), "malformed"},
		"a playlist of 8 MB, and all of it in order": {
			livestream.Playlists, httpfault.Lines("#EXTM3U\n#EXT-X-TARGETDURATION:2\n", 10_000, "#EXTINF:2.0,\n"+strings.Repeat("s", 800)+".ts\n"), "undecodable",
		},
		"a playlist that is a bomb": {livestream.Playlists, httpfault.Bomb(1 << 30), "too_large"},
		"an MPD of 4 MB": {
			livestream.Playlists, httpfault.Text(mpd + strings.Repeat(`<S t="1" d="1"/>`, 190_000) + strings.Repeat(" ", 900_000)), "malformed",
		},
		"a segment that is a bomb":         {livestream.Segments, httpfault.Bomb(1 << 30), "undecodable"},
		"a playlist that is a web page":    {livestream.Playlists, httpfault.Text("<!doctype html><title>hello</title>"), "malformed"},
		"a playlist that hangs":            {livestream.Playlists, httpfault.Hang(), "network"},
		"a segment of 200 MB":              {livestream.Segments, httpfault.Zeros(200 << 20), "too_large"},
		"a segment of 200 MB, unannounced": {livestream.Segments, httpfault.Endless(200 << 20), "undecodable"},
		"a segment cut off halfway":        {livestream.Segments, httpfault.Truncate(), "truncated"},
		"a segment of zeros":               {livestream.Segments, httpfault.Zeros(200 << 10), "undecodable"},
		"a segment that hangs":             {livestream.Segments, httpfault.Hang(), "network"},
		"a segment that drips":             {livestream.Segments, httpfault.Drip(100, time.Second), "network"},
		"a segment whose server resets":    {livestream.Segments, httpfault.Reset(), "network"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := video()
			stream, err := common.StartStream(t.Context(), v, livestream.Config{})
			if err != nil {
				t.Fatal(err)
			}
			id := register(t, common, v, quick())
			arrives(t, common, id, "stream.started", 60*time.Second)
			eventually(t, 30*time.Second, "a first check", func() bool { return checks(t, common, id) > 0 })

			stream.Fail(c.part, c.fault)
			line, err := common.Service.WaitLog(limited(t, 60*time.Second), func(l system.Line) bool {
				text, _ := l.Data["error"].(string)
				return l.MonitorID == id && l.Level == "WARN" && strings.HasPrefix(text, c.says)
			})
			if err != nil {
				t.Fatalf("the log does not say %q: %v\n%s", c.says, err, common.Service.Tail(20))
			}
			if strings.Contains(line.Raw, "expire/") || strings.Contains(line.Raw, "sq/") {
				t.Errorf("the log gives a signed URL away: %s", line.Raw)
			}
			stream.Heal(c.part)
			before := checks(t, common, id)
			eventually(t, 90*time.Second, "checking again", func() bool { return checks(t, common, id) > before })
			held := int64(0)
			for _, p := range common.Service.Workers() {
				if p.Env("MONITOR_ID") == id {
					held = p.Peak()
				}
			}
			if t.Logf("the worker has held %d MB", held>>20); held == 0 || held > hostileMemory {
				t.Errorf("the worker has held %d MB; 0: it is gone", held>>20)
			}
			stream.End()
			arrives(t, common, id, "stream.ended", 60*time.Second)
			only(t, common, id, "stream.started", "stream.ended")
			gone(t, common, id)
		})
	}
}

// checks is how many segments of a monitor have been analysed.
func checks(t *testing.T, s *testenv.Env, id string) float64 {
	t.Helper()
	m, err := s.Service.Monitor(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := m["statistics"].(map[string]any)["total_segments_analyzed"].(float64)
	return n
}
