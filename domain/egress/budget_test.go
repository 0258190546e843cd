package egress_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/egress"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// wait lets streams wait for their start for a time, and returns how often each polled in its
// last hour. A stream wants to poll every 30 s. others is how many other questions are asked in
// an hour.
func (c *clock) wait(streams int, lasting time.Duration, others int) (polls []int, longest time.Duration) {
	polls = make([]int, streams)
	due, asked := make([]time.Time, streams), make([]time.Time, streams)
	end := c.now.Add(lasting)
	nextOther := c.now
	for ; c.now.Before(end); c.now = c.now.Add(time.Second) {
		for others > 0 && !c.now.Before(nextOther) {
			c.ask("another", "a", watch.UrgencyOutage, watch.Live)
			nextOther = nextOther.Add(time.Hour / time.Duration(others))
		}
		for n := range streams {
			if c.now.Before(due[n]) {
				continue
			}
			urgency := watch.UrgencyStart
			if !asked[n].IsZero() {
				urgency = watch.UrgencyPoll
				delay, notices := c.Delay(c.now, streamOf(n), "")
				c.take(notices)
				if delay > 0 {
					due[n] = c.now.Add(delay)
					continue
				}
				longest = max(longest, c.now.Sub(asked[n]))
			}
			c.ask(streamOf(n), "", urgency, watch.Upcoming)
			asked[n], due[n] = c.now, c.now.Add(30*time.Second)
			if end.Sub(c.now) <= time.Hour {
				polls[n]++
			}
		}
	}
	return polls, longest
}

func TestTheBudgetStretchesPollsEvenly(t *testing.T) {
	for name, c := range map[string]struct {
		budget, streams, others int
		min, max                int // polls of each stream in an hour
		stretched               bool
	}{
		"none":                                  {0, 10, 0, 119, 120, false},
		"a budget that is enough":               {1300, 10, 0, 119, 120, false},
		"half of what they want":                {600, 10, 0, 58, 60, true},
		"others are not held back":              {600, 10, 300, 28, 31, true},
		"nothing is left: the longest is 4.5 m": {100, 10, 200, 13, 14, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newClock(c.budget, "a")
			polls, longest := p.wait(c.streams, 3*time.Hour, c.others)
			if slices.Min(polls) < c.min || slices.Max(polls) > c.max || longest > 271*time.Second {
				t.Errorf("the streams polled %v times, at most every %v", polls, longest)
			}
			if got := slices.Equal(p.notices, []egress.NoticeKind{egress.Stretched}); got != c.stretched {
				t.Errorf("noticed %v", p.notices)
			}
			if got := p.status("a"); (got.PollIntervalSec > 30) != c.stretched {
				t.Errorf("the address is %+v", got)
			}
		})
	}
}

func TestAPollThatFailsIsRepeatedBeforeItsStreamIsBlind(t *testing.T) { // S15
	c := newClock(1, "a")
	for n := range 10 {
		c.ask(streamOf(n), "", watch.UrgencyStart, watch.Upcoming)
	}
	answered := c.now
	for _, at := range []struct {
		after time.Duration
		held  bool
	}{
		{4 * time.Minute, true},
		{4*time.Minute + 30*time.Second, false},
		{4*time.Minute + 35*time.Second, false}, // the pause of the watcher after one failure
		{5 * time.Minute, false},                // blindness reaches its limit, and the watcher asks once more
		{6 * time.Minute, false},
		{7 * time.Minute, true},
	} {
		c.now = answered.Add(at.after)
		delay, _ := c.Delay(c.now, streamOf(0), "")
		if held := delay > 0; held != at.held {
			t.Errorf("%v after the last answer the poll is held back for %v", at.after, delay)
		}
		if delay == 0 {
			c.ask(streamOf(0), "", watch.UrgencyPoll, watch.Unreachable)
		}
	}
}

