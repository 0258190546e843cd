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

// A stream of Twitch waits, and another place is registered as a channel. Helix tells both starts, by which the real yt-dlp is asked. Then the
// credentials are refused. What follows from each answer: domain/watch, domain/officialstate and domain/channel, in virtual time.
func TestHelixTellsWhenTheToolsAreAskedAboutTwitch(t *testing.T) { // S23, section 20.2
	runTimeline(t, 1)
	var site *twitch.Site
	env := startConfigured(t, func(fakes *testenv.Env) []string {
		site = twitch.New(fakes.YouTube)
		return []string{"EVIDENCE_CAPTURE=off", "YTDLP_PATH=" + toolPath(t, "yt-dlp"), "TWITCH_CLIENT_ID=" + twitch.ClientID, "TWITCH_CLIENT_SECRET=" + twitch.ClientSecret}
	})
	const waits, place = "helix_waits", "helix_place"
	site.Set(waits, twitch.NotLive)
	site.Set(place, twitch.NotLive)
	id := must.Get(env.Service.Register(t.Context(), twitch.URL(waits), env.Receiver.URL(), fastConfig()))(t)
	env.WaitStatus(t, id, "waiting", scenario.StartTimeout)
	channel := create(t, env.Service, "/api/v1/channels", "channel_id", map[string]any{"channel": twitch.URL(place), "callback_url": env.Receiver.URL(), "config": fastConfig()})
	shown := func() map[string]any {
		return callOK(t, env.Service, http.MethodGet, "/api/v1/service", nil)["twitch_api"].(map[string]any)
	}
	eventually(t, 70*time.Second, "Helix is asked about the stream", func() bool { return shown()["streams"] == 1. })
	expect.Equal(t, "the failure", shown()["failure"], nil)

	stream := must.Get(env.Library.Start(t.Context(), livestream.Config{Preroll: time.Minute}))(t)
	site.RevokeTokens()
	site.Broadcast(waits, stream)
	env.WaitEvent(t, id, scenario.Started, 2*time.Minute)
	site.Broadcast(place, stream)
	eventually(t, 3*time.Minute, "the broadcast of the channel is watched", func() bool {
		streams := callOK(t, env.Service, http.MethodGet, "/api/v1/channels/"+channel, nil)["streams"].([]any)
		return len(streams) == 1 && streams[0].(map[string]any)["standing"] == "watched"
	})

	site.SetHelix(twitch.Helix{Status: http.StatusForbidden})
	site.Set("helix_other", twitch.NotLive)
	other := must.Get(env.Service.Register(t.Context(), twitch.URL("helix_other"), env.Receiver.URL(), fastConfig()))(t)
	told := waitLog(t, env.Service, 90*time.Second, hasPrefix("the official API of a source gives no answer"))
	expect.Equal(t, "the failure in the log, for "+other, told.Data["failure"], any("key_refused"))
	expect.Equal(t, "the failure in the API", shown()["failure"].(map[string]any)["kind"], any("key_refused"))
	for _, l := range env.Service.Log() {
		if strings.Contains(l.Raw, twitch.ClientSecret) || strings.Contains(l.Raw, "Bearer") {
			t.Fatalf("the log shows a secret: %s", l.Raw)
		}
	}
}
