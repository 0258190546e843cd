package acceptance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// badReceiver is a sink of a test's own.
func badReceiver(t *testing.T) *webhookreceiver.Receiver {
	t.Helper()
	s, err := webhookreceiver.Start(webhookreceiver.Config{Key: system.SigningKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// An upcoming stream that is late gives one event at once, and the monitor
// stays active: what is needed to see what becomes of a delivery.
func late(t *testing.T, callback string) (id string) {
	t.Helper()
	v := video()
	common.YouTube.Add(v, youtube.Video{State: youtube.Upcoming})
	id, err := common.Service.Register(t.Context(), common.YouTube.URL(v), callback, map[string]any{
		"scheduled_start_time": time.Now().Add(-time.Minute).Format(time.RFC3339), "start_delay_tolerance_sec": 0,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = common.Service.Call(limited(t, 5*time.Second), "DELETE", "/api/v1/monitors/"+id, nil) })
	return id
}

func TestAReceiverThatNeverTakesAnything(t *testing.T) { // 4.4, W3, W4
	for name, c := range map[string]struct {
		fault httpfault.Fault
		says  string
	}{
		"it answers 500 forever": {httpfault.Status(500), "500"},
		"it redirects":           {httpfault.Redirect("http://127.0.0.1:1/elsewhere"), "302"},
		"it hangs up":            {httpfault.HangUp(), ""},
		"it hangs":               {httpfault.Hang(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			receiver := badReceiver(t)
			receiver.Inject(0, c.fault)
			id := late(t, receiver.URL())
			m := becomes(t, common, id, "error", 120*time.Second)
			if m["reason"] != "callback_failed" {
				t.Errorf("the monitor ended because of %v", m["reason"])
			}
			gone(t, common, id)
			all := receiver.All()
			if len(all) != 4 {
				t.Fatalf("%d attempts, want four", len(all))
			}
			for i, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
				if d := all[i+1].Received.Sub(all[i].Received); d < pause || d > pause+14*time.Second {
					t.Errorf("attempt %d came %s after the last, want %s", i+2, d, pause)
				}
				if all[i+1].EventID != all[0].EventID || string(all[i+1].Body) != string(all[0].Body) {
					t.Errorf("attempt %d is another event: %s", i+2, all[i+1].Body)
				}
			}
			history := events(t, id)
			if len(history) != 1 || history[0]["webhook_status"] != "failed" {
				t.Fatalf("the history says %v", history)
			}
			if last, _ := history[0]["webhook_last_error"].(string); last == "" || !strings.Contains(last, c.says) {
				t.Errorf("the history's last error is %q", last)
			}
		})
	}
}

func TestAReceiverThatIsAwayForAMoment(t *testing.T) { // 4.4
	t.Parallel()
	receiver := badReceiver(t)
	receiver.Inject(2, httpfault.Status(503))
	id := late(t, receiver.URL())
	if _, err := receiver.Wait(limited(t, 60*time.Second), func(d webhookreceiver.Delivery) bool { return d.Accepted }); err != nil {
		t.Fatal(err)
	}
	becomes(t, common, id, "waiting", 5*time.Second)
	eventually(t, 5*time.Second, "the history knows", func() bool {
		h := events(t, id)
		return len(h) == 1 && h[0]["webhook_status"] == "sent"
	})
	if n := len(receiver.All()); n != 3 {
		t.Errorf("%d attempts, want three", n)
	}
}

// events is the history of a monitor.
func events(t *testing.T, id string) (all []map[string]any) {
	t.Helper()
	a, err := common.Service.Call(t.Context(), "GET", "/api/v1/monitors/"+id+"/events", nil)
	if err != nil || a.Status != 200 {
		t.Fatalf("history: %v %v", a, err)
	}
	for _, e := range a.Body["events"].([]any) {
		all = append(all, e.(map[string]any))
	}
	return all
}
