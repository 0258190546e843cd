package acceptance_test

import (
	"cmp"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/twitcasting"
	"github.com/stream-monitor/stream-monitor/test/fake/twitch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

// adBreak is how long a break for advertisements lasts: longer than a playlist, and than an outage before its alert.
const adBreak = 90 * time.Second

// site is a source whose URLs name places where broadcasts come and go.
type site struct {
	env       *scenario.Env // nil: shared
	url       string
	config    map[string]any       // beside that of fastConfig
	packaging livestream.Packaging // with its own program times
	broadcast func(*livestream.Stream)
	over      func() // the site says that the broadcast is over
	advertise func() // shows bright advertisements for adBreak; nil: it has none
	returns   time.Duration
}

func TestStreamsOfOtherSitesAreWatchedFromTheirStartToTheirEnd(t *testing.T) { // S25, S26
	t.Parallel()
	tw, tc := twitch.New(shared.YouTube), twitcasting.New(shared.YouTube)
	const login, user = "acceptance_login", "c:acceptance"
	tw.Set(login, twitch.NotLive)
	tc.Set(user, twitcasting.NotLive)
	for name, s := range map[string]site{
		"Twitch": {
			url: twitch.URL(login), broadcast: func(s *livestream.Stream) { tw.Broadcast(login, s) },
			over: func() { tw.Set(login, twitch.NotLive) }, advertise: func() { advertise(t, tw, login) }, returns: 90 * time.Second,
		},
		"TwitCasting": {url: twitcasting.URL(user), broadcast: func(s *livestream.Stream) { tc.Broadcast(user, s) }, over: func() { tc.Set(user, twitcasting.NotLive) }, returns: 90 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.play(t)
		})
	}
	t.Run("a broadcast that flaps and advertises", func(t *testing.T) {
		t.Parallel()
		flapAndAdvertise(t, tw)
	})
	t.Run("a broadcast whose URLs expire", func(t *testing.T) {
		t.Parallel()
		expireURLs(t, tw)
	})
}

// advertise shows advertisements on Twitch for adBreak, with these faults of picture and sound, and some seconds of what follows.
func advertise(t *testing.T, tw *twitch.Site, login string, faults ...livestream.Action) {
	t.Helper()
	config := livestream.Config{Preroll: 20 * time.Minute}
	for _, a := range faults {
		config.Script = append(config.Script, livestream.Cue{Do: a})
	}
	tw.Advertise(login, must.Get(shared.Library.Start(t.Context(), config))(t), adBreak, false)
	scenario.Sleep(t.Context(), adBreak+10*time.Second)
}

// flapAndAdvertise plays a start that flaps, and black and silent advertisements in good media. Neither is told.
func flapAndAdvertise(t *testing.T, tw *twitch.Site) {
	t.Helper()
	const login = "acceptance_flaps"
	stream := must.Get(shared.Library.Start(t.Context(), livestream.Config{Packaging: livestream.Packaging{ProgramTime: livestream.DateTimePerSegment}}))(t)
	tw.Broadcast(login, stream)
	id := must.Get(shared.Service.Register(t.Context(), twitch.URL(login), shared.Receiver.URL(), fastConfig()))(t)
	shared.WaitEvent(t, id, scenario.Started, scenario.StartTimeout)
	health := func() any {
		h := must.Get(shared.Service.Monitor(t.Context(), id))(t)["health"].(map[string]any)
		return [2]any{h["video"], h["audio"]}
	}
	good := func() bool { return health() == [2]any{"ok", "ok"} }
	eventually(t, time.Minute, "its media are seen", good)

	tw.Set(login, twitch.NotLive)
	stream.Fail(livestream.Playlists, httpfault.Status(http.StatusNotFound))
	scenario.Sleep(t.Context(), 25*time.Second)
	stream.Heal(livestream.Playlists)
	tw.Set(login, twitch.Live)
	checked := shared.Analysed(t, id)
	eventually(t, 90*time.Second, "its media are seen again", func() bool { return shared.Analysed(t, id) > checked && good() })

	advertise(t, tw, login, livestream.Black, livestream.Silence)
	expect.Equal(t, "the health after black and silent advertisements", health(), any([2]any{"ok", "ok"}))
	shared.AssertEvents(t, id, scenario.Started)
}

