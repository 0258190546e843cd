package streamlink_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/streamlink"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestAPageWithoutEndCostsOneQuestion(t *testing.T) {
	resolver := streamlink.New(streamlink.Config{
		Path: pythontooltest.Find(t, "STREAMLINK_PATH", "streamlink"), Files: []string{}, Timeout: time.Minute,
	}, discardLog)
	pythontooltest.PagesWithoutEnd(t, resolver, watch.ManifestFound)
}
