package acceptance_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// returns puts another encoder's stream in the place of the one that stopped:
// numbers from 0, timestamps from the beginning, and a clock that is wrong by
// shift. All instants that it gives are those of its clock.
func (p *show) returns(shift, preroll time.Duration) {
	p.t.Helper()
	next, err := p.stage.Library.Start(p.t.Context(), livestream.Config{
		Preroll: preroll, Now: func() time.Time { return time.Now().Add(shift) },
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.Stream, p.shift = next, shift
	p.stage.YouTube.Broadcast(p.video, next)
}

func TestTroubleWithAnEncoderThatComesBack(t *testing.T) { // S1, S5, S6
	t.Parallel()
	fresh := func(*show) time.Duration { return 4 * time.Second }
	cases := []struct {
		name    string
		shift   time.Duration
		going   func(*show) time.Duration // how long, when it is seen
		show    *show
		preroll time.Duration
	}{
		{name: "its clock is ten minutes slow", shift: -10 * time.Minute, going: fresh},
		{name: "its clock is ten minutes fast", shift: 10 * time.Minute, going: fresh},
		// The last of them is thirteen before the last that was there.
		{name: "its segments have the names of old ones", shift: -10 * time.Minute, going: func(p *show) time.Duration {
			return time.Duration(p.Sequence(time.Now())-13) * p.SegmentDuration()
		}},
	}
	for i := range cases {
		cases[i].show = onAir(t, common, livestream.Config{}, nil)
	}
	left := time.Now()
	for i := range cases {
		c := &cases[i]
		c.preroll = c.going(c.show)
		c.show.Stop()
	}
	pause(t.Context(), 40*time.Second)
	for _, c := range cases {
		c.show.returns(c.shift, c.preroll)
	}
	for _, c := range cases {
		c.show.in(t, c.name, func(*testing.T) { c.show.checked(20 * time.Second) })
	}
	cases[0].show.lasts(left, outage+10*time.Second) // an alert would have come by then
	for _, c := range cases {
		c.show.darken()
	}
	for _, c := range cases {
		c.show.in(t, c.name+", half a minute later", func(t *testing.T) {
			if v := c.show.health(); v != "ok" && v != "black" {
				t.Errorf("the picture is said to be %v", v)
			}
			c.show.blackout(0)
			c.show.ends(blackout, recovered)
		})
	}
}

func TestTroubleWithAnEncoderThatStaysAway(t *testing.T) { // 6.6, 7.6, S6
	t.Parallel()
	p := onAir(t, common, livestream.Config{}, nil)
	left := p.Stop()
	p.broken(left, "stalled", outage+20*time.Second)
	p.lasts(left, 90*time.Second)
	p.returns(-10*time.Minute, 4*time.Second)
	p.healthy(30 * time.Second)
	p.blackout(0)
	p.ends(broke, blackout, recovered)
}

func TestTroubleWithAStreamThatIsPlayedAgain(t *testing.T) { // 3.1, 7.6
	t.Parallel()
	p := onAir(t, common, livestream.Config{}, nil)
	first := p.id
	p.ends()
	gone(t, common, first)
	common.YouTube.Set(p.video, youtube.Live)
	p.returns(0, 30*time.Second)
	p.id = register(t, common, p.video, quick())
	if p.id == first {
		t.Fatal("the new registration is the old one")
	}
	e := p.arrives("stream.started", 60*time.Second)
	if e.Data.StartedAt.Before(e.Received.Add(-10*time.Minute)) || e.EventID == about(common, first)[0].EventID {
		t.Errorf("started_at %s, event %s", e.Data.StartedAt, e.EventID)
	}
	p.checked(30 * time.Second)
	p.blackout(0)
	p.ends(blackout, recovered)
	only(t, common, first, "stream.started", "stream.ended")
}