func TestPollsAreRelaxedWhenFewerStreamsWait(t *testing.T) {
	c := newClock(600, "a")
	c.wait(10, 2*time.Hour, 0)
	polls, _ := c.wait(3, 2*time.Hour, 0)
	if want := []egress.NoticeKind{egress.Stretched, egress.StretchedOver}; !slices.Equal(c.notices, want) || slices.Min(polls) < 119 {
		t.Errorf("noticed %v; the streams polled %v times", c.notices, polls)
	}
}

func TestNoPollsAreStretchedWhenNoStreamWaitsAnyMore(t *testing.T) {
	c := newClock(100, "a")
	c.wait(10, time.Hour, 0)
	if got := c.status("a").PollIntervalSec; got <= 30 {
		t.Fatalf("polls come every %d s", got)
	}
	c.now = c.now.Add(15 * time.Minute) // nobody asks
	if got := c.status("a").PollIntervalSec; got != 0 {
		t.Errorf("polls are said to come every %d s", got)
	}
}

func TestLiveStreamsAloneAreNotHeldBack(t *testing.T) {
	c := newClock(10, "a")
	for range 20 {
		c.ask(streamOf(1), "a", watch.UrgencyOutage, watch.Live)
	}
	delay, notices := c.Delay(c.now, streamOf(1), "a")
	if delay != 0 || len(notices) != 0 {
		t.Errorf("its poll is held back for %v; noticed %v", delay, notices)
	}
}

func TestAStreamThatWasNotAskedIsNotHeldBack(t *testing.T) {
	c := newClock(1, "a")
	for n := range 10 {
		c.ask(streamOf(n), "", watch.UrgencyStart, watch.Upcoming)
	}
	for url, held := range map[monitor.StreamURL]bool{streamOf(0): true, streamOf(20): false} {
		if delay, _ := c.Delay(c.now, url, ""); (delay > 0) != held {
			t.Errorf("%s is held back for %v", url, delay)
		}
	}
}

func TestPagesOfChannelsShareTheFailures(t *testing.T) { // section 10.3
	c := newClock(0, "a", "b")
	pages := func(n int, state watch.StreamState) {
		for range n {
			c.RecordPage(c.now, "a", state)
		}
	}
	pages(9, watch.Blocked)
	pages(1, watch.Live)
	pages(5, watch.RateLimited)
	pages(3, watch.ToolFailed)
	pages(3, watch.CircuitOpen)
	c.fail("a", 4, watch.Blocked)
	if got := c.status("a"); got.RestSec != 0 || got.Failures != 9 || *got.LastFailure != egress.Blocked {
		t.Errorf("after 9 failures it is %+v", got)
	}
	pages(1, watch.Live) // the source shows pages and refuses streams
	if got := c.status("a"); got.Failures != 4 {
		t.Errorf("an answered page leaves %d failures, want those of the streams", got.Failures)
	}
	pages(6, watch.Unreachable)
	if got := c.status("a"); got.RestSec == 0 {
		t.Errorf("after 10 failures it is %+v", got)
	}
	if name, ok := c.Page(c.now); name != "b" || !ok {
		t.Errorf("the next page is read through %q", name)
	}
	c.now = c.now.Add(egress.RestTime)
	pages(1, watch.Live)
	c.fail("a", 1, watch.Upcoming)
	if got := c.status("a"); got.Failures != 0 || got.RestSec != 0 {
		t.Errorf("after an answer of a stream it is %+v", got)
	}
}

func TestPagesOfChannelsShareTheBudget(t *testing.T) { // section 10.3
	c := newClock(100, "a", "b")
	read := map[string]int{}
	for range 200 {
		if name, ok := c.Page(c.now); ok {
			read[name]++
		}
	}
	if read["a"] != 50 || read["b"] != 50 {
		t.Errorf("%v pages were read, want half of the budget of each address", read)
	}
	if got := c.status("a").Questions; got != 50 {
		t.Errorf("%d questions are counted", got)
	}
	c.now = c.now.Add(time.Hour)
	if _, ok := c.Page(c.now); !ok {
		t.Error("an hour later none may be read")
	}
	if _, ok := newClock(0, "a").Page(c.now); !ok {
		t.Error("without a budget none may be read")
	}
}
