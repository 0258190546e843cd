package streamlink_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/streamlink"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

func TestAPageWithoutEndCostsOneQuestion(t *testing.T) {
	y := pythontooltest.YouTube(t)
	y.Add(pythontooltest.URL.VideoID(), youtube.Video{State: youtube.Live, Source: pythontooltest.Ladder{}})
	resolver := streamlink.New(streamlink.Config{
		Path: pythontooltest.Find(t, "STREAMLINK_PATH", "streamlink"), Files: []string{}, Timeout: time.Minute,
	}, discardLog)
	for name, fault := range map[string]httpfault.Fault{
		"of 200 MB":       httpfault.Zeros(200 << 20),
		"that never ends": httpfault.Endless(1 << 50),
	} {
		remove := y.Inject(youtube.Watch, "", 0, fault)
		if got := resolver.Resolve(t.Context(), pythontooltest.URL); got.State.Known() || strings.Contains(got.Detail, "no answer within") {
			t.Errorf("a page %s: got %s (%s)", name, got.State, got.Detail)
		}
		remove()
	}
	if got := resolver.Resolve(t.Context(), pythontooltest.URL); got.State != watch.ManifestFound {
		t.Errorf("then got %s (%s)", got.State, got.Detail)
	}
}
