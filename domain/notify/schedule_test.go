package notify_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func policy(kind notify.Kind) notify.Policy {
	c, _ := notify.ChannelOf(kind)
	return c.Policy()
}

// attempts returns when attempts at something that always fails are made, the last of which
// is final.
func attempts(p notify.Policy, jitter float64) (all []time.Duration) {
	now := eight
	for {
		all = append(all, now.Sub(eight))
		o := p.Decide(notify.Attempted{At: now, RoundBeganAt: eight, Number: len(all), Class: notify.Retry}, jitter)
		if o.Failed || len(all) > 1000 {
			return all
		}
		now = o.RetryAt
	}
}

func TestWhatFailsIsTriedByItsSchedule(t *testing.T) { // sections 19.4 and 19.5
	webhook, message, callback := policy(notify.Webhook), policy(notify.Slack), notify.CallbackPolicy(monitor.Continue)
	for _, c := range []struct {
		name   string
		policy notify.Policy
		jitter float64
		pauses []int // seconds before each of the first attempts
		count  int
		last   time.Duration
	}{
		{"webhooks", webhook, 0.5, []int{0, 1, 2, 4, 30, 120, 600, 1800, 3600, 7200, 14400, 28800, 28800}, 13, 85357 * time.Second},
		{"webhooks early, from the fifth attempt on", webhook, 0, []int{0, 1, 2, 4, 24, 96}, 13, 0},
		{"webhooks late, from the fifth attempt on", webhook, 1, []int{0, 1, 2, 4, 36, 144}, 13, 0},
		{"callbacks of a monitor that goes on", callback, 0.5, []int{0, 1, 2, 4, 30, 120}, 13, 85357 * time.Second},
		{"messages for a day", message, 0, []int{0, 2, 5, 15, 30, 60, 120, 300, 600, 600}, 151, 86332 * time.Second},
	} {
		got, sum := attempts(c.policy, c.jitter), time.Duration(0)
		if last := got[len(got)-1]; len(got) != c.count || c.last > 0 && last != c.last {
			t.Errorf("%s: %d attempts, the last after %v; want %d and %v", c.name, len(got), last, c.count, c.last)
		}
		for n, sec := range c.pauses {
			if sum += time.Duration(sec) * time.Second; got[n] != sum {
				t.Errorf("%s: attempt %d after %v, want %v", c.name, n+1, got[n], sum)
			}
		}
	}
	if o := message.Decide(notify.Attempted{At: at(600), RoundBeganAt: at(-86400), Number: 3, Class: notify.Retry}, 0); !o.Failed {
		t.Errorf("a message of yesterday: %+v", o)
	}
}

func TestOnlyAnAcceptedDeliveryIsDelivered(t *testing.T) {
	for class, want := range map[notify.FailureClass]notify.Decision{
		notify.NoFailure: {Delivered: true},
		notify.Rejected:  {Failed: true},
		notify.Gone:      {Failed: true, DisableDestination: true},
		notify.Retry:     {RetryAt: at(2)},
	} {
		if got := policy(notify.Slack).Decide(notify.Attempted{At: at(0), RoundBeganAt: at(0), Number: 1, Class: class}, 0.5); got != want {
			t.Errorf("%q: %+v, want %+v", class, got, want)
		}
	}
}

func TestAStatusDecidesWhatFollows(t *testing.T) {
	for status, want := range map[int]notify.FailureClass{
		0: notify.Retry, 200: notify.NoFailure, 202: notify.NoFailure, 204: notify.NoFailure, 302: notify.Retry,
		400: notify.Rejected, 401: notify.Retry, 403: notify.Retry, 404: notify.Retry, 408: notify.Retry, 410: notify.Gone,
		413: notify.Rejected, 422: notify.Rejected, 429: notify.Retry, 500: notify.Retry, 503: notify.Retry,
	} {
		if got := notify.ClassOfStatus(status); got != want {
			t.Errorf("%d: %q, want %q", status, got, want)
		}
	}
}

