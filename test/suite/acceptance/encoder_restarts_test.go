package acceptance_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// restartEncoder replaces the stream, which has stopped, by one of another
// encoder. Its sequence numbers and timestamps begin anew, and its clock is wrong
// by shift. All instants of p are then those of the new clock.
func (p *watchedStream) restartEncoder(shift, preroll time.Duration) {
	p.t.Helper()
	next, err := p.env.Library.Start(p.t.Context(), livestream.Config{
		Preroll: preroll, Now: func() time.Time { return time.Now().Add(shift) },
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.Stream, p.shift = next, shift
	p.env.YouTube.Broadcast(p.video, next)
}

func TestARestartedEncoderIsWatchedWithoutAnAlert(t *testing.T) { // decisions S1, S5, S6
	runOutageTimeline(t, 3, 110*time.Second)
	fresh := func(*watchedStream) time.Duration { return 4 * time.Second }
	cases := []struct {
		name          string
		shift         time.Duration
		going         func(*watchedStream) time.Duration // how long it runs when it is seen
		watchedStream *watchedStream
		preroll       time.Duration
	}{
		{name: "its clock is ten minutes slow", shift: -10 * time.Minute, going: fresh},
		{name: "its clock is ten minutes fast", shift: 10 * time.Minute, going: fresh},
		// Its last number is thirteen below the last of the old stream.
		{name: "its segments have the names of old ones", shift: -10 * time.Minute, going: func(p *watchedStream) time.Duration {
			return time.Duration(p.Sequence(time.Now())-13) * p.SegmentDuration()
		}},
	}
	for i := range cases {
		cases[i].watchedStream = watchStream(t, shared, livestream.Config{}, nil)
	}
	left := time.Now()
	for i := range cases {
		c := &cases[i]
		c.preroll = c.going(c.watchedStream)
		c.watchedStream.Stop()
	}
	sleep(t.Context(), 40*time.Second)
	for _, c := range cases {
		c.watchedStream.restartEncoder(c.shift, c.preroll)
	}
	for _, c := range cases {
		c.watchedStream.subtest(t, c.name, func(*testing.T) { c.watchedStream.waitCheck(20 * time.Second) })
	}
	cases[0].watchedStream.sleepUntil(left, outageThreshold+10*time.Second) // an alert would have arrived by then
	for _, c := range cases {
		c.watchedStream.goBlack()
	}
	for _, c := range cases {
		c.watchedStream.subtest(t, c.name+", thirty seconds later", func(t *testing.T) {
			if v := c.watchedStream.videoHealth(); v != "ok" && v != "black" {
				t.Errorf("the picture's health is %v", v)
			}
			c.watchedStream.assertBlackoutCycle(0)
			c.watchedStream.endAndAssert(blackoutAlert, blackoutRecovered)
		})
	}
}

func TestAnEncoderThatStaysAwayIsReported(t *testing.T) { // sections 6.6 and 7.6, decision S6
	runOutageTimeline(t, 1, 150*time.Second)
	p := watchStream(t, shared, livestream.Config{}, nil)
	left := p.Stop()
	p.waitOutageAlert(left, "stalled")
	p.sleepUntil(left, 90*time.Second)
	p.restartEncoder(-10*time.Minute, 4*time.Second)
	p.waitHealthy(30 * time.Second)
	p.assertBlackoutCycle(0)
	p.endAndAssert(outageAlert, blackoutAlert, blackoutRecovered)
}

func TestARepeatedStreamCanBeRegisteredAgain(t *testing.T) { // sections 3.1 and 7.6
	runTimeline(t, 1, 50*time.Second)
	p := watchStream(t, shared, livestream.Config{}, nil)
	first := p.id
	p.endAndAssert()
	waitNoWorker(t, shared, first)
	shared.YouTube.Set(p.video, youtube.Live)
	p.restartEncoder(0, 30*time.Second)
	p.id = register(t, shared, p.video, fastConfig())
	if p.id == first {
		t.Fatal("the new registration is the old one")
	}
	e := p.waitEvent("stream.started", startTimeout)
	if e.Data.StartedAt.Before(e.Received.Add(-10*time.Minute)) || e.EventID == eventsOf(shared, first)[0].EventID {
		t.Errorf("started_at %s, event %s", e.Data.StartedAt, e.EventID)
	}
	p.waitCheck(30 * time.Second)
	p.assertBlackoutCycle(0)
	p.endAndAssert(blackoutAlert, blackoutRecovered)
	assertEvents(t, shared, first, "stream.started", "stream.ended")
}