// expireURLs refuses the URLs of a broadcast's media twice. It is resolved again, and nothing is told.
func expireURLs(t *testing.T, tw *twitch.Site) {
	t.Helper()
	const login = "acceptance_expires"
	tw.Broadcast(login, must.Get(shared.Library.Start(t.Context(), livestream.Config{Packaging: livestream.Packaging{ProgramTime: livestream.DateTimePerSegment}}))(t))
	id := must.Get(shared.Service.Register(t.Context(), twitch.URL(login), shared.Receiver.URL(), fastConfig()))(t)
	shared.WaitEvent(t, id, scenario.Started, scenario.StartTimeout)
	for range 2 {
		refused, analysed := tw.Refused(login), shared.Analysed(t, id)
		eventually(t, time.Minute, "its media are seen", func() bool { return shared.Analysed(t, id) > analysed })
		tw.ExpireURLs(login)
		eventually(t, time.Minute, "its URLs are refused", func() bool { return tw.Refused(login) > refused })
		analysed = shared.Analysed(t, id)
		eventually(t, time.Minute, "its media are seen through others", func() bool { return shared.Analysed(t, id) > analysed+2 })
	}
	shared.AssertEvents(t, id, scenario.Started)
}

func (s site) play(t *testing.T) {
	env, config := cmp.Or(s.env, shared), fastConfig()
	maps.Copy(config, s.config)
	id := must.Get(env.Service.Register(t.Context(), s.url, env.Receiver.URL(), config))(t)
	scenario.Sleep(t.Context(), 10*time.Second)
	if now := callOK(t, env.Service, http.MethodGet, "/api/v1/monitors/"+id, nil); now["status"] == "monitoring" {
		t.Errorf("it is watched before it is live: %v", now)
	}
	s.packaging.ProgramTime = livestream.DateTimePerSegment
	stream := must.Get(shared.Library.Start(t.Context(), livestream.Config{Packaging: s.packaging}))(t)
	s.broadcast(stream)
	env.WaitEvent(t, id, scenario.Started, scenario.StartTimeout)
	black := stream.Black(true)
	alert := env.WaitEvent(t, id, scenario.Blackout, time.Minute)
	scenario.AssertNear(t, "the onset", alert.Data.StartedAt, black, mediaTolerance)
	var ads time.Duration
	if s.advertise != nil {
		ads = adBreak
		s.advertise()
	}
	back := stream.Black(false)
	recovered := env.WaitEvent(t, id, scenario.BlackoutRecovered, time.Minute)
	scenario.AssertNear(t, "the recovery", recovered.Data.RecoveredAt, back, mediaTolerance)
	scenario.AssertNear(t, "the end by its duration, which has no advertisements", recovered.Data.StartedAt.Add(ads+time.Duration(recovered.Data.TotalDurationSec*float64(time.Second))), back, mediaTolerance)
	stream.Silence(true)
	env.WaitEvent(t, id, "alert.silence", time.Minute)
	stream.Silence(false)
	env.WaitEvent(t, id, "alert.silence_recovered", time.Minute)
	stream.Freeze(true)
	env.WaitEvent(t, id, scenario.Outage, outageThreshold+time.Minute)
	stream.Freeze(false)
	scenario.Sleep(t.Context(), 10*time.Second)
	ended := stream.End()
	s.over()
	end := env.WaitEvent(t, id, scenario.Ended, 3*time.Minute)
	if gone := end.Received.Sub(ended); gone < s.returns {
		t.Errorf("it has ended after %s", gone)
	}
	env.AssertEvents(t, id, scenario.Started, scenario.Blackout, scenario.BlackoutRecovered, "alert.silence", "alert.silence_recovered", scenario.Outage, scenario.Ended)
}
