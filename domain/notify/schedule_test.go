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
		o := c.Decide(now, eight, len(all), notify.Retry, 0, jitter)
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
	for class, want := range map[notify.Class]notify.Outcome{
		notify.Accepted: {Delivered: true},
		notify.Rejected: {Failed: true},
		notify.Gone:     {Failed: true, Disable: true},
		notify.Retry:    {RetryAt: at(2)},
	} {
		if got := c.Decide(at(0), at(0), 1, class, 0, 0.5); got != want {
			t.Errorf("%q: %+v, want %+v", class, got, want)
		}
	}
}
