package egress_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/egress"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// clock is a Pool in virtual time.
type clock struct {
	*egress.Pool
	now     time.Time
	notices []egress.NoticeKind
}

func newClock(budget int, names ...string) *clock {
	return &clock{Pool: egress.NewPool(monitor.YouTube, names, budget), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func streamOf(n int) monitor.StreamURL {
	return monitor.StreamURL(fmt.Sprintf("https://www.youtube.com/watch?v=stream%05d", n))
}

func (c *clock) take(notices []egress.Notice) {
	for _, n := range notices {
		c.notices = append(c.notices, n.Kind)
	}
}

func (c *clock) ask(url monitor.StreamURL, bound string, u watch.Urgency, answer watch.StreamState) string {
	name, notices := c.Choose(c.now, url, bound)
	c.take(notices)
	c.take(c.Record(c.now, url, name, u, answer))
	return name
}

// fail makes an address fail a number of times in a row.
func (c *clock) fail(name string, times int, state watch.StreamState) {
	for range times {
		c.take(c.Record(c.now, streamOf(0), name, watch.UrgencyPoll, state))
	}
}

func (c *clock) status(name string) egress.Status {
	all := c.Status(c.now)
	return all[slices.IndexFunc(all, func(s egress.Status) bool { return s.Name == name })]
}

func TestAStreamKeepsItsAddressUntilItRests(t *testing.T) {
	c := newClock(0, "a", "b")
	first := c.ask(streamOf(1), "", watch.UrgencyStart, watch.Upcoming)
	other := map[string]string{"a": "b", "b": "a"}[first]
	for range 100 {
		c.now = c.now.Add(30 * time.Second)
		if got := c.ask(streamOf(1), "", watch.UrgencyPoll, watch.Upcoming); got != first {
			t.Fatalf("it moved from %s to %s", first, got)
		}
	}
	c.fail(first, egress.MaxFailures, watch.Blocked)
	if got := c.ask(streamOf(1), "", watch.UrgencyPoll, watch.Live); got != other {
		t.Errorf("while %s rests it asks through %s", first, got)
	}
	c.now = c.now.Add(egress.RestTime)
	if got := c.ask(streamOf(1), "", watch.UrgencyPoll, watch.Live); got != other {
		t.Errorf("after the rest it asks through %s", got)
	}
}

func TestAStreamAsksThroughTheAddressOfItsURLs(t *testing.T) {
	c := newClock(0, "a", "b")
	for n := range 20 { // as after a restart, when nothing is known of the streams
		bound := []string{"a", "b"}[n%2]
		if got := c.ask(streamOf(n), bound, watch.UrgencyPoll, watch.Live); got != bound {
			t.Errorf("the URLs are bound to %s, the question left through %s", bound, got)
		}
	}
	c.fail("a", egress.MaxFailures, watch.Blocked)
	if got := c.ask(streamOf(0), "a", watch.UrgencyPoll, watch.Live); got != "b" {
		t.Errorf("while a rests the question leaves through %s", got)
	}
	if got := c.ask(streamOf(30), "gone", watch.UrgencyPoll, watch.Live); got != "a" && got != "b" {
		t.Errorf("an address that does not exist any more: %s", got)
	}
}

func TestStreamsSpreadOverAddresses(t *testing.T) {
	t.Run("of one process evenly", func(t *testing.T) {
		c := newClock(0, "a", "b", "c")
		for n := range 300 {
			c.ask(streamOf(n), "", watch.UrgencyStart, watch.Upcoming)
		}
		for _, s := range c.Status(c.now) {
			if s.Streams != 100 {
				t.Errorf("%s has %d streams", s.Name, s.Streams)
			}
		}
	})
	t.Run("of processes that know nothing of each other nearly so", func(t *testing.T) {
		counts := map[string]int{}
		for n := range 300 {
			counts[newClock(0, "a", "b", "c").ask(streamOf(n), "", watch.UrgencyStart, watch.Upcoming)]++
		}
		for _, name := range []string{"a", "b", "c"} {
			if counts[name] < 70 {
				t.Errorf("the streams are %v", counts)
			}
		}
	})
	t.Run("and those that end make room", func(t *testing.T) {
		c := newClock(0, "a", "b")
		for n := range 10 {
			c.ask(streamOf(n), "a", watch.UrgencyStart, watch.Ended)
		}
		c.now = c.now.Add(3 * time.Hour)
		c.ask(streamOf(20), "b", watch.UrgencyStart, watch.Upcoming)
		if got := c.ask(streamOf(21), "", watch.UrgencyStart, watch.Upcoming); got != "a" {
			t.Errorf("a new stream uses %s", got)
		}
	})
}

func TestAnAddressRestsAfterFailuresInARow(t *testing.T) {
	for name, c := range map[string]struct {
		answers []watch.StreamState // the last of the row
		rests   bool
		last    egress.Failure
	}{
		"blocked":                      {[]watch.StreamState{watch.Blocked}, true, egress.Blocked},
		"rate limited":                 {[]watch.StreamState{watch.RateLimited}, true, egress.RateLimited},
		"not reached":                  {[]watch.StreamState{watch.Unreachable}, true, egress.Network},
		"an answer breaks the row":     {[]watch.StreamState{watch.Upcoming, watch.Blocked}, false, egress.Blocked},
		"so does that of an ended one": {[]watch.StreamState{watch.Removed}, false, ""},
		"a broken tool proves nothing": {[]watch.StreamState{watch.ToolFailed}, false, egress.Network},
		"nor does a manifest":          {[]watch.StreamState{watch.ManifestFound, watch.Blocked}, true, egress.Blocked},
		"nor what was not asked":       {[]watch.StreamState{watch.CircuitOpen}, false, egress.Network},
	} {
		t.Run(name, func(t *testing.T) {
			p := newClock(0, "a", "b")
			p.fail("a", egress.MaxFailures-1, watch.Unreachable)
			for _, answer := range c.answers {
				p.fail("a", 1, answer)
			}
			got := p.status("a")
			var last egress.Failure
			if got.LastFailure != nil {
				last = *got.LastFailure
			}
			if rests := got.RestSec == 1800; rests != c.rests || last != c.last {
				t.Errorf("it is %+v, last failure %q", got, last)
			}
		})
	}
}

func TestARestEnds(t *testing.T) {
	t.Run("after half an hour, and begins again at the next failure", func(t *testing.T) {
		c := newClock(0, "a", "b")
		c.fail("a", egress.MaxFailures, watch.Blocked)
		c.now = c.now.Add(egress.RestTime - time.Second)
		if got := c.status("a").RestSec; got != 1 {
			t.Errorf("it rests for another %d s", got)
		}
		c.now = c.now.Add(time.Second)
		c.ask(streamOf(1), "a", watch.UrgencyPoll, watch.Blocked)
		if want := []egress.NoticeKind{egress.Rests, egress.UsedAgain, egress.Rests}; !slices.Equal(c.notices, want) {
			t.Errorf("noticed %v", c.notices)
		}
	})
	t.Run("by an answer", func(t *testing.T) {
		c := newClock(0, "a", "b")
		c.fail("a", egress.MaxFailures, watch.Blocked)
		c.take(c.Record(c.now, streamOf(1), "a", watch.UrgencyPoll, watch.Upcoming)) // it was on its way
		if want := []egress.NoticeKind{egress.Rests, egress.UsedAgain}; !slices.Equal(c.notices, want) || c.status("a").RestSec != 0 {
			t.Errorf("noticed %v, it is %+v", c.notices, c.status("a"))
		}
	})
}

func TestAFailureThatAllAddressesShareRestsNone(t *testing.T) {
	names := []string{"a", "b", "c"}
	for _, state := range []watch.StreamState{watch.Unreachable, watch.Blocked, watch.RateLimited} {
		t.Run(string(state), func(t *testing.T) {
			c := newClock(0, names...)
			for n := range 12 {
				c.ask(streamOf(n), "", watch.UrgencyStart, watch.Upcoming)
			}
			for _, name := range names { // one address after the other
				c.now = c.now.Add(time.Second)
				c.fail(name, egress.MaxFailures, state)
				for n := range 12 {
					c.ask(streamOf(n), "", watch.UrgencyPoll, state)
				}
			}
			for range 60 { // 10 minutes
				c.now = c.now.Add(10 * time.Second)
				for n := range 12 {
					c.ask(streamOf(n), "", watch.UrgencyPoll, state)
				}
			}
			for _, s := range c.Status(c.now) {
				if s.RestSec != 0 || s.Streams != 4 {
					t.Errorf("during the outage: %+v", s)
				}
			}
			c.now = c.now.Add(time.Second)
			c.ask(streamOf(0), "", watch.UrgencyPoll, watch.Upcoming)
			for _, name := range names[1:] { // questions that were on their way
				c.fail(name, 1, state)
			}
			for n := range 12 {
				c.ask(streamOf(n), "", watch.UrgencyPoll, watch.Upcoming)
			}
			for _, s := range c.Status(c.now) {
				if s.RestSec != 0 || s.Streams != 4 {
					t.Errorf("afterwards: %+v", s)
				}
			}
			if got := c.notices[len(c.notices)-1]; got != egress.AllFail {
				t.Errorf("noticed %v", c.notices)
			}
		})
	}
	t.Run("but one that failed while others answered goes on resting", func(t *testing.T) {
		c := newClock(0, "a", "b")
		c.fail("a", 1, watch.Unreachable)
		c.now = c.now.Add(time.Second)
		c.ask(streamOf(1), "b", watch.UrgencyPoll, watch.Live)
		c.fail("a", egress.MaxFailures, watch.Unreachable)
		c.now = c.now.Add(time.Second)
		c.fail("b", egress.MaxFailures, watch.Unreachable)
		if a, b := c.status("a"), c.status("b"); a.RestSec == 0 || b.RestSec != 0 {
			t.Errorf("a is %+v, b is %+v", a, b)
		}
	})
}

func TestASecondOpinionComesThroughAnotherAddress(t *testing.T) { // S19
	c := newClock(0, "a", "b", "c")
	if got := c.Other(c.now, streamOf(1), "b"); got == "b" || got == "" {
		t.Errorf("got %q", got)
	}
	c.fail("a", egress.MaxFailures, watch.Blocked)
	if got := c.Other(c.now, streamOf(1), "b"); got != "c" {
		t.Errorf("a rests, b is avoided: got %q", got)
	}
	c.fail("c", egress.MaxFailures, watch.Blocked) // b has not failed
	if got := c.Other(c.now, streamOf(1), "b"); got != "" {
		t.Errorf("a and c rest, b is avoided: got %q", got)
	}
	if got := newClock(0, "a").Other(c.now, streamOf(1), "a"); got != "" {
		t.Errorf("there is only one: got %q", got)
	}
}
