package acceptance_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// incidents returns the incidents of the stream, newest first, as the API shows them.
func (p *watchedStream) incidents() (all []map[string]any) {
	p.t.Helper()
	a, err := p.env.Service.Call(p.t.Context(), http.MethodGet, "/api/v1/incidents?monitor_id="+p.id, nil)
	if err != nil || a.Status != http.StatusOK {
		p.t.Fatalf("listing incidents was answered with %d %v, %v", a.Status, a.Body, err)
	}
	for _, i := range a.Body["incidents"].([]any) {
		all = append(all, i.(map[string]any))
	}
	return all
}

// describeIncident returns state and conditions, such as "open black+ silent-". "+" is a condition
// that lasts.
func describeIncident(i map[string]any) string {
	words := []string{i["state"].(string)}
	for _, c := range i["conditions"].([]any) {
		c := c.(map[string]any)
		if c["ended_at"] == nil {
			words = append(words, c["name"].(string)+"+")
		} else {
			words = append(words, c["name"].(string)+"-")
		}
	}
	return strings.Join(words, " ")
}

// waitIncident waits until the stream has one incident, which is as described.
func (p *watchedStream) waitIncident(within time.Duration, want ...string) map[string]any {
	p.t.Helper()
	var got []string
	within += busyMachine
	for deadline := time.Now().Add(within); ; sleep(p.t.Context(), 200*time.Millisecond) {
		got = nil
		all := p.incidents()
		for _, i := range all {
			got = append(got, describeIncident(i))
		}
		for _, w := range want {
			if len(got) == 1 && got[0] == w {
				return all[0]
			}
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("not within %s: the incidents are %q, want one that is %q", within, got, want)
		}
	}
}

// timeOf parses a time of a JSON object.
func timeOf(t *testing.T, object map[string]any, field string) time.Time {
	t.Helper()
	text, _ := object[field].(string)
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatalf("%s is %v", field, object[field])
	}
	return at
}

func TestTroubleOfAStreamIsOneIncident(t *testing.T) { // section 16.1
	runTimeline(t, 2, 160*time.Second)
	dark := watchStream(t, shared, livestream.Config{}, nil)
	stalled := watchStream(t, shared, livestream.Config{}, nil)

	stalledAt := stalled.Freeze(true)
	dark.Black(true)
	dark.Silence(true)
	black := dark.waitEvent(blackoutAlert, 60*time.Second)
	dark.waitEvent("alert.silence", 60*time.Second)

	dark.subtest(t, "black and silent together are one open incident", func(t *testing.T) {
		i := dark.waitIncident(5*time.Second, "open black+ silent+", "open silent+ black+")
		onset := black.Timestamp.Add(-time.Duration(black.Data.DurationSec) * time.Second) // by the clock
		assertNear(t, "started_at", timeOf(t, i, "started_at"), onset, time.Second)        // silence may have begun first
		if i["severity"] != 2.0 {
			t.Errorf("severity %v, want 2: picture and sound are bad", i["severity"])
		}
		a, err := shared.Service.Call(t.Context(), http.MethodPost, "/api/v1/incidents/"+i["incident_id"].(string)+"/acknowledge", map[string]any{"op_id": "1", "by": "ann"})
		if err != nil || a.Status != http.StatusOK {
			t.Errorf("acknowledging was answered with %d %v, %v", a.Status, a.Body, err)
		}
	})
	back := dark.Black(false)
	dark.Silence(false)
	dark.waitEvent(blackoutRecovered, 60*time.Second)
	dark.waitEvent("alert.silence_recovered", 60*time.Second)

	stalled.subtest(t, "an outage is an open incident", func(t *testing.T) {
		stalled.waitEvent(outageAlert, outageThreshold+45*time.Second)
		i := stalled.waitIncident(5*time.Second, "open no_media+")
		assertNear(t, "started_at", timeOf(t, i, "started_at"), stalledAt, 5*time.Second+busyMachine)
	})
	healed := stalled.Freeze(false)
	stalled.subtest(t, "it ends without an event", func(t *testing.T) {
		i := stalled.waitIncident(30*time.Second, "open no_media-")
		ended := timeOf(t, i["conditions"].([]any)[0].(map[string]any), "ended_at")
		if late := ended.Sub(healed); late < -exactTolerance || late > 20*time.Second+busyMachine {
			t.Errorf("it ended %s after the media were back", late)
		}
	})
	dark.subtest(t, "black and silent are resolved after a minute", func(t *testing.T) {
		i := dark.waitIncident(75*time.Second, "resolved black- silent-", "resolved silent- black-")
		if quiet := timeOf(t, i, "resolved_at").Sub(back); quiet < 60*time.Second-exactTolerance || quiet > 75*time.Second+busyMachine {
			t.Errorf("resolved %s after the recovery, want a minute", quiet)
		}
		if i["acknowledged_by"] != "ann" || i["reopened"] != 0.0 {
			t.Errorf("the incident is %v", i)
		}
	})
	stalled.subtest(t, "the outage is resolved after a minute", func(*testing.T) {
		stalled.waitIncident(80*time.Second, "resolved no_media-")
	})
	dark.End()
	stalled.endAndAssert(outageAlert)
}
