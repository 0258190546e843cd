package notify_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// attempts returns when attempts at something that always fails are made, and when it is
// given up.
func attempts(kind notify.Kind, jitter float64) (all []time.Duration, failed time.Duration) {
	c, _ := notify.ChannelOf(kind)
	now := eight
	for {
		all = append(all, now.Sub(eight))
		o := c.Decide(notify.Attempted{At: now, RoundBeganAt: eight, Number: len(all), Class: notify.Retry}, jitter)
		if o.Failed || len(all) > 1000 {
			return all, now.Sub(eight)
		}
		now = o.RetryAt
	}
}

func TestWebhooksAreRetriedByTheirSchedule(t *testing.T) {
	got, _ := attempts(notify.Webhook, 0.5)
	want := []time.Duration{0, 1 * time.Second, 2 * time.Second, 4 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
		1 * time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 8 * time.Hour}
	if len(got) != len(want) {
		t.Fatalf("%d attempts, want %d", len(got), len(want))
	}
	sum := time.Duration(0)
	for n := range want {
		if sum += want[n]; got[n] != sum {
			t.Errorf("attempt %d after %v, want %v", n+1, got[n], sum)
		}
	}
}

func TestOnlyAnAcceptedDeliveryIsDelivered(t *testing.T) {
	c, _ := notify.ChannelOf(notify.Slack)
	for class, want := range map[notify.FailureClass]notify.Decision{
		notify.NoFailure: {Delivered: true},
		notify.Rejected:  {Failed: true},
		notify.Gone:      {Failed: true, DisableDestination: true},
		notify.Retry:     {RetryAt: at(2)},
	} {
		if got := c.Decide(notify.Attempted{At: at(0), RoundBeganAt: at(0), Number: 1, Class: class}, 0.5); got != want {
			t.Errorf("%q: %+v, want %+v", class, got, want)
		}
	}
}

func TestJitterMovesWebhooksFromTheFifthAttemptOn(t *testing.T) {
	early, _ := attempts(notify.Webhook, 0)
	late, _ := attempts(notify.Webhook, 1)
	if len(early) != 13 || len(late) != 13 {
		t.Errorf("%d and %d attempts, want 13", len(early), len(late))
	}
	for n, want := range []struct{ early, late time.Duration }{
		{0, 0}, {1 * time.Second, 1 * time.Second}, {3 * time.Second, 3 * time.Second}, {7 * time.Second, 7 * time.Second},
		{31 * time.Second, 43 * time.Second}, {127 * time.Second, 187 * time.Second},
	} {
		if early[n] != want.early || late[n] != want.late {
			t.Errorf("attempt %d after %v to %v, want %v to %v", n+1, early[n], late[n], want.early, want.late)
		}
	}
}

func TestMessagesAreTriedForADay(t *testing.T) {
	got, failed := attempts(notify.Slack, 0)
	sum := time.Duration(0)
	for n, sec := range []int{0, 2, 5, 15, 30, 60, 120, 300, 600, 600} {
		if sum += time.Duration(sec) * time.Second; got[n] != sum {
			t.Errorf("attempt %d after %v, want %v", n+1, got[n], sum)
		}
	}
	if last := got[len(got)-1]; last > 24*time.Hour || last <= 24*time.Hour-10*time.Minute || failed != last {
		t.Errorf("the last attempt is after %v", last)
	}
	c, _ := notify.ChannelOf(notify.Slack)
	if o := c.Decide(notify.Attempted{At: at(600), RoundBeganAt: at(-86400), Number: 3, Class: notify.Retry}, 0); !o.Failed {
		t.Errorf("a message of yesterday: %+v", o)
	}
}

func TestAReceiverMayAskForAnHour(t *testing.T) {
	for _, c := range []struct {
		kind  notify.Kind
		tried int
		wait  time.Duration
		want  time.Duration
	}{
		{notify.Telegram, 1, 30 * time.Second, 30 * time.Second},
		{notify.Telegram, 1, time.Second, 2 * time.Second}, // not earlier than the schedule has it
		{notify.Webhook, 2, 100 * time.Hour, time.Hour},
		{notify.Webhook, 9, time.Second, 2 * time.Hour},
	} {
		channel, _ := notify.ChannelOf(c.kind)
		if got := channel.Decide(notify.Attempted{At: eight, RoundBeganAt: eight, Number: c.tried, Class: notify.Retry, RetryAfter: c.wait}, 0.5); !got.RetryAt.Equal(eight.Add(c.want)) || got.Failed {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

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
	if _, disabled := h.Disable(eight); disabled || h != paused {
		t.Errorf("is %+v, disabled %v", h, disabled)
	}
	if _, disabled := failing.After(eight, notify.Retry, 503, time.Hour).Disable(eight); !disabled {
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
	h := notify.Health{Failures: 700, FailingSince: eight}
	if _, ok := h.Disable(eight.Add(5*24*time.Hour - 1)); ok {
		t.Error("disabled too early")
	}
	if reason, ok := h.Disable(eight.Add(5 * 24 * time.Hour)); !ok || reason != "every attempt has failed since 2026-03-01T20:00:00Z" {
		t.Errorf("disabled %v: %q", ok, reason)
	}
	h.Failures = 4 // two failures five days apart say little
	if _, ok := h.Disable(eight.Add(9 * 24 * time.Hour)); ok {
		t.Error("disabled for a few failures")
	}
	if _, ok := (notify.Health{}).Disable(eight); ok {
		t.Error("disabled while healthy")
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