func TestACallbackHasFourAttemptsOfWhichOnlyTheLastIsFinal(t *testing.T) { // decisions W3 and W4
	retry := func(sec float64) notify.Decision { return notify.Decision{RetryAt: at(sec)} }
	end, failed := notify.Decision{Failed: true, EndMonitor: true}, notify.Decision{Failed: true}
	later := func(sec float64) notify.Decision {
		return notify.Decision{RetryAt: at(sec), LeavesQueue: true, NextAt: eight}
	}
	for _, c := range []struct {
		name       string
		number     int
		class      notify.FailureClass
		retryAfter time.Duration
		ends       notify.Decision // where the monitor ends with its callback
		goesOn     notify.Decision // where it goes on (section 19.5)
	}{
		{"an accepted first attempt", 1, notify.NoFailure, 0, notify.Decision{Delivered: true}, notify.Decision{Delivered: true}},
		{"an accepted fourth attempt", 4, notify.NoFailure, 0, notify.Decision{Delivered: true}, notify.Decision{Delivered: true}},
		{"the first failure", 1, notify.Retry, 0, retry(1), retry(1)},
		{"the second failure", 2, notify.Retry, 0, retry(2), retry(2)},
		{"the third failure", 3, notify.Retry, 0, retry(4), retry(4)},
		{"the fourth failure", 4, notify.Retry, 0, end, later(30)},
		{"the fifth failure", 5, notify.Retry, 0, end, later(120)},
		{"the last failure", 13, notify.Retry, 0, end, failed},
		{"a rejection, which is retried", 1, notify.Rejected, 0, retry(1), retry(1)},
		{"a callback that is gone, which is retried", 1, notify.Gone, 0, retry(1), retry(1)},
		{"a fourth rejection", 4, notify.Rejected, 0, end, later(30)},
		{"a Retry-After below the schedule", 3, notify.Retry, time.Second, retry(4), retry(4)},
		{"a Retry-After above the schedule", 1, notify.Retry, 30 * time.Second, retry(30), retry(30)},
		{"a Retry-After of more than a minute", 1, notify.Retry, time.Hour, retry(60), retry(60)},
		{"a Retry-After at the fourth failure", 4, notify.Retry, time.Second, end, later(30)},
		{"a long Retry-After at the fourth failure", 4, notify.Retry, 10 * time.Minute, end, later(600)},
		{"one of more than an hour", 4, notify.Retry, 100 * time.Hour, end, later(3600)},
	} {
		for mode, want := range map[monitor.CallbackFailure]notify.Decision{monitor.EndMonitor: c.ends, "": c.ends, monitor.Continue: c.goesOn} {
			a := notify.Attempted{At: eight, RoundBeganAt: at(-86400), Number: c.number, Class: c.class, RetryAfter: c.retryAfter}
			if got := notify.CallbackPolicy(mode).Decide(a, 0.5); got != want {
				t.Errorf("%s, %q: %+v, want %+v", c.name, mode, got, want)
			}
		}
	}
}

func TestAnEventBlocksAWebhookForOneMinuteFromItsFirstFailure(t *testing.T) { // section 19.4
	p := policy(notify.Webhook)
	for _, c := range []struct {
		name       string
		number     int
		at, since  float64 // since < 0: it has not failed before
		retryAfter time.Duration
		want       notify.Decision
	}{
		{"a first failure", 1, 0, -1, 0, notify.Decision{RetryAt: at(1)}},
		{"a fourth failure", 4, 7, 0, 0, notify.Decision{RetryAt: at(37)}},
		{"a fifth failure, whose retry comes later than the minute", 5, 37, 0, 0, notify.Decision{RetryAt: at(157), LeavesQueue: true, NextAt: at(60)}},
		{"a slow fourth failure", 4, 45, 10, 0, notify.Decision{RetryAt: at(75), LeavesQueue: true, NextAt: at(70)}},
		{"one at the end of the minute", 4, 30, 0, 0, notify.Decision{RetryAt: at(60)}},
		{"one after the minute", 6, 157, 0, 0, notify.Decision{RetryAt: at(757), LeavesQueue: true, NextAt: at(157)}},
		{"a first failure that asks for an hour", 1, 0, -1, time.Hour, notify.Decision{RetryAt: at(3600), LeavesQueue: true, NextAt: at(60)}},
		{"the last failure", 13, 80000, 0, 0, notify.Decision{Failed: true}},
	} {
		a := notify.Attempted{At: at(c.at), RoundBeganAt: eight, Number: c.number, Class: notify.Retry, RetryAfter: c.retryAfter}
		if c.since >= 0 {
			a.FailingSince = at(c.since)
		}
		if got := p.Decide(a, 0.5); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
