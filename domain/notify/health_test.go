package notify_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestFiveFailuresInARowOpenTheCircuit(t *testing.T) {
	h, now := notify.Health{}, eight
	for n, pause := range []int{0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60} {
		h = h.After(now, notify.Retry, 0, 0)
		want := time.Time{}
		if pause > 0 {
			want = now.Add(time.Duration(pause) * time.Second)
		}
		if !h.CircuitOpenUntil.Equal(want) || h.CircuitOpen() != (pause > 0) || !h.FailingSince.Equal(eight) {
			t.Errorf("after %d failures: %+v, want until %v", n+1, h, want)
		}
		now = now.Add(time.Hour)
	}
	for _, class := range []notify.FailureClass{notify.NoFailure, notify.Rejected} {
		if got := h.After(now, class, 0, 0); got != (notify.Health{}) {
			t.Errorf("after %q: %+v", class, got)
		}
	}
}

// Nothing else that was under way shortens a pause that the receiver asked for.
func TestAPauseIsGrantedAndOnly429IsNoFailure(t *testing.T) {
	for _, c := range []struct {
		status     int
		retryAfter time.Duration
		want       time.Duration
		failures   int
	}{
		{429, 30 * time.Second, 30 * time.Second, 0}, {429, 0, 10 * time.Second, 0}, {429, 24 * time.Hour, time.Hour, 0},
		{503, time.Minute, time.Minute, 1}, {503, 0, 0, 1}, {0, 0, 0, 1},
	} {
		want := notify.Health{Failures: c.failures}
		if c.failures > 0 {
			want.FailingSince = eight
		}
		if c.want > 0 {
			want.CircuitOpenUntil = eight.Add(c.want)
		}
		if got := (notify.Health{}).After(eight, notify.Retry, c.status, c.retryAfter); got != want {
			t.Errorf("%d, %v: %+v, want %+v", c.status, c.retryAfter, got, want)
		}
	}
	paused := notify.Health{CircuitOpenUntil: eight.Add(time.Hour)}
	failing := notify.Health{Failures: 700, FailingSince: eight.Add(-6 * 24 * time.Hour), CircuitOpenUntil: eight.Add(time.Minute)}
	h := failing.After(eight, notify.Retry, 429, time.Hour)
	if h.FailedForDays(eight) || h != paused {
		t.Errorf("is %+v", h)
	}
	if !failing.After(eight, notify.Retry, 503, time.Hour).FailedForDays(eight) {
		t.Error("a receiver that has answered 503 with Retry-After for six days does not count as failing")
	}
	for _, class := range []notify.FailureClass{notify.NoFailure, notify.Rejected} {
		if got := h.After(eight.Add(time.Second), class, 200, 0); got != paused {
			t.Errorf("after %q: %+v", class, got)
		}
	}
	if got := h.After(eight.Add(time.Second), notify.Retry, 429, 5*time.Second); got != paused {
		t.Errorf("a shorter pause makes it %+v", got)
	}
	if got := h.After(eight.Add(time.Second), notify.Retry, 503, 0); got.Failures != 1 || !got.CircuitOpenUntil.Equal(paused.CircuitOpenUntil) {
		t.Errorf("after a failure: %+v", got)
	}
	if got := h.After(eight.Add(time.Hour), notify.NoFailure, 200, 0); got != (notify.Health{}) {
		t.Errorf("after the pause: %+v", got)
	}
}

func TestFiveDaysOfFailuresDisable(t *testing.T) {
	for _, c := range []struct {
		name   string
		health notify.Health
		want   bool
	}{
		{"a moment too early", notify.Health{Failures: 700, FailingSince: eight.Add(-5*24*time.Hour + 1)}, false},
		{"five days", notify.Health{Failures: 700, FailingSince: eight.Add(-5 * 24 * time.Hour)}, true},
		{"few failures far apart, which say little", notify.Health{Failures: 4, FailingSince: eight.Add(-9 * 24 * time.Hour)}, false},
		{"healthy", notify.Health{}, false},
	} {
		if got := c.health.FailedForDays(eight); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestADestinationGetsWhatItsSlotsItsRateLimitAndItsCircuitAllow(t *testing.T) { // section 19.4
	for _, c := range []struct {
		name     string
		kind     notify.Kind
		health   notify.Health
		tokens   float64 // a second ago; below -9: never
		inFlight int
		free     int
		left     float64
		opens    time.Duration // 0: at once, or with a slot
	}{
		{"a webhook, which has no rate limit", notify.Webhook, notify.Health{}, -10, 0, 4, 0, 0},
		{"a webhook with three in flight", notify.Webhook, notify.Health{}, -10, 3, 1, 0, 0},
		{"a webhook with four in flight", notify.Webhook, notify.Health{}, -10, 4, 0, 0, 0},
		{"more in flight than there may be", notify.Webhook, notify.Health{}, -10, 9, 0, 0, 0},
		{"a channel that has got nothing yet", notify.Discord, notify.Health{}, -10, 0, 4, 5, 0},
		{"a token for each interval", notify.Discord, notify.Health{}, 0, 0, 2, 2.5, 0},
		{"no more than the burst", notify.Discord, notify.Health{}, 4, 0, 4, 5, 0},
		{"a token that is missing", notify.Discord, notify.Health{}, -2, 0, 0, 0.5, 200 * time.Millisecond},
		{"a message that took two tokens", notify.Slack, notify.Health{}, -1, 0, 0, 0, time.Second},
		{"a slot and a token that are missing", notify.Slack, notify.Health{}, -1, 4, 0, 0, time.Second},
		{"four failures in a row", notify.Webhook, notify.Health{Failures: 4}, -10, 0, 4, 0, 0},
		{"an open circuit after its pause", notify.Webhook, notify.Health{Failures: 5, CircuitOpenUntil: eight}, -10, 0, 1, 0, 0},
		{"its one attempt", notify.Webhook, notify.Health{Failures: 5, CircuitOpenUntil: eight}, -10, 1, 0, 0, 0},
		{"an open circuit", notify.Webhook, notify.Health{Failures: 5, CircuitOpenUntil: at(7)}, -10, 0, 0, 0, 7 * time.Second},
		{"a pause that a receiver has asked for", notify.Discord, notify.Health{CircuitOpenUntil: at(7)}, -10, 0, 0, 5, 7 * time.Second},
		{"a pause shorter than a missing token", notify.Slack, notify.Health{CircuitOpenUntil: at(0.5)}, -1, 0, 0, 0, time.Second},
	} {
		channel, _ := notify.ChannelOf(c.kind)
		var before notify.Allowance
		if c.tokens > -9 {
			before = notify.Allowance{Tokens: c.tokens, TokensAt: at(-1)}
		}
		free, left, opensAt := channel.Allowed(eight, c.health, before, c.inFlight)
		want := time.Time{}
		if c.opens > 0 {
			want = eight.Add(c.opens)
		}
		if free != c.free || left != (notify.Allowance{Tokens: c.left, TokensAt: eight}) || !opensAt.Equal(want) {
			t.Errorf("%s: %d with %+v left, opens at %v; want %d with %v left, at %v", c.name, free, left, opensAt, c.free, c.left, want)
		}
		if !opensAt.IsZero() && c.health.Failures == 0 && c.inFlight == 0 {
			if free, _, again := channel.Allowed(opensAt, c.health, left, 0); free < 1 || !again.IsZero() {
				t.Errorf("%s: when it opens, %d are free, and it opens at %v", c.name, free, again)
			}
		}
	}
}
