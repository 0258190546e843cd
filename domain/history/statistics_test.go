package history_test

import (
	"testing"
	"time"
	_ "time/tzdata" // zones on a machine without them

	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestPeriodsAreThoseOfTheZone(t *testing.T) {
	parse := func(s string) time.Time {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for name, c := range map[string]struct {
		unit     history.Unit
		zone     string
		from, to string
		first    string
		hours    []float64
	}{
		"the day on which summer time begins has 23 hours": {history.Day, "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z",
			"2026-03-27T23:00:00Z", []float64{24, 23, 24}},
		"the day on which summer time ends has 25 hours": {history.Day, "Europe/Berlin", "2026-10-25T12:00:00Z", "2026-10-25T13:00:00Z",
			"2026-10-24T22:00:00Z", []float64{25}},
		"the hours around the end of summer time are hours": {history.Hour, "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T02:30:00Z",
			"2026-10-25T00:00:00Z", []float64{1, 1, 1}},
		"hours in India begin at half past": {history.Hour, "Asia/Kolkata", "2026-11-22T00:00:00Z", "2026-11-22T01:00:00Z",
			"2026-11-21T23:30:00Z", []float64{1, 1}},
		"a day without a midnight": {history.Day, "Africa/Cairo", "2026-04-23T12:00:00Z", "2026-04-25T12:00:00Z",
			"2026-04-22T22:00:00Z", []float64{24, 23, 24}},
		"a day that has midnight twice": {history.Day, "America/Havana", "2025-11-01T12:00:00Z", "2025-11-03T12:00:00Z",
			"2025-11-01T04:00:00Z", []float64{24, 25, 24}},
		"a day that was skipped": {history.Day, "Pacific/Apia", "2011-12-29T12:00:00Z", "2011-12-31T12:00:00Z",
			"2011-12-29T10:00:00Z", []float64{24, 24, 24}},
		"summer time of half an hour": {history.Hour, "Australia/Lord_Howe", "2026-04-04T14:15:00Z", "2026-04-04T15:45:00Z",
			"2026-04-04T14:00:00Z", nil},
	} {
		t.Run(name, func(t *testing.T) {
			periods := history.Periods(c.unit, zone(t, c.zone), parse(c.from), parse(c.to))
			if len(periods) == 0 || !periods[0].From.Equal(parse(c.first)) {
				t.Fatalf("the periods are %v", periods)
			}
			for i, p := range periods {
				if !p.From.Before(p.To) || i > 0 && !periods[i-1].To.Equal(p.From) {
					t.Errorf("period %d is %v", i, p)
				}
				if c.hours != nil && (len(periods) != len(c.hours) || p.To.Sub(p.From).Hours() != c.hours[i]) {
					t.Errorf("period %d of %d lasts %v", i, len(periods), p.To.Sub(p.From))
				}
			}
			if last := periods[len(periods)-1]; last.To.Before(parse(c.to)) || !last.From.Before(parse(c.to)) {
				t.Errorf("the last period is %v", last)
			}
		})
	}
	if n := len(history.Periods(history.Hour, time.UTC, noon, noon.AddDate(10, 0, 0))); n != history.MaxPeriods+1 {
		t.Errorf("ten years have %d hours, want one more than the maximum", n)
	}
}

func TestSummarise(t *testing.T) {
	periods := history.Periods(history.Hour, time.UTC, noon, at(7200))
	sum := history.NewSummary(periods)
	for id, spans := range map[monitor.ID][]history.Span{
		"a": {
			span("segments", "ok", -600, 3700), span("segments", "no_media", 3700, 3800), span("segments", "unknown", 3800, 7200),
			span("video", "ok", 0, 3590), span("video", "black", 3590, 3620), span("video", "unknown", 3620, 7200),
			span("stream", "live", 0, 4000), span("stream", "blind", 4000, 4500),
			span("stream", "paused", 5000, 5300), span("segments", "paused", 5000, 5300), span("video", "paused", 5000, 5300), span("audio", "paused", 5000, 5300),
		},
		"b": {
			span("segments", "ok", 0, 60), span("audio", "silent", 10, 25),
			span("audio", "silent", 7200, 9000), // after the end
		},
	} {
		for _, s := range spans {
			sum.AddSpan(id, s)
		}
	}
	for _, a := range []history.Alert{
		{MonitorID: "a", At: at(3620), Onset: at(3590)}, {MonitorID: "b", At: at(20), Onset: at(10)}, {MonitorID: "b", At: at(-5), Onset: at(-15)},
		{MonitorID: "b", At: at(30), Onset: at(40)}, // by another clock
	} {
		sum.AddAlert(a)
	}
	for _, second := range []int{3620, 7200} {
		sum.AddIncident("a", at(second))
	}
	check := func(name string, got history.Totals, times map[string]int, alerts, incidents int, longest time.Duration) {
		t.Helper()
		for word, d := range got.Time {
			if want := time.Duration(times[word]) * time.Second; d != want {
				t.Errorf("%s: %s for %v, want %v", name, word, d, want)
			}
		}
		if got.Alerts != alerts || got.Incidents != incidents || got.ToAlert.Max != longest || got.ToAlert.N != alerts {
			t.Errorf("%s: %d alerts, %d incidents, %+v", name, got.Alerts, got.Incidents, got.ToAlert)
		}
	}
	check("first hour", sum.Periods[0], map[string]int{"watched": 3660, "black": 10, "silent": 15}, 2, 0, 10*time.Second)
	check("second hour", sum.Periods[1], map[string]int{"watched": 200, "black": 20, "out": 100, "blind": 500, "paused": 300}, 1, 1, 30*time.Second)
	check("a", *sum.Monitors["a"], map[string]int{"watched": 3800, "black": 30, "out": 100, "blind": 500, "paused": 300}, 1, 1, 30*time.Second)
	check("b", *sum.Monitors["b"], map[string]int{"watched": 60, "silent": 15}, 2, 0, 10*time.Second)
	check("all", sum.Total, map[string]int{"watched": 3860, "black": 30, "silent": 15, "out": 100, "blind": 500, "paused": 300}, 3, 1, 30*time.Second)
}

func TestSessionsLastFromStartToEnd(t *testing.T) {
	for name, c := range map[string]struct {
		started, ended []time.Time
		active         bool
		want           [][3]int // from, to (0: going on), watched
	}{
		"one that ended":                  {[]time.Time{noon}, []time.Time{at(500)}, false, [][3]int{{0, 500, 500}}},
		"one that goes on":                {[]time.Time{at(10)}, nil, true, [][3]int{{10, 0, 990}}},
		"one whose monitor was stopped":   {[]time.Time{at(10)}, nil, false, [][3]int{{10, 1000, 990}}},
		"one that began before the watch": {[]time.Time{at(-3600)}, nil, true, [][3]int{{-3600, 0, 1000}}},
		"two":                             {[]time.Time{at(200), noon}, []time.Time{at(100), at(300)}, false, [][3]int{{0, 100, 100}, {200, 300, 100}}},
		"two, the first without an end":   {[]time.Time{noon, at(200)}, []time.Time{at(300)}, false, [][3]int{{0, 200, 200}, {200, 300, 100}}},
		"none":                            {nil, nil, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			sessions, periods := history.Sessions(c.started, c.ended, history.Life{From: noon, Until: at(1000)}, c.active)
			if len(sessions) != len(c.want) || len(periods) != len(c.want) {
				t.Fatalf("%d sessions: %+v, %v", len(sessions), sessions, periods)
			}
			sum := history.NewSummary(periods)
			if len(periods) > 0 {
				sum.AddSpan("a", span("segments", "ok", 0, 1000))
			}
			for i, want := range c.want {
				s := sessions[i]
				to := 0
				if !s.To.IsZero() {
					to = int(s.To.Sub(noon).Seconds())
				}
				if got := [3]int{int(s.From.Sub(noon).Seconds()), to, int(sum.Periods[i].Time[history.Watched].Seconds())}; got != want {
					t.Errorf("session %d is %v, want %v", i, got, want)
				}
			}
		})
	}
}
