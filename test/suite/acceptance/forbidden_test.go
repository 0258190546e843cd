package acceptance_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// countingListener counts the connections to an address that nobody may reach.
func countingListener(t *testing.T, address string) (at string, connections *atomic.Int64) {
	t.Helper()
	connections = &atomic.Int64{}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Listener = must.Get(net.Listen("tcp", address+":0"))(t)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), connections
}

// Streams of one's own may reach one address here. They get no further by what is registered or by what their server
// names, and media of other sites do not get even there. All kinds of addresses at all hops: adapters/stream/media.
func TestNoStreamGetsToAnAddressThatIsNotAllowed(t *testing.T) { // section 5.6
	t.Parallel()
	env := startEnv(t, "MEDIA_ALLOWED_NETWORKS=127.0.0.1/32", "LOG_LEVEL=debug")
	inside, reached := countingListener(t, "127.0.0.2")
	allowed, entered := countingListener(t, "127.0.0.1")
	serve := func(contentType, page string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/moved" {
				http.Redirect(w, r, "http://"+inside+"/x", http.StatusFound)
				return
			}
			w.Header().Set("Content-Type", contentType)
			_, _ = fmt.Fprint(w, page)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	video := newVideoID()
	env.YouTube.Add(video, youtube.Video{State: youtube.Live, Origin: &youtube.Origin{HLS: "live.m3u8", Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-PROGRAM-DATE-TIME:%s\n#EXTINF:2,\nhttp://%s/x.ts\n", time.Now().UTC().Format(time.RFC3339), allowed)
	})}})
	playlist := "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nhttp://" + inside + "/x.ts\n"
	for name, c := range map[string]struct{ stream, tokenURL string }{
		"an audio stream":                {stream: "icy+http://" + inside + "/live"},
		"an audio stream that has moved": {stream: "icy+" + serve("", "") + "/moved"},
		"a stream":                       {stream: "http://" + inside + "/live.m3u8"},
		"a stream that has moved":        {stream: "hls+" + serve("", "") + "/moved"},
		"a stream's variant":             {stream: "hls+" + serve("", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nhttp://"+inside+"/x.m3u8\n")},
		"a stream's segment":             {stream: "hls+" + serve("", playlist)},
		"a stream's token URL":           {stream: "hls+" + serve("", playlist), tokenURL: "http://" + inside + "/token"},
		"a stream's token URL, moved":    {stream: "hls+" + serve("", playlist), tokenURL: serve("", "") + "/moved"},
		"media of another site":          {stream: env.YouTube.URL(video)},
	} {
		t.Run(name, func(t *testing.T) {
			runTimeline(t, 1)
			config := fastConfig()
			if c.tokenURL != "" {
				config["token_url"] = c.tokenURL
			}
			id := must.Get(env.Service.Register(t.Context(), c.stream, env.Receiver.URL(), config))(t)
			shown := func() string {
				text := string(must.Get(json.Marshal(must.Get(env.Service.Monitor(t.Context(), id))(t)))(t))
				for _, l := range env.Service.Log() {
					if l.MonitorID == id {
						text += "\n" + l.Raw
					}
				}
				return text
			}
			env.Eventually(t, time.Minute, "the refusal is told", func() bool { return strings.Contains(shown(), "is not asked: its address is not allowed") })
			if n := reached.Load() + entered.Load(); n > 0 {
				t.Errorf("%d connections arrived:\n%s", n, shown())
			}
		})
	}
}
