package acceptance_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/twitch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// startPushed starts a gateway with an application of Twitch, whose API learns of no start. So without pushes a start is learned after
// two minutes, and on the page of a channel after ten.
func startPushed(t *testing.T, env ...string) (*scenario.Env, *twitch.Site) {
	t.Helper()
	var site *twitch.Site
	started := startConfigured(t, func(fakes *testenv.Env) []string {
		site = twitch.New(fakes.YouTube)
		site.SetHelix(twitch.Helix{Unknown: true})
		return append(env, "EVIDENCE_CAPTURE=off", "TWITCH_CLIENT_ID="+twitch.ClientID, "TWITCH_CLIENT_SECRET="+twitch.ClientSecret, "YTDLP_PATH="+toolPath(t, "yt-dlp"), "STREAMLINK_PATH="+toolPath(t, "streamlink"))
	})
	site.SendWebhooksTo(started.Service.URL())
	return started, site
}

// pushedOf returns what the service says of pushes.
func pushedOf(t *testing.T, env *scenario.Env) map[string]any {
	t.Helper()
	return callOK(t, env.Service, http.MethodGet, "/api/v1/service", nil)["eventsub"].(map[string]any)
}

// subscribed waits until the starts and ends of a login are pushed.
func subscribed(t *testing.T, site *twitch.Site, login string) {
	t.Helper()
	eventually(t, time.Minute, login+" is subscribed", func() bool { of, _ := site.Subscriptions(login); return len(of) == 2 })
}

// A monitor waits, and a channel is watched. Both learn of a start by a push, over a socket that is lost, and one that asks for another.
// What follows from each message and each socket: domain/eventsub and application/pushes, in virtual time.
func TestTwitchPushesStartsOverASocket(t *testing.T) { // S28
	runTimeline(t, 2)
	env, site := startPushed(t)
	site.Set("pushed", twitch.NotLive)
	site.Set("pushed_channel", twitch.NotLive)
	id := must.Get(env.Service.Register(t.Context(), twitch.URL("pushed"), env.Receiver.URL(), fastConfig()))(t)
	channel := create(t, env.Service, "/api/v1/channels", "channel_id", map[string]any{"channel": twitch.URL("pushed_channel"), "callback_url": env.Receiver.URL(), "config": fastConfig()})
	subscribed(t, site, "pushed")
	subscribed(t, site, "pushed_channel")
	env.WaitStatus(t, id, "waiting", scenario.StartTimeout)
	shown := func() map[string]any {
		return callOK(t, env.Service, http.MethodGet, "/api/v1/channels/"+channel, nil)
	}
	eventually(t, time.Minute, "the channel is read", func() bool { return shown()["reading"].(map[string]any)["read_at"] != nil })

	expect.Equal(t, "sockets that are closed", site.CloseSockets(4000), 1)
	waitLog(t, env.Service, time.Minute, hasPrefix("Twitch pushes starts again"))
	expect.Equal(t, "sockets that are asked for another", site.AskToReconnect(), 1)
	eventually(t, time.Minute, "there is another socket", func() bool {
		return site.Push("pushed", "stream.offline") == 1 && pushedOf(t, env)["message_at"] != nil
	})

	stream := must.Get(env.Library.Start(t.Context(), livestream.Config{Preroll: time.Minute}))(t)
	site.Broadcast("pushed", stream)
	expect.Equal(t, "pushes of the first", site.Push("pushed", "stream.online"), 1)
	env.WaitEvent(t, id, scenario.Started, 50*time.Second)
	site.Broadcast("pushed_channel", must.Get(env.Library.Start(t.Context(), livestream.Config{Preroll: time.Minute}))(t))
	expect.Equal(t, "pushes of the second", site.Push("pushed_channel", "stream.online"), 1)
	eventually(t, 50*time.Second, "the channel's broadcast is watched", func() bool { return shown()["counts"].(map[string]any)["watched"] == 1. })

	state := pushedOf(t, env)
	expect.Equal(t, "the transport, subscriptions and the failure", []any{state["transport"], state["subscriptions"], state["missing"], state["failure"]}, []any{"conduit", 4.0, 0.0, nil})
	expect.Equal(t, "it is connected", state["connected_at"] != nil, true)
	callOK(t, env.Service, http.MethodDelete, "/api/v1/channels/"+channel+"?running=stop", nil)
	eventually(t, time.Minute, "the channel is not subscribed any more", func() bool { of, all := site.Subscriptions("pushed_channel"); return len(of) == 0 && all == 2 })
	for _, l := range env.Service.Log() {
		if strings.Contains(l.Raw, twitch.ClientSecret) {
			t.Fatalf("the log shows the secret: %s", l.Raw)
		}
	}
}

func TestTwitchPushesStartsByWebhook(t *testing.T) { // S28
	runTimeline(t, 1)
	env, site := startPushed(t, "TWITCH_EVENTSUB_URL=https://monitor.example")
	site.Set("pushed", twitch.NotLive)
	id := must.Get(env.Service.Register(t.Context(), twitch.URL("pushed"), env.Receiver.URL(), fastConfig()))(t)
	subscribed(t, site, "pushed")
	env.WaitStatus(t, id, "waiting", scenario.StartTimeout)
	expect.Equal(t, "revoked subscriptions", site.Revoke("pushed", "stream.online"), 1)
	waitLog(t, env.Service, time.Minute, hasPrefix("Twitch has revoked a subscription"))
	subscribed(t, site, "pushed")
	site.Broadcast("pushed", must.Get(env.Library.Start(t.Context(), livestream.Config{Preroll: time.Minute}))(t))
	expect.Equal(t, "pushes", site.Push("pushed", "stream.online"), 1)
	env.WaitEvent(t, id, scenario.Started, 50*time.Second)
	eventually(t, time.Minute, "both subscriptions send", func() bool { return pushedOf(t, env)["subscriptions"] == 2. })
	state := pushedOf(t, env)
	expect.Equal(t, "the state", []any{state["transport"], state["connected_at"], state["failure"]}, []any{"webhook", nil, nil})
}
