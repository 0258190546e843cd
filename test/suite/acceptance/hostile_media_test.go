package acceptance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// hostileMemory is the largest resident set size of a worker, without its subprocesses and
// without the pages of files, whatever it receives. Most cases take 10 to 30 MB. A worker
// that kept a bomb, or a segment of 200 MB, would have more than 200 MB.
const hostileMemory = 128 << 20

// The tests of adapters/stream have more hostile playlists and segments. These would fill the
// memory of a worker, or make it wait.
func TestHostileMediaAreReportedAndSurvived(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		part  livestream.Part
		fault httpfault.Fault
		says  string // begin of the error in the log
	}{
		"a playlist of 8 MB, and all of it in order": {
			livestream.Playlists, httpfault.Lines("#EXTM3U\n#EXT-X-TARGETDURATION:2\n", 10_000, "#EXTINF:2.0,\n"+strings.Repeat("s", 800)+".ts\n"), "undecodable",
		},
		"a playlist that is a bomb":        {livestream.Playlists, httpfault.Bomb(1 << 30), "too_large"},
		"a segment that is a bomb":         {livestream.Segments, httpfault.Bomb(1 << 30), "undecodable"},
		"a segment of 200 MB, unannounced": {livestream.Segments, httpfault.Endless(200 << 20), "undecodable"},
		"a segment that drips":             {livestream.Segments, httpfault.Drip(100, time.Second), "network"},
	} {
		t.Run(name, func(t *testing.T) {
			runTimeline(t, 1)
			s := shared.Watch(t, scenario.Video{})
			s.Fail(c.part, c.fault)
			line := waitLog(t, s.Service, time.Minute, func(l system.Line) bool {
				text, _ := l.Data["error"].(string)
				return l.MonitorID == s.ID && l.Level == "WARN" && strings.HasPrefix(text, c.says)
			})
			if strings.Contains(line.Raw, "expire/") || strings.Contains(line.Raw, "sq/") {
				t.Errorf("the log gives a signed URL away: %s", line.Raw)
			}
			s.Heal(c.part)
			s.WaitChecks(1, 90*time.Second)
			held := onlyWorker(t, s.ID).Peak()
			if t.Logf("the worker has held %d MB", held>>20); held == 0 || held > hostileMemory {
				t.Errorf("the worker has held %d MB (0: it is gone), want %d", held>>20, hostileMemory>>20)
			}
			s.EndAndAssert()
		})
	}
}
