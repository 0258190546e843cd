package channels_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

// officialAPI is the API of a source of places.
type officialAPI struct {
	live  map[monitor.StreamURL]string
	fails bool
	calls []int // places of each
}

// Broadcasts implements channels.BroadcastsAPI.
func (a *officialAPI) Broadcasts(_ context.Context, places []monitor.StreamURL) (map[monitor.StreamURL]string, error) {
	a.calls = append(a.calls, len(places))
	if a.fails {
		return nil, errors.New("HTTP 503: x")
	}
	return maps.Clone(a.live), nil
}

func newAPIGateway(t *testing.T, budget channels.Pages, s *site) (*gateway, *officialAPI) {
	api := &officialAPI{live: map[monitor.StreamURL]string{}}
	return newGatewayWith(t, 5, channels.DiscoveryConfig{Pages: budget, APIs: map[monitor.SourceName]channels.BroadcastsAPI{monitor.Twitch: api}}, s), api
}

func TestFiveHundredPlacesTakeFiveCallsOfTheirAPIInTwoMinutes(t *testing.T) { // section 20.2
	s := &site{answer: onAir("")}
	g, api := newAPIGateway(t, nil, s)
	for n := range 500 {
		g.register(fmt.Sprintf("twitch.tv/login_%d", n))
	}
	other := g.register("@example")
	g.run(noon.Add(8 * time.Minute))
	expect.Equal(t, "places that were read once", len(s.asked), 501)
	asked := s.requests()
	api.calls = nil
	g.run(noon.Add(18 * time.Minute))
	places := 0
	for _, n := range api.calls {
		places += n
	}
	t.Logf("10 minutes: %d calls about %d places, %d questions to the listers", len(api.calls), places, s.requests()-asked)
	expect.Equal(t, "calls in 10 minutes, and their places", []int{len(api.calls), places}, []int{25, 2500})
	expect.Equal(t, "questions to the listers, of which one is about a channel of another source", s.requests()-asked, 1)
	expect.Equal(t, "that channel", g.standings(other.ID), "")
}

func TestTheListersDecideWhatTheAPIOfAPlaceSays(t *testing.T) { // section 20.2
	s := &site{answer: onAir("")}
	g, api := newAPIGateway(t, nil, s)
	ch := g.register("twitch.tv/example")
	asked := func() int { return s.asked[string(placeURL)] }
	g.run(noon.Add(20 * time.Minute))
	expect.Equal(t, "while nothing is live", asked(), 1)
	expect.Equal(t, "calls", len(api.calls), 10)

	api.live[placeURL] = "one"
	g.run(noon.Add(21 * time.Minute))
	expect.Equal(t, "what the tools do not see is not watched", g.standings(ch.ID), "")
	expect.Equal(t, "while they do not", asked(), 2)
	s.answer = onAir("one")
	g.run(noon.Add(25 * time.Minute))
	expect.Equal(t, "once they do", g.standings(ch.ID), "one watched  initializing")
	before := asked()
	delete(api.live, placeURL) // a start that flaps
	g.run(noon.Add(29 * time.Minute))
	api.live[placeURL] = "one"
	g.run(noon.Add(40 * time.Minute))
	expect.Equal(t, "what is watched", g.standings(ch.ID), "one watched  initializing")
	expect.Equal(t, "nobody was asked because of it", asked(), before)

	s.answer = onAir("two") // before the API knows it
	g.run(noon.Add(90 * time.Minute))
	expect.Equal(t, "within an hour", g.standings(ch.ID), "one watched  initializing; two wanted")
}

func TestPlacesAreReadOneByOneWhileTheirAPIFails(t *testing.T) { // section 20.2
	s := &site{answer: onAir("")}
	g, api := newAPIGateway(t, nil, s)
	for n := range 20 {
		g.register(fmt.Sprintf("twitch.tv/login_%d", n))
	}
	g.run(noon.Add(time.Minute))
	api.fails, api.calls = true, nil
	asked := s.requests()
	s.answer = onAir("one")
	g.run(noon.Add(14 * time.Minute))
	if len(api.calls) > 13 || s.requests()-asked < 20 {
		t.Errorf("%d calls, %d questions", len(api.calls), s.requests()-asked)
	}
	ch := g.register("twitch.tv/another")
	g.run(g.now.Add(30 * time.Second))
	if s.asked["https://www.twitch.tv/another"] == 0 {
		t.Errorf("a channel was not read: %s", g.standings(ch.ID))
	}
	api.fails, s.answer = false, onAir("")
	g.run(g.now.Add(12 * time.Minute))
	asked = s.requests()
	g.run(g.now.Add(4 * time.Minute))
	expect.Equal(t, "questions once it answers again", s.requests(), asked)
}

func TestAPlaceThatCannotBeReadIsReadByItsBackoff(t *testing.T) { // section 20.2
	s := &site{answer: failing(channel.Network)}
	g, _ := newAPIGateway(t, nil, s)
	g.register("twitch.tv/example")
	g.run(noon.Add(16 * time.Minute))
	expect.Equal(t, "questions", s.requests(), 5)
}
