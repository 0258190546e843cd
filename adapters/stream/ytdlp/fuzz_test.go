package ytdlp_test

import (
	"encoding/json"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// FuzzRead checks that every output gives a valid Resolution. Its state is known, its
// Detail is short and has no secret, and it can be stored as JSON. Only a live stream
// has URLs.
func FuzzRead(f *testing.F) {
	for _, r := range recordedRuns(f) {
		f.Add(r.stdout, r.stderr)
	}
	f.Fuzz(func(t *testing.T, stdout, stderr []byte) {
		var head struct{ ID string }
		_ = json.Unmarshal(stdout, &head)
		got := ytdlp.Read(head.ID, stdout, stderr)
		switch got.State {
		case watch.Live, watch.Upcoming, watch.Offline, watch.Ended, watch.NotALiveStream, watch.Private, watch.Removed,
			watch.RegionLocked, watch.AgeRestricted, watch.MembersOnly, watch.Blocked, watch.RateLimited,
			watch.NameUnresolved, watch.ProxyFailed, watch.Unreachable, watch.ToolFailed:
		default:
			t.Errorf("state %q", got.State)
		}
		if got.State != watch.Live && (len(got.Renditions) > 0 || got.Manifest != "" || !got.Expires.IsZero()) {
			t.Errorf("%s with media", got.State)
		}
		if len(got.Renditions) > ytdlp.MaxRenditions {
			t.Errorf("%d renditions", len(got.Renditions))
		}
		pythontooltest.CheckResolution(t, got, ytdlp.MaxURL)
	})
}
