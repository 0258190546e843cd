package monitor_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestADifferenceIsNamedAsRequestsNameTheField(t *testing.T) { // section 16.6
	start := time.Date(2030, 1, 15, 20, 0, 0, 0, time.FixedZone("", 9*3600))
	for name, c := range map[string]struct {
		change func(*monitor.Monitor)
		want   string
	}{
		"nothing":                        {func(*monitor.Monitor) {}, "[]"},
		"a number":                       {func(m *monitor.Monitor) { m.Config.SetThresholdSec(detector.Blackout, 10) }, "[config.blackout_threshold_sec 30 → 10]"},
		"the same instant elsewhere":     {func(m *monitor.Monitor) { m.Config.ScheduledStartTime = new(start.UTC()) }, "[]"},
		"no planned start":               {func(m *monitor.Monitor) { m.Config.ScheduledStartTime = nil }, "[config.scheduled_start_time 2030-01-15T11:00:00Z → none]"},
		"a detector":                     {func(m *monitor.Monitor) { m.Config.SwitchOff(detector.Freeze) }, "[config.detectors.freeze.threshold_sec 30 → none]"},
		"a label":                        {func(m *monitor.Monitor) { m.Labels = monitor.Labels{"team": "b", "show": "朝 1"} }, `[labels.show none → "朝 1" labels.team a → b]`},
		"metadata in another order":      {func(m *monitor.Monitor) { m.Metadata = json.RawMessage(`{"b": {"x": [1]}, "a": 1.0}`) }, "[]"},
		"metadata within":                {func(m *monitor.Monitor) { m.Metadata = json.RawMessage(`{"a":1,"b":{"x":[2]}}`) }, "[metadata.b.x [1] → [2]]"},
		"the callback, which is secret":  {func(m *monitor.Monitor) { m.CallbackURL = "" }, "[callback_url]"},
		"the token of the URL":           {func(m *monitor.Monitor) { m.StreamSecret.Query = "?k=2" }, "[stream_url]"},
		"the value of a header":          {func(m *monitor.Monitor) { m.StreamSecret.Headers = map[string]string{"x-key": "2"} }, "[config.http_headers]"},
		"a header, and the token URL":    {func(m *monitor.Monitor) { m.Config.HeaderNames, m.Config.HasTokenURL = "x-key,y", true }, "[config.token_url none → set config.http_headers]"},
		"another URL that gives a token": {func(m *monitor.Monitor) { m.StreamSecret.TokenURL = "https://example.com/2" }, "[config.token_url]"},
	} {
		config := monitor.DefaultConfig()
		config.ScheduledStartTime, config.HeaderNames = &start, "x-key"
		config.SwitchOn(detector.Freeze)
		m := monitor.Monitor{
			Config: config, CallbackURL: "https://example.com/secret", Labels: monitor.Labels{"team": "a"}, Metadata: json.RawMessage(`{"a":1,"b":{"x":[1]}}`),
			StreamSecret: monitor.StreamSecret{Query: "?k=1", Headers: map[string]string{"x-key": "1"}},
		}
		after := m
		c.change(&after)
		if got := fmt.Sprint(monitor.Differences(m, after)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
