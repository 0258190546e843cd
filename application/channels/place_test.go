package channels_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const placeURL = monitor.StreamURL("https://www.twitch.tv/example")

// onAir returns what answers that a broadcast is live at the place; without an id that none is.
func onAir(id string) func(string) (channel.Listing, error) {
	return func(address string) (channel.Listing, error) {
		r := watch.Resolution{State: watch.Upcoming}
		if id != "" {
			r = watch.Resolution{State: watch.Live, Broadcast: id, Title: id}
		}
		return channel.ListingOf(monitor.StreamURL(address), r)
	}
}

// watches lets the worker of a monitor report which broadcast it watches.
func (g *gateway) watches(id monitor.ID, broadcast string, status monitor.Status) {
	g.t.Helper()
	m := must.Get(g.monitors.Monitors.Get(g.t.Context(), id))(g.t)
	r := monitor.Report{Generation: m.Generation, At: g.now, Status: status, StreamStatus: monitor.StreamLive, Broadcast: broadcast, Health: monitor.Health{Video: monitor.Unknown, Audio: monitor.Unknown}}
	_ = must.Get(g.store.Accept(g.t.Context(), id, r))(g.t)
}

func (g *gateway) byHand(start *time.Time) monitor.ID {
	g.t.Helper()
	config := monitor.DefaultConfig()
	config.ScheduledStartTime = start
	m := must.Get(g.monitors.Registrar.Register(g.t.Context(), monitors.Request{StreamURL: string(placeURL), CallbackURL: new("https://example.com/hook"), Config: config}))(g.t)
	return m.ID
}

func TestEachBroadcastOfAPlaceIsWatchedByAMonitorOfItsOwn(t *testing.T) { // section 20.3
	s, other := &site{answer: onAir("one")}, &site{answer: onAir("")}
	g := newGateway(t, 5, nil, s, other)
	hand := g.byHand(nil)
	ch := g.register("twitch.tv/Example")
	g.run(noon.Add(time.Minute))
	expect.Equal(t, "the first", g.standings(ch.ID), "one watched  initializing")
	g.watches(hand, "one", monitor.Monitoring)
	s.answer = onAir("two")
	g.run(noon.Add(15 * time.Minute))
	expect.Equal(t, "while the first is watched", g.standings(ch.ID), "one watched  monitoring; two wanted")
	g.watches(hand, "", monitor.Completed)
	g.run(noon.Add(16 * time.Minute))
	expect.Equal(t, "after its end", g.standings(ch.ID), "one over ended completed; two watched  initializing")
	second := must.Get(g.Get(t.Context(), ch.ID))(t).Streams[0].Monitor
	if second.Adopted || second.ID == hand {
		t.Errorf("the second has the monitor %+v", second)
	}
	must.Get(g.monitors.Editor.Stop(t.Context(), second.ID))(t)
	g.run(noon.Add(40 * time.Minute))
	expect.Equal(t, "after a person has stopped it", g.standings(ch.ID), "one over ended completed; two skipped stopped_by_hand stopped")
	s.answer = onAir("")
	g.run(noon.Add(60 * time.Minute))
	s.answer = onAir("three")
	g.run(noon.Add(75 * time.Minute))
	expect.Equal(t, "the third", g.standings(ch.ID), "one over ended completed; three watched  initializing; two skipped stopped_by_hand stopped")
	expect.Equal(t, "nothing else was asked about", s.asked, map[string]int{string(placeURL): s.requests()})
	expect.Equal(t, "how often somebody else was asked", other.requests(), 0)
	expect.Equal(t, "the audit list", strings.Join(g.audit.lines, " "), "monitor.adopt monitor.register monitor.register")
}

func TestAPlaceThatAPersonHasReservedIsLeftToThatPerson(t *testing.T) { // section 20.3
	s := &site{answer: onAir("today")}
	g := newGateway(t, 5, nil, s)
	tomorrow := noon.Add(24 * time.Hour)
	hand := g.byHand(&tomorrow)
	ch := g.register("twitch.tv/example")
	g.run(noon.Add(time.Minute))
	f := must.Get(g.Get(t.Context(), ch.ID))(t).Streams[0]
	if f.Standing != channel.Wanted || f.Why != channel.RegRefused || !strings.Contains(f.Detail, string(hand)) {
		t.Errorf("the broadcast is %+v", f)
	}
	must.Get(g.monitors.Editor.Stop(t.Context(), hand))(t)
	g.run(noon.Add(12 * time.Minute))
	expect.Equal(t, "once the person has stopped it", g.standings(ch.ID), "today watched  initializing")
}

func TestARateLimitOfASourceHoldsBackItsChannelsAlone(t *testing.T) { // section 20.2
	s := &site{}
	s.answer = func(address string) (channel.Listing, error) {
		if monitor.StreamURL(address) == placeURL {
			return failing(channel.RateLimited)(address)
		}
		return page(stream(1, channel.Live, time.Time{}))(address)
	}
	g := newGateway(t, 5, nil, s)
	g.register("twitch.tv/example")
	g.run(noon.Add(time.Second))
	g.register("twitch.tv/another")
	ch := g.register("@example")
	g.run(noon.Add(50 * time.Second))
	expect.Equal(t, "the channel of another source", g.standings(ch.ID), "1 watched  initializing")
	if s.asked[string(placeURL)] != 1 || s.asked["https://www.twitch.tv/another"] != 0 {
		t.Errorf("they were asked %v times", s.asked)
	}
	g.run(noon.Add(62 * time.Second))
	if s.asked["https://www.twitch.tv/another"] != 1 {
		t.Errorf("after the pause they were asked %v times", s.asked)
	}
}

type jars struct{ lent []string }

// With implements channels.Logins.
func (j *jars) With(ctx context.Context, jar string, url monitor.StreamURL) (context.Context, error) {
	j.lent = append(j.lent, jar+" for "+string(url))
	return ctx, nil
}

func TestAPlaceIsAskedAboutWithTheLoginOfItsChannel(t *testing.T) { // section 20.1
	lent := &jars{}
	s := &site{answer: onAir("one")}
	g := newGatewayWith(t, 5, channels.DiscoveryConfig{Logins: lent}, s)
	must.Get(g.Register(t.Context(), "twitch.tv/example", channels.Change{CallbackURL: new("https://example.com/hook"), Jar: new("subscriber")}))(t)
	g.run(noon.Add(time.Second))
	expect.Equal(t, "what was lent", strings.Join(lent.lent, ", "), "subscriber for "+string(placeURL))
}
