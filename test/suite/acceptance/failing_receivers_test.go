package acceptance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// newReceiver starts a webhook receiver for one test.
func newReceiver(t *testing.T) *webhookreceiver.Receiver {
	t.Helper()
	s, err := webhookreceiver.Start(webhookreceiver.Config{Key: system.SigningKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// registerDelayed registers an upcoming stream that is late. Its monitor sends one
// event at once and stays active.
func registerDelayed(t *testing.T, callback string) (id string) {
	t.Helper()
	v := newVideoID()
	shared.YouTube.Add(v, youtube.Video{State: youtube.Upcoming})
	id, err := shared.Service.Register(t.Context(), shared.YouTube.URL(v), callback, map[string]any{
		"scheduled_start_time": time.Now().Add(-time.Minute).Format(time.RFC3339), "start_delay_tolerance_sec": 0,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = shared.Service.Call(timeoutContext(t, 5*time.Second), "DELETE", "/api/v1/monitors/"+id, nil)
	})
	return id
}

func TestAFailingReceiverEndsTheMonitorAfterFourAttempts(t *testing.T) { // section 4.4, decisions W3, W4
	t.Parallel()
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
			runTimeline(t, 1, 55*time.Second)
			receiver := newReceiver(t)
			receiver.Inject(0, c.fault)
			id := registerDelayed(t, receiver.URL())
			m := waitStatus(t, shared, id, "error", 120*time.Second)
			if m["reason"] != "callback_failed" {
				t.Errorf("the monitor ended because of %v", m["reason"])
			}
			waitNoWorker(t, shared, id)
			all := receiver.All()
			if len(all) != 4 {
				t.Fatalf("%d attempts, want 4", len(all))
			}
			for i, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
				if d := all[i+1].Received.Sub(all[i].Received); d < pause || d > pause+14*time.Second+busyMachine {
					t.Errorf("attempt %d came %s after the last, want %s", i+2, d, pause)
				}
				if all[i+1].EventID != all[0].EventID || string(all[i+1].Body) != string(all[0].Body) {
					t.Errorf("attempt %d is another event: %s", i+2, all[i+1].Body)
				}
			}
			entries := history(t, id)
			if len(entries) != 1 || entries[0]["webhook_status"] != "failed" {
				t.Fatalf("the history says %v", entries)
			}
			if last, _ := entries[0]["webhook_last_error"].(string); last == "" || !strings.Contains(last, c.says) {
				t.Errorf("the history's last error is %q", last)
			}
		})
	}
}

func TestADeliveryIsRepeatedUntilTheReceiverAcceptsIt(t *testing.T) { // section 4.4
	runTimeline(t, 1, 10*time.Second)
	receiver := newReceiver(t)
	receiver.Inject(2, httpfault.Status(503))
	id := registerDelayed(t, receiver.URL())
	if _, err := receiver.Wait(timeoutContext(t, 60*time.Second), func(d webhookreceiver.Delivery) bool { return d.Accepted }); err != nil {
		t.Fatal(err)
	}
	waitStatus(t, shared, id, "waiting", 5*time.Second)
	eventually(t, 5*time.Second, "the history says sent", func() bool {
		h := history(t, id)
		return len(h) == 1 && h[0]["webhook_status"] == "sent"
	})
	if n := len(receiver.All()); n != 3 {
		t.Errorf("%d attempts, want 3", n)
	}
}

// history returns the event history of a monitor.
func history(t *testing.T, id string) (all []map[string]any) {
	t.Helper()
	a, err := shared.Service.Call(t.Context(), "GET", "/api/v1/monitors/"+id+"/events", nil)
	if err != nil || a.Status != 200 {
		t.Fatalf("history: %v %v", a, err)
	}
	for _, e := range a.Body["events"].([]any) {
		all = append(all, e.(map[string]any))
	}
	return all
}

// A receiver that is restarted delays one event, and neither ends the watch nor holds up the
// next event.
func TestAMonitorGoesOnWhileItsReceiverIsRestarted(t *testing.T) { // section 19.5
	runTimeline(t, 1, 55*time.Second)
	receiver := newReceiver(t)
	comeBack := receiver.Inject(0, httpfault.Status(503))
	p := &watchedStream{t: t, env: shared, video: newVideoID()}
	var err error
	if p.Stream, err = shared.StartStream(t.Context(), p.video, livestream.Config{}); err != nil {
		t.Fatal(err)
	}
	shared.YouTube.Replay(p.video)
	config := fastConfig()
	config["on_callback_failure"] = "continue"
	if p.id, err = shared.Service.Register(t.Context(), shared.YouTube.URL(p.video), receiver.URL(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = shared.Service.Call(timeoutContext(t, 5*time.Second), "DELETE", "/api/v1/monitors/"+p.id, nil)
	})
	entry := func(event string) map[string]any {
		t.Helper()
		for _, e := range history(t, p.id) {
			if e["event_type"] == event {
				return e
			}
		}
		return nil
	}

	eventually(t, startTimeout+30*time.Second, "the first event is on the long schedule", func() bool {
		return entry("stream.started")["long_schedule"] == true
	})
	if e := entry("stream.started"); e["webhook_status"] != "pending" {
		t.Errorf("the first event is %v", e)
	}
	refused := receiver.All()
	if len(refused) != 4 {
		t.Fatalf("%d attempts, want 4", len(refused))
	}
	waitStatus(t, shared, p.id, "monitoring", 5*time.Second)

	comeBack()
	p.goBlack()
	wait := func(event string, within time.Duration) webhookreceiver.Delivery {
		t.Helper()
		d, err := receiver.Wait(timeoutContext(t, within), func(d webhookreceiver.Delivery) bool { return d.Accepted && d.EventType == event })
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if alert := wait(blackoutAlert, 60*time.Second); alert.Attempt != 1 {
		t.Errorf("the alert needed %d attempts", alert.Attempt)
	}
	if e := entry(blackoutAlert); e["long_schedule"] != nil {
		t.Errorf("the alert is on the long schedule: %v", e)
	}
	late := wait("stream.started", 60*time.Second)
	if d := late.Received.Sub(refused[3].Received); d < 24*time.Second || d > 36*time.Second+14*time.Second+busyMachine { // 30 s and 20 % jitter
		t.Errorf("attempt 5 came %s after the last, want 30 s", d)
	}
	if late.Attempt != 5 || late.EventID != refused[0].EventID || string(late.Body) != string(refused[0].Body) {
		t.Errorf("attempt %d is another event: %s", late.Attempt, late.Body)
	}
	if first := receiver.Accepted()[0]; first.EventType != blackoutAlert {
		t.Errorf("%s was delivered first", first.EventType)
	}
	eventually(t, 5*time.Second, "the history says sent", func() bool { return entry("stream.started")["webhook_status"] == "sent" })
	waitStatus(t, shared, p.id, "monitoring", 5*time.Second)
}
