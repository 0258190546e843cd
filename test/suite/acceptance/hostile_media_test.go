package acceptance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// hostileMemory is the largest resident set size of a worker, without its subprocesses and
// without the pages of files, whatever it receives. Most cases take 10 to 30 MB. A worker
// that kept a bomb, or a segment of 200 MB, would have more than 200 MB.
const hostileMemory = 128 << 20

func TestHostileMediaAreReportedAndSurvived(t *testing.T) {
	t.Parallel()
	const (
		hugeLine = "#EXT-X-SOMETHING:"
		mpd      = `<MPD type="dynamic" availabilityStartTime="2026-01-01T00:00:00Z"><Period><AdaptationSet mimeType="video/mp4"><Representation id="1"><SegmentTemplate media="$Time$.m4s"><SegmentTimeline>`
	)
	for name, c := range map[string]struct {
		part  livestream.Part
		fault httpfault.Fault
		says  string // begin of the error in the log
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
			runTimeline(t, 1, 25*time.Second)
			v := newVideoID()
			stream, err := shared.StartStream(t.Context(), v, livestream.Config{})
			if err != nil {
				t.Fatal(err)
			}
			shared.YouTube.Replay(v)
			id := register(t, shared, v, fastConfig())
			waitEvent(t, shared, id, "stream.started", startTimeout)
			eventually(t, 30*time.Second, "the first check", func() bool { return checks(t, shared, id) > 0 })

			stream.Fail(c.part, c.fault)
			line, err := shared.Service.WaitLog(timeoutContext(t, 60*time.Second), func(l system.Line) bool {
				text, _ := l.Data["error"].(string)
				return l.MonitorID == id && l.Level == "WARN" && strings.HasPrefix(text, c.says)
			})
			if err != nil {
				t.Fatalf("the log does not say %q: %v\n%s", c.says, err, shared.Service.Tail(20))
			}
			if strings.Contains(line.Raw, "expire/") || strings.Contains(line.Raw, "sq/") {
				t.Errorf("the log gives a signed URL away: %s", line.Raw)
			}
			stream.Heal(c.part)
			before := checks(t, shared, id)
			eventually(t, 90*time.Second, "a check", func() bool { return checks(t, shared, id) > before })
			held := int64(0)
			for _, p := range shared.Service.Workers() {
				if p.Env("MONITOR_ID") == id {
					held = p.Peak()
				}
			}
			if t.Logf("the worker has held %d MB", held>>20); held == 0 || held > hostileMemory {
				t.Errorf("the worker has held %d MB (0: it is gone), want %d", held>>20, hostileMemory>>20)
			}
			stream.End()
			waitEvent(t, shared, id, "stream.ended", 60*time.Second)
			assertEvents(t, shared, id, "stream.started", "stream.ended")
			waitNoWorker(t, shared, id)
		})
	}
}
