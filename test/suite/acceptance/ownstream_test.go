package acceptance_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/cdn"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

// The HLS needs a token for every request, which works for half a minute. The DASH needs a header field and a query.
func TestAStreamOfOnesOwnIsWatchedFromItsStartToItsEnd(t *testing.T) { // sections 5.7 and 7.6
	t.Parallel()
	tokens, plain := cdn.New(), cdn.New()
	t.Cleanup(tokens.Close)
	t.Cleanup(plain.Close)
	tokens.Set(func(s *cdn.State) { s.TokenLife = 30 * time.Second })
	plain.Set(func(s *cdn.State) {
		s.Wants = func(r *http.Request) bool {
			return r.Header.Get("X-Key") == "s3cr3t" && (r.URL.RawQuery == "sig=s3cr3t") == (r.URL.Path == "/live/manifest.mpd")
		}
	})
	broadcast := func(server *cdn.Server) func(*livestream.Stream) {
		return func(stream *livestream.Stream) { server.Set(func(s *cdn.State) { s.Stream = stream }) }
	}
	for name, s := range map[string]site{
		"HLS": {
			env: complete, url: tokens.StreamURL("master.m3u8"), broadcast: broadcast(tokens), over: func() {},
			config: map[string]any{"token_url": tokens.TokenURL(), "copy_query": true},
		},
		"DASH": {
			env: complete, url: "dash+" + plain.StreamURL("manifest.mpd") + "?sig=s3cr3t", broadcast: broadcast(plain), over: func() {},
			config: map[string]any{"http_headers": map[string]any{"X-Key": "s3cr3t"}}, packaging: livestream.Packaging{DASH: livestream.TimelineTime},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.play(t)
		})
	}
	t.Cleanup(func() {
		asked := 0
		for _, r := range tokens.Requests() {
			if r.Status == http.StatusForbidden {
				t.Errorf("%s?%s was refused", r.Path, r.Query)
			}
			if r.Path == "/token" {
				asked++
			}
		}
		if asked < 3 {
			t.Errorf("a token that works for half a minute was asked for %d times", asked)
		}
	})
}

func TestAStreamBehindAnExpiredTokenSaysSo(t *testing.T) { // section 5.7
	t.Parallel()
	t.Cleanup(func() { // once both have ended
		if log := complete.Service.Tail(100_000); strings.Contains(log, "s3cr3t") || strings.Contains(log, "t0k3n") {
			t.Error("the log shows the token")
		}
	})
	for prefix, entry := range map[string]string{"hls+": "master.m3u8", "dash+": "manifest.mpd"} {
		t.Run(entry, func(t *testing.T) {
			t.Parallel()
			expire(t, prefix, entry)
		})
	}
}

// expire lets the token of a stream expire, while its token URL gives no other, and then gives one again.
func expire(t *testing.T, prefix, entry string) {
	server := cdn.New()
	t.Cleanup(server.Close)
	stream := must.Get(complete.Library.Start(t.Context(), livestream.Config{Packaging: livestream.Packaging{DASH: livestream.TimelineTime, ProgramTime: livestream.DateTimePerSegment}}))(t)
	server.Set(func(s *cdn.State) { s.TokenLife, s.Stream = 30*time.Second, stream })
	config := fastConfig()
	config["token_url"], config["copy_query"] = server.TokenURL(), true
	id := must.Get(complete.Service.Register(t.Context(), server.StreamURL(entry), complete.Receiver.URL(), config))(t)
	complete.WaitEvent(t, id, scenario.Started, time.Minute)
	server.Set(func(s *cdn.State) { s.TokenStatus = http.StatusServiceUnavailable })
	told := complete.WaitEvent(t, id, scenario.Outage, 3*time.Minute)
	expect.Equal(t, "the failure", told.Data.Failure, "token")
	m := callOK(t, complete.Service, http.MethodGet, "/api/v1/monitors/"+id, nil)
	expect.Text(t, "last_error", m["last_error"].(string), "token: 127.0.0.1:", "answered 403: the token expired at ", "the token URL has given no other: 127.0.0.1:", "answered 503")
	expect.Equal(t, "the settings", []any{m["config"].(map[string]any)["token_url"], m["config"].(map[string]any)["copy_query"], m["stream_url"]}, []any{"set", true, any(prefix + server.StreamURL(entry))})
	server.Set(func(s *cdn.State) { s.TokenStatus = 0 })
	eventually(t, 2*time.Minute, "the stream is seen again", func() bool {
		return must.Get(complete.Service.Monitor(t.Context(), id))(t)["health"].(map[string]any)["video"] == "ok"
	})
	server.Set(func(s *cdn.State) { s.Wants = func(*http.Request) bool { return false } })
	stream.End()
	for _, e := range complete.Receiver.All() {
		if bytes.Contains(e.Body, []byte("s3cr3t")) || bytes.Contains(e.Body, []byte("t0k3n")) {
			t.Errorf("an event shows the token: %s", e.Body)
		}
	}
	complete.AssertEvents(t, id, scenario.Started, scenario.Outage)
}
