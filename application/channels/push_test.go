package channels_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// push lets the store accept at a time that a login has begun.
func (g *gateway) push(login string, at time.Time) {
	g.t.Helper()
	m := eventsub.Message{ID: login + at.String(), Kind: eventsub.Notification, Type: eventsub.Online, Login: login, Live: true, SentAt: at, Body: []byte("{}")}
	must.Get(g.store.AcceptMessage(g.t.Context(), m, at))(g.t)
}

// pushGateways are gateways with and without an API that tells of no start.
func pushGateways(t *testing.T, test func(t *testing.T, gateway func(channels.Pages, *site) *gateway)) {
	t.Run("without an API", func(t *testing.T) {
		test(t, func(budget channels.Pages, s *site) *gateway { return newGateway(t, 5, budget, s) })
	})
	t.Run("with an API that is late", func(t *testing.T) {
		test(t, func(budget channels.Pages, s *site) *gateway {
			g, _ := newAPIGateway(t, budget, s)
			return g
		})
	})
}

func TestAPushedStartIsLookedForNowAndUntilItIsShown(t *testing.T) { // S28
	pushGateways(t, func(t *testing.T, gateway func(channels.Pages, *site) *gateway) {
		s := &site{answer: onAir("")}
		g := gateway(nil, s)
		ch := g.register("twitch.tv/Example")
		g.run(noon.Add(time.Minute))
		expect.Equal(t, "looks before the push", s.requests(), 1)
		g.push("example", g.now)
		s.answer = func(address string) (channel.Listing, error) {
			if s.asked[address] == 2 {
				g.push("example", g.now.Add(time.Millisecond)) // during the look
			}
			return onAir("")(address)
		}
		g.run(noon.Add(time.Minute + channels.Every))
		expect.Equal(t, "looks at once", s.requests(), 2)
		g.run(noon.Add(time.Minute + 2*channels.Every))
		expect.Equal(t, "looks after another push meanwhile", s.requests(), 3)
		s.answer = onAir("one")
		g.run(noon.Add(2 * time.Minute))
		expect.Equal(t, "looks within half a minute", s.requests(), 4)
		expect.Equal(t, "what is watched", g.standings(ch.ID), "one watched  initializing")
		g.run(noon.Add(8 * time.Minute))
		expect.Equal(t, "looks after the start was shown", s.requests(), 4)

		silent := &site{answer: onAir("")}
		g = gateway(nil, silent)
		g.register("twitch.tv/Example")
		g.run(noon.Add(time.Minute))
		g.push("example", g.now)
		g.run(noon.Add(9 * time.Minute))
		expect.Equal(t, "looks for a start that is never shown", silent.requests(), 1+7)
	})
}

func TestAHundredPushesAreLookedAtWithinTheLimitsOfLooks(t *testing.T) { // S28
	pushGateways(t, func(t *testing.T, gateway func(channels.Pages, *site) *gateway) {
		for name, c := range map[string]struct {
			budget int
			looked []int // channels, after each run
		}{
			"within the budget": {1000, []int{16, 32, 48, 64, 80, 96, 100}},
			"beyond the budget": {10, []int{10, 10, 10, 10, 10, 10, 10}},
		} {
			s, budget := &site{answer: onAir("")}, &pages{left: 100}
			g := gateway(budget, s)
			for n := range 100 {
				g.register(fmt.Sprintf("twitch.tv/login_%d", n))
			}
			g.run(noon.Add(time.Minute))
			expect.Equal(t, "channels that were looked at before", len(s.asked), 100)
			budget.set(c.budget)
			for n := range 100 {
				g.push(fmt.Sprintf("login_%d", n), g.now)
			}
			for run, want := range c.looked {
				g.run(g.now.Add(channels.Every))
				again := 0
				for _, times := range s.asked {
					again += min(times-1, 1)
				}
				expect.Equal(t, fmt.Sprintf("%s: channels that were looked at after %d runs", name, run+1), again, want)
			}
		}
	})
}
