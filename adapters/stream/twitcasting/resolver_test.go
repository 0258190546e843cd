package twitcasting_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/streamlink"
	source "github.com/stream-monitor/stream-monitor/adapters/stream/twitcasting"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/twitcasting"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	_ "github.com/stream-monitor/stream-monitor/test/harness/testtools/launcher" // the tests start tools
)

var _ worker.Resolver = (*source.Resolver)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const user = "c:some_user"

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestEveryAnswerGivesItsState(t *testing.T) {
	const hls = `,"tc-hls":{"streams":{"high":"https://m.test/h.m3u8","low":"https://m.test/l.m3u8","medium":"ftp://m.test/m"}}`
	for name, c := range map[string]struct {
		status int
		body   string
		err    error
		want   watch.StreamState
	}{
		"live":                 {200, `{"movie":{"id":7,"live":true}` + hls + `}`, nil, watch.Live},
		"over":                 {200, `{"movie":{"id":7,"live":false}` + hls + `}`, nil, watch.Upcoming},
		"nothing":              {200, `{}`, nil, watch.Upcoming},
		"no id":                {200, `{"movie":{"id":0,"live":true}` + hls + `}`, nil, watch.Upcoming},
		"live without HLS":     {200, `{"movie":{"id":7,"live":true},"llfmp4":{"streams":{"main":"wss://m.test"}}}`, nil, watch.ToolFailed},
		"a page":               {200, `<html>`, nil, watch.ToolFailed},
		"a list":               {200, `[]`, nil, watch.ToolFailed},
		"too much":             {200, `{"movie":` + strings.Repeat(" ", source.MaxBody) + `null}`, nil, watch.ToolFailed},
		"403":                  {403, ``, nil, watch.Blocked},
		"429":                  {429, ``, nil, watch.RateLimited},
		"503":                  {503, ``, nil, watch.Unreachable},
		"a redirect":           {302, ``, nil, watch.Unreachable},
		"404":                  {404, ``, nil, watch.Unreachable},
		"no such name":         {0, ``, &net.DNSError{Err: "no such host", Name: "twitcasting.tv"}, watch.NameUnresolved},
		"a refused connection": {0, ``, io.ErrUnexpectedEOF, watch.Unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				if want := "https://twitcasting.tv/streamserver.php?mode=client&player=pc_web&target=c%3Asome_user"; r.URL.String() != want {
					t.Errorf("request for %s", r.URL)
				}
				if c.err != nil {
					return nil, c.err
				}
				return &http.Response{StatusCode: c.status, Body: io.NopCloser(strings.NewReader(c.body)), Header: http.Header{"Location": {"https://elsewhere.test/"}}, Request: r}, nil
			})}
			got := source.New(client).Resolve(t.Context(), monitor.StreamURL(twitcasting.URL(user)))
			if got.State != c.want || got.Source != source.Name || got.State != watch.Live && got.Detail == "" || strings.Contains(got.Detail, "target=") {
				t.Errorf("got %+v", got)
			}
			if got.State == watch.Live && (got.Broadcast != "7" || len(got.Renditions) != 2 || got.Renditions[0].Height != 360 || got.Renditions[1].URL != "https://m.test/h.m3u8") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAnAnswerEndsInTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := source.New(http.DefaultClient).Resolve(ctx, monitor.StreamURL(twitcasting.URL(user))); got.State != watch.Unreachable {
		t.Errorf("got %+v", got)
	}
}

// TestTheRealStreamlinkDistinguishesEveryState runs the installed streamlink, to notice a release that sees TwitCasting differently.
func TestTheRealStreamlinkDistinguishesEveryState(t *testing.T) {
	y := pythontooltest.YouTube(t)
	site := twitcasting.New(y)
	media := must.Get(must.Get(livestream.Open(livestream.Options{}))(t).Start(t.Context(), livestream.Config{Preroll: 30 * time.Second}))(t)
	resolver := streamlink.New(streamlink.Config{Site: source.Site, Path: pythontooltest.Find(t, "STREAMLINK_PATH", "streamlink")}, slog.New(slog.DiscardHandler))
	for state, want := range map[twitcasting.State]watch.StreamState{
		twitcasting.Unknown: watch.Unreachable, twitcasting.NotLive: watch.Unreachable, twitcasting.Live: watch.ManifestFound,
		twitcasting.Password: watch.Unreachable, twitcasting.Failing: watch.Unreachable,
	} {
		t.Run(fmt.Sprintf("%q", state), func(t *testing.T) {
			id := site.Broadcast(user, media)
			site.Set(user, state)
			got := resolver.Resolve(t.Context(), monitor.StreamURL(twitcasting.URL(user)))
			if got.State != want || want == watch.ManifestFound && (got.Broadcast != id || !strings.HasPrefix(got.Manifest, "https://hls.twitcasting.tv/")) {
				t.Errorf("got %+v, want %s", got, want)
			}
		})
	}
}
