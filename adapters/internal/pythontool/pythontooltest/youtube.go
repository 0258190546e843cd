package pythontooltest

import (
	"context"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// YouTube starts a fake YouTube and directs the tools to it until the test ends.
func YouTube(t testing.TB) *youtube.Server {
	t.Helper()
	y := must.Get(youtube.Start(youtube.Config{}))(t)
	t.Cleanup(func() { must.Do(t, y.Close()) })
	for _, line := range y.Env() {
		name, value, _ := strings.Cut(line, "=")
		t.Setenv(name, value)
	}
	return y
}

// PagesWithoutEnd checks that a page of 200 MB, and one that never ends, cost one question each. Such
// a question does not take all of its time. The next one gets the state of a live stream.
func PagesWithoutEnd(t *testing.T, r Resolver, live watch.StreamState) {
	t.Helper()
	y := YouTube(t)
	y.Add(URL.ID(), youtube.Video{State: youtube.Live, Source: Ladder})
	for name, fault := range map[string]httpfault.Fault{
		"of 200 MB":       httpfault.Zeros(200 << 20),
		"that never ends": httpfault.Endless(1 << 50),
	} {
		remove := y.Inject(youtube.Watch, fault)
		if got := r.Resolve(t.Context(), URL); got.State.Known() || strings.Contains(got.Detail, "no answer within") {
			t.Errorf("a page %s: got %s (%s)", name, got.State, got.Detail)
		}
		remove()
	}
	if got := r.Resolve(t.Context(), URL); got.State != live {
		t.Errorf("then got %s (%s)", got.State, got.Detail)
	}
}

// NoMedia is a live stream with renditions and without media.
type NoMedia []livestream.Rendition

// Live streams of one file with both tracks, and of separate ones.
var (
	Ladder         = NoMedia{livestream.Muxed144p, livestream.Muxed360p}
	SeparateTracks = NoMedia{livestream.Video144p, livestream.AudioOnly}
)

// Renditions implements youtube.Source.
func (m NoMedia) Renditions() []livestream.Rendition { return m }

// Playlist implements youtube.Source.
func (NoMedia) Playlist(int) (livestream.Playlist, error) {
	return livestream.Playlist{}, livestream.ErrNotFound
}

// Segment implements youtube.Source.
func (NoMedia) Segment(context.Context, int, uint64) ([]byte, error) {
	return nil, livestream.ErrNotFound
}

// Fault implements youtube.Source.
func (NoMedia) Fault(livestream.Part) httpfault.Fault { return nil }
