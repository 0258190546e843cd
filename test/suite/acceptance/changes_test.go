package acceptance_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// changeMonitor changes the monitor of a stream.
func (p *watchedStream) changeMonitor(change map[string]any) {
	p.t.Helper()
	res, err := p.env.Service.Call(p.t.Context(), http.MethodPatch, "/api/v1/monitors/"+p.id, change)
	if err != nil || res.Status != http.StatusOK {
		p.t.Fatalf("the change is answered %d %v, %v", res.Status, res.Body, err)
	}
}

// waitAdopted waits until the worker goes on by the first change.
func (p *watchedStream) waitAdopted() {
	p.t.Helper()
	eventually(p.t, 30*time.Second, "the change is adopted", func() bool {
		return len(p.logLines("Monitoring goes on by a changed configuration")) == 1
	})
}

func TestARunningMonitorIsChangedWithoutAGap(t *testing.T) { // section 16.6
	runTimeline(t, 1, 100*time.Second)
	moved, err := webhookreceiver.Start(webhookreceiver.Config{Key: system.SigningKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = moved.Close() })
	p := watchStream(t, shared, livestream.Config{}, nil)
	p.changeMonitor(map[string]any{"config": map[string]any{"blackout_threshold_sec": 3600}})
	p.waitAdopted()
	workers := workerGenerations(p.env, p.id)

	p.goBlack()
	p.sleepUntil(p.black, 15*time.Second)
	if events := eventsOf(p.env, p.id); len(events) != 1 {
		t.Errorf("the raised threshold is not kept: %v", events)
	}
	p.changeMonitor(map[string]any{
		"config":       map[string]any{"blackout_threshold_sec": 10},
		"callback_url": moved.URL(),
		"metadata":     map[string]any{"channel_name": "changed"},
	})
	changed := time.Now()
	alert, err := moved.Wait(timeoutContext(t, 30*time.Second), func(d webhookreceiver.Delivery) bool { return d.EventType == blackoutAlert })
	if err != nil {
		t.Fatal(err)
	}
	if late := alert.Received.Sub(changed); late > 20*time.Second+busyMachine { // a heartbeat, a check and a segment
		t.Errorf("the alert comes %s after the change", late)
	}
	assertAfter(t, "started_at", alert.Data.StartedAt, p.black, 3*time.Second)
	if string(alert.Metadata) != `{"channel_name":"changed"}` || alert.Data.ThresholdSec != 10 {
		t.Errorf("the webhook is %s", alert.Body)
	}
	picture := p.Black(false)
	back, err := moved.Wait(timeoutContext(t, 60*time.Second), func(d webhookreceiver.Delivery) bool { return d.EventType == blackoutRecovered })
	if err != nil {
		t.Fatal(err)
	}
	assertAfter(t, "recovered_at", back.Data.RecoveredAt, picture, 3*time.Second)
	if after := workerGenerations(p.env, p.id); len(after) != 1 || len(workers) != 1 || after[0] != workers[0] {
		t.Errorf("the workers were %v, and are %v", workers, after)
	}
	if events := eventsOf(p.env, p.id); len(events) != 1 {
		t.Errorf("the old receiver got %v", events)
	}
}
