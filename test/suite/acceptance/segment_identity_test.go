package acceptance_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// unequalCopies is a source of which every second reading of a playlist comes from a server
// whose copy is older.
type unequalCopies struct {
	youtube.Source
	readings atomic.Int64
}

func (s *unequalCopies) Playlist(itag int) (livestream.Playlist, error) {
	const older = 10 // segments of 2 s
	p, err := s.Source.Playlist(itag)
	if s.readings.Add(1)%2 == 0 && len(p.Entries) > older {
		p.Entries = p.Entries[:len(p.Entries)-older]
	}
	return p, err
}

// withTokens serves the playlists of a stream so that each reading gives every segment another
// URI.
func withTokens(stream *livestream.Stream) http.Handler {
	var readings atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/index.m3u8") {
			stream.Handler().ServeHTTP(w, r)
			return
		}
		plain := httptest.NewRecorder()
		stream.Handler().ServeHTTP(plain, r)
		token := fmt.Sprintf(".ts?token=%d\n", readings.Add(1))
		livestream.WritePlaylist(w, strings.ReplaceAll(plain.Body.String(), ".ts\n", token))
	})
}

func TestAPlaylistIsWatchedWhateverServerAndTokenAnswer(t *testing.T) { // decision S5
	runOutageTimeline(t, 2, 110*time.Second)
	copies := watchStream(t, shared, livestream.Config{}, func(s *livestream.Stream) youtube.Source { return &unequalCopies{Source: s} })

	tokens := &watchedStream{t: t, env: shared, video: newVideoID()}
	var err error
	if tokens.Stream, err = shared.Library.Start(t.Context(), livestream.Config{Preroll: 30 * time.Second}); err != nil {
		t.Fatal(err)
	}
	shared.YouTube.Add(tokens.video, youtube.Video{State: youtube.Live, Origin: &youtube.Origin{Handler: withTokens(tokens.Stream), HLS: "master.m3u8"}})
	tokens.id = register(t, shared, tokens.video, fastConfig())
	tokens.waitEvent("stream.started", startTimeout)
	tokens.waitCheck(60 * time.Second)

	left := tokens.Stop()
	copies.subtest(t, "copies of unequal age", func(*testing.T) {
		copies.assertBlackoutCycle(0)
		copies.endAndAssert(blackoutAlert, blackoutRecovered)
	})
	tokens.subtest(t, "a standstill under changing tokens", func(*testing.T) {
		analysed := checks(t, shared, tokens.id)
		tokens.waitOutageAlert(left, "stalled")
		if n := checks(t, shared, tokens.id) - analysed; n > 1 {
			t.Errorf("the same segment was analysed %v times", n)
		}
	})
}
