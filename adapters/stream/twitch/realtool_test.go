package twitch_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/streamlink"
	source "github.com/stream-monitor/stream-monitor/adapters/stream/twitch"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/twitch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	_ "github.com/stream-monitor/stream-monitor/test/harness/testtools/launcher" // the tests start tools
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const login = "some_login"

var ladder = []livestream.Rendition{livestream.Muxed144p, livestream.Muxed360p, livestream.AudioOnly}

// TestTheRealToolsDistinguishEveryState runs the installed tools, to notice a release that sees Twitch differently.
func TestTheRealToolsDistinguishEveryState(t *testing.T) {
	site := twitch.New(pythontooltest.YouTube(t))
	media := must.Get(must.Get(livestream.Open(livestream.Options{}))(t).Start(t.Context(), livestream.Config{Renditions: ladder, Preroll: 30 * time.Second}))(t)
	url := must.Get(monitor.ParseStreamURL(twitch.URL(login)))(t)
	log := slog.New(slog.DiscardHandler)
	path := pythontooltest.Find(t, "YTDLP_PATH", "yt-dlp")
	forks := ytdlp.NewForkServer(path, []string{}, log) // which take half of the CPU time
	defer forks.Close()
	first, second := ytdlp.New(ytdlp.Config{Site: source.Site, Path: path, ForkServer: forks}, log), streamlink.New(streamlink.Config{Site: source.Site, Path: pythontooltest.Find(t, "STREAMLINK_PATH", "streamlink")}, log)
	for _, c := range []struct {
		state         twitch.State
		ytdlp, second watch.StreamState
		detail        string
	}{
		{twitch.Gone, watch.Removed, watch.Unreachable, "does not exist"},
		{twitch.NotLive, watch.Upcoming, watch.Unreachable, "not currently live"},
		{twitch.Live, watch.Live, watch.ManifestFound, ""},
		{twitch.Late, watch.Offline, watch.Unreachable, "404"},
		{twitch.Rerun, watch.Upcoming, watch.ManifestFound, "Twitch shows a repetition"},
		{twitch.Subscribers, watch.MembersOnly, watch.Unreachable, "subscriber-only"},
		{twitch.Region, watch.RegionLocked, watch.Unreachable, "content_geoblocked"},
		{twitch.Broken, watch.ToolFailed, watch.ManifestFound, "KeyError('data')"},
		{twitch.Null, watch.ToolFailed, watch.Unreachable, "'NoneType' object"},
		{twitch.Limited, watch.RateLimited, watch.RateLimited, "Twitch limits the requests of this address (HTTP 429)"},
		{twitch.Refused, watch.Blocked, watch.Unreachable, "Twitch refuses the requests of this address (HTTP 403)"}, // streamlink reads the page of a 403 as an answer
		{twitch.Failing, watch.Unreachable, watch.Unreachable, "Twitch answers with an error (HTTP 503)"},
		{twitch.NoPlaylist, watch.Unreachable, watch.Unreachable, "Twitch answers with an error (HTTP 503)"},
	} {
		t.Run(string(c.state), func(t *testing.T) {
			id := site.Broadcast(login, media)
			site.Set(login, c.state)
			got := first.Resolve(t.Context(), url)
			if got.State != c.ytdlp {
				t.Errorf("yt-dlp: got %s (%s), want %s", got.State, got.Detail, c.ytdlp)
			}
			expect.Text(t, "the detail", got.Detail, c.detail)
			if c.state == twitch.Live {
				expectLive(t, got, id)
			}
			other := second.Resolve(t.Context(), url)
			if other.State != c.second {
				t.Errorf("streamlink: got %s (%s), want %s", other.State, other.Detail, c.second)
			}
			if c.state == twitch.Live && (other.Broadcast != id || other.Manifest == "") {
				t.Errorf("streamlink: got %+v", other)
			}
		})
	}
}

func expectLive(t *testing.T, got watch.Resolution, id string) {
	t.Helper()
	expect.Equal(t, "broadcast", got.Broadcast, id)
	expect.Equal(t, "title", got.Title, "A test")
	expect.Equal(t, "channel", got.Channel, "SOME_LOGIN")
	if time.Since(got.ActualStart) > time.Minute || len(got.Renditions) != len(ladder) {
		t.Errorf("got %+v", got)
	}
	for _, r := range got.Renditions {
		if r.HasVideo != (r.Height > 0) || !r.HasAudio {
			t.Errorf("rendition %+v", r)
		}
	}
}

// lent is a request.Cookies of one jar.
type lent struct{ jar cookie.Jar }

func (l lent) Jar() cookie.Jar { return l.jar }

func (lent) Return(context.Context, cookie.Use) bool { return false }

// The login of a subscriber is the cookie auth-token, which yt-dlp sends to Twitch's API.
func TestTheRealToolUsesTheLoginOfASubscriber(t *testing.T) { // section 17.7
	site := twitch.New(pythontooltest.YouTube(t))
	media := must.Get(must.Get(livestream.Open(livestream.Options{}))(t).Start(t.Context(), livestream.Config{Renditions: ladder, Preroll: 30 * time.Second}))(t)
	id := site.Broadcast(login, media)
	site.Set(login, twitch.Subscribers)
	lister := ytdlp.New(ytdlp.Config{Site: source.Site, Path: pythontooltest.Find(t, "YTDLP_PATH", "yt-dlp")}, slog.New(slog.DiscardHandler))
	text := fmt.Sprintf(".twitch.tv\tTRUE\t/\tTRUE\t%d\tauth-token\t%s\n", time.Now().Add(time.Hour).Unix(), twitch.SubscriberToken)
	file := must.Get(cookie.Parse(text))(t).Keep(monitor.CookieHosts())
	if signedIn := monitor.Twitch.Site().SignedIn(file, time.Now()); !signedIn {
		t.Error("the jar counts as one without a login")
	}
	for _, c := range []struct {
		ctx       context.Context
		broadcast string
		members   bool
	}{
		{t.Context(), "", true},
		{request.WithCookies(t.Context(), lent{cookie.Jar{Name: "subscriber", Version: 1, Text: file.Text()}}), id, false},
	} {
		l := must.Get(lister.List(c.ctx, twitch.URL(login)))(t)
		if len(l.Streams) != 1 || l.Streams[0].Broadcast != c.broadcast || l.Streams[0].MembersOnly != c.members || l.Partial {
			t.Errorf("listed: %+v, want the broadcast %q, for members: %t", l, c.broadcast, c.members)
		}
	}
}
