package callback_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/callback"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestDecideFollowsTheRetryPolicy(t *testing.T) {
	now := time.Date(2024, 1, 15, 20, 15, 30, 0, time.UTC)
	ok := delivery.Attempt{Status: 204}
	bad := delivery.Attempt{Status: 500, Error: "HTTP 500"}
	asking := func(d time.Duration) delivery.Attempt {
		return delivery.Attempt{Status: 503, Error: "HTTP 503", RetryAfter: d}
	}
	retry := func(d time.Duration) callback.Decision { return callback.Decision{RetryAt: now.Add(d)} }
	sent, failed := callback.Decision{Delivered: true}, callback.Decision{Failed: true}

	for _, c := range []struct {
		name     string
		answer   delivery.Attempt
		attempts int
		want     callback.Decision
	}{
		{"an accepted first attempt is sent", ok, 1, sent},
		{"an accepted last attempt is sent", ok, 4, sent},
		{"the first failure is retried after 1 s", bad, 1, retry(time.Second)},
		{"the second failure is retried after 2 s", bad, 2, retry(2 * time.Second)},
		{"the third failure is retried after 4 s", bad, 3, retry(4 * time.Second)},
		{"the fourth failure is final", bad, 4, failed},
		{"no attempt follows more attempts than the maximum", bad, 9, failed},
		{"a Retry-After below the schedule changes nothing", asking(time.Second), 3, retry(4 * time.Second)},
		{"a Retry-After above the schedule is honoured", asking(30 * time.Second), 1, retry(30 * time.Second)},
		{"a Retry-After of 60 s is honoured", asking(time.Minute), 1, retry(time.Minute)},
		{"a longer Retry-After is cut to 60 s", asking(time.Hour), 1, retry(time.Minute)},
		{"a Retry-After gives no fifth attempt", asking(time.Second), 4, failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := callback.Decide(now, c.answer, c.attempts, monitor.EndMonitor, 0.5); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestAMonitorThatGoesOnRetriesForADay(t *testing.T) { // section 19.5
	bad := delivery.Attempt{Status: 503, Error: "HTTP 503"}
	now := time.Date(2024, 1, 15, 20, 15, 30, 0, time.UTC)
	began := now
	for attempts := 1; ; attempts++ {
		d := callback.Decide(now, bad, attempts, monitor.Continue, 0.5)
		if d.LongSchedule != (attempts >= callback.MaxAttempts && !d.Failed) {
			t.Errorf("after attempt %d: %+v", attempts, d)
		}
		if d.Failed {
			if !d.MonitorGoesOn || attempts != 13 || now.Sub(began).Round(time.Hour) != 24*time.Hour {
				t.Errorf("after attempt %d and %v: %+v", attempts, now.Sub(began), d)
			}
			break
		}
		now = d.RetryAt
	}
	for _, c := range []struct {
		random     float64
		retryAfter time.Duration
		want       time.Duration
	}{
		{0, 0, 24 * time.Second}, {1, 0, 36 * time.Second}, {0.5, time.Minute, time.Minute}, {0.5, 2 * time.Hour, time.Hour},
	} {
		asking := delivery.Attempt{Status: 503, Error: "HTTP 503", RetryAfter: c.retryAfter}
		if d := callback.Decide(now, asking, 4, monitor.Continue, c.random); d.RetryAt.Sub(now).Round(time.Millisecond) != c.want {
			t.Errorf("random %v, Retry-After %v: the pause is %v", c.random, c.retryAfter, d.RetryAt.Sub(now))
		}
	}
	if d := callback.Decide(now, delivery.Attempt{Status: 204}, 9, monitor.Continue, 0.5); !d.Delivered {
		t.Errorf("accepted: %+v", d)
	}
}
