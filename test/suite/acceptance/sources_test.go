package acceptance_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/twitcasting"
	"github.com/stream-monitor/stream-monitor/test/fake/twitch"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

// site is a source whose URLs name places where broadcasts come and go.
type site struct {
	url       string
	broadcast func(*livestream.Stream)
	over      func() // the site says that the broadcast is over
	advertise func() // shows bright advertisements for some seconds; nil: it has none
}

func TestStreamsOfOtherSitesAreWatchedFromTheirStartToTheirEnd(t *testing.T) { // S25, S26
	tw, tc := twitch.New(shared.YouTube), twitcasting.New(shared.YouTube)
	const login, user = "acceptance_login", "c:acceptance"
	tw.Set(login, twitch.NotLive)
	tc.Set(user, twitcasting.NotLive)
	for name, s := range map[string]site{
		"Twitch": {
			url: twitch.URL(login), broadcast: func(s *livestream.Stream) { tw.Broadcast(login, s) }, over: func() { tw.Set(login, twitch.NotLive) },
			advertise: func() {
				bright := must.Get(shared.Library.Start(t.Context(), livestream.Config{Preroll: 10 * time.Minute}))(t)
				tw.Advertise(login, bright, 14*time.Second, false)
				scenario.Sleep(t.Context(), 20*time.Second)
			},
		},
		"TwitCasting": {url: twitcasting.URL(user), broadcast: func(s *livestream.Stream) { tc.Broadcast(user, s) }, over: func() { tc.Set(user, twitcasting.NotLive) }},
	} {
		t.Run(name, func(t *testing.T) {
			runTimeline(t, 1)
			s.play(t)
		})
	}
}

func (s site) play(t *testing.T) {
	id := must.Get(shared.Service.Register(t.Context(), s.url, shared.Receiver.URL(), fastConfig()))(t)
	scenario.Sleep(t.Context(), 10*time.Second)
	if now := callOK(t, shared.Service, http.MethodGet, "/api/v1/monitors/"+id, nil); now["status"] == "monitoring" {
		t.Errorf("it is watched before it is live: %v", now)
	}
	stream := must.Get(shared.Library.Start(t.Context(), livestream.Config{Packaging: livestream.Packaging{ProgramTime: livestream.DateTimePerSegment}}))(t)
	s.broadcast(stream)
	shared.WaitEvent(t, id, scenario.Started, scenario.StartTimeout)
	black := stream.Black(true)
	alert := shared.WaitEvent(t, id, scenario.Blackout, time.Minute)
	scenario.AssertNear(t, "the onset", alert.Data.StartedAt, black, mediaTolerance)
	if s.advertise != nil {
		s.advertise()
	}
	back := stream.Black(false)
	recovered := shared.WaitEvent(t, id, scenario.BlackoutRecovered, time.Minute)
	scenario.AssertNear(t, "the recovery", recovered.Data.RecoveredAt, back, mediaTolerance)
	stream.Silence(true)
	shared.WaitEvent(t, id, "alert.silence", time.Minute)
	stream.Silence(false)
	shared.WaitEvent(t, id, "alert.silence_recovered", time.Minute)
	stream.Freeze(true)
	shared.WaitEvent(t, id, scenario.Outage, outageThreshold+time.Minute)
	stream.Freeze(false)
	scenario.Sleep(t.Context(), 10*time.Second)
	ended := stream.End()
	s.over()
	end := shared.WaitEvent(t, id, scenario.Ended, 3*time.Minute)
	if gone := end.Received.Sub(ended); gone < 90*time.Second {
		t.Errorf("it has ended after %s", gone)
	}
	shared.AssertEvents(t, id, scenario.Started, scenario.Blackout, scenario.BlackoutRecovered, "alert.silence", "alert.silence_recovered", scenario.Outage, scenario.Ended)
}
