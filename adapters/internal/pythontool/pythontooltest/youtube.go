package pythontooltest

import (
	"context"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// YouTube starts a fake YouTube and directs the tools to it until the test ends.
func YouTube(t testing.TB) *youtube.Server {
	t.Helper()
	y, err := youtube.Start(youtube.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := y.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, line := range y.Env() {
		name, value, _ := strings.Cut(line, "=")
		t.Setenv(name, value)
	}
	return y
}

// Ladder is a live stream with two renditions and no media.
type Ladder struct{}

// Renditions implements youtube.Source.
func (Ladder) Renditions() []livestream.Rendition {
	return []livestream.Rendition{livestream.Muxed144p, livestream.Muxed360p}
}

// Playlist implements youtube.Source.
func (Ladder) Playlist(int) (livestream.Playlist, error) {
	return livestream.Playlist{}, livestream.ErrNotFound
}

// Segment implements youtube.Source.
func (Ladder) Segment(context.Context, int, uint64) ([]byte, error) {
	return nil, livestream.ErrNotFound
}

// Fault implements youtube.Source.
func (Ladder) Fault(livestream.Part) httpfault.Fault { return nil }
