package postgres_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/hints"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/hint"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// addLateStream stores a stream of a channel that has ended, and began late.
func addLateStream(t *testing.T, s *postgres.Store, n int, scheduled time.Time, late time.Duration) {
	t.Helper()
	m := registration(n)
	m.Metadata = json.RawMessage(`{"channel_name":"星凪ルカ"}`)
	m.Config.ScheduledStartTime, m.CreatedAt = &scheduled, scheduled.Add(-time.Hour)
	check(t, s.Insert(t.Context(), m, unlimited))
	r := report(event.Event{ID: newID(), Type: event.StreamStarted, At: scheduled.Add(late), Data: event.Started{
		StartedAt: scheduled.Add(late), DetectedAt: scheduled.Add(late), ScheduledStartTime: &scheduled,
	}})
	acceptReport(t, s, m.ID, r, monitor.Run)
	must(s.End(t.Context(), m.ID, monitor.Stopped, "", nil, scheduled.Add(2*time.Hour)))(t)
}

// showHints writes the hints of each monitor of the list, the feed and the page of one, which are the same.
func showHints(t *testing.T, s *postgres.Store) map[int]string {
	t.Helper()
	page, _, err := s.List(t.Context(), monitors.MonitorQuery{Limit: 100})
	check(t, err)
	state, _, err := s.ReadState(t.Context())
	check(t, err)
	shown := map[int]string{}
	for _, m := range page {
		require(t, "the hints of one monitor", fmt.Sprint(getMonitor(t, s, m.ID).Hints), fmt.Sprint(m.Hints))
		for _, h := range m.Hints {
			shown[m.Number] += fmt.Sprint(h.Kind, " ", h.Condition, " ", h.Numbers)
		}
	}
	for _, m := range state.Monitors {
		require(t, "whether the feed has hints", len(m.Hints) > 0, shown[m.Number] != "")
	}
	return shown
}

func TestHintsAreFoundShownAndToldWhereARouteAsks(t *testing.T) { // section 16.7
	s, db := newStore(t)
	addDestination(t, s, notify.Slack, "default route")
	addRoute(t, s, notify.Email, "hints", notify.Match{Hints: []monitor.HintKind{monitor.Quieter, monitor.LateStarts}, Labels: monitor.Labels{"team": "x"}})
	now := time.Now().UTC().Truncate(time.Minute).Add(20 * time.Second)
	service := hints.NewService(s, func() time.Time { return now })
	run := func() { t.Helper(); check(t, service.Run(t.Context())) }

	quieter := register(t, s, 1)
	var minutes []monitor.Minute
	for n, mean := range []float64{-12, -18, -24, -30, -36, -42, -43} {
		m := minuteAt(0, 30, 100)
		m.At = now.Truncate(time.Minute).Add(time.Duration(n-6) * time.Minute)
		m.Since, m.Level = m.At, monitor.Range{Min: mean - 10, Mean: mean, Max: mean + 8, N: 30}
		minutes = append(minutes, m)
	}
	r := report()
	r.Minutes = minutes
	acceptReport(t, s, quieter.ID, r, monitor.Run)

	recurring := register(t, s, 2)
	for _, ago := range []time.Duration{50 * time.Minute, 30 * time.Minute, 10 * time.Minute} {
		onset := now.Add(-ago)
		acceptReport(t, s, recurring.ID, report(trouble(detector.Silence, onset), recovery(detector.Silence, onset, onset.Add(time.Minute))), monitor.Run)
	}

	for n, late := range []time.Duration{4 * time.Minute, 9 * time.Minute, 5 * time.Minute} {
		addLateStream(t, s, 10+n, now.AddDate(0, 0, -n-1), late)
	}
	addLateStream(t, s, 20, now.AddDate(0, 0, -91), time.Hour)
	late, scheduled := registration(3), now.Add(30*time.Minute)
	late.Status, late.Metadata, late.Config.ScheduledStartTime = monitor.Waiting, json.RawMessage(`{"channel_name":"星凪ルカ"}`), &scheduled
	check(t, s.Insert(t.Context(), late, unlimited))
	number := func(m monitor.Monitor) int { return getMonitor(t, s, m.ID).Number }

	run()
	want := map[int]string{
		number(quieter):   "quieter  map[db_per_minute:6 level_db:-42 minutes:5]",
		number(recurring): "recurring silent map[times:3 within_sec:3600]",
		number(late):      "late_starts  map[max_late_sec:540 min_late_sec:240 streams:3]",
	}
	if got := showHints(t, s); !maps.Equal(got, want) {
		t.Fatalf("the hints are %v, want %v", got, want)
	}
	again := hint.MonitorHint{MonitorID: quieter.ID, Hint: getMonitor(t, s, quieter.ID).Hints[0]}
	check(t, s.ChangeHints(t.Context(), hint.Changes{Begun: []hint.MonitorHint{again}})) // by another gateway that looks at the same time
	var told []string
	for _, d := range leaseForDestinations(t, s) {
		if d.Notice != nil {
			told = append(told, d.Destination.Name+": "+string(d.Notice.Hint.Kind)+" "+d.Notice.Hint.ChannelName)
			recordAttempt(t, s, d, accepting, sent)
		}
	}
	slices.Sort(told)
	require(t, "what is told", fmt.Sprint(told), "[hints: late_starts 星凪ルカ hints: quieter ]")

	// The alerts were false, and the stream has started. The other hint goes on.
	alter(t, db, `UPDATE incidents SET false_positive = true`)
	alter(t, db, `UPDATE monitors SET status = 'monitoring' WHERE id = $1`, late.ID)
	run()
	require(t, "the hints afterwards", fmt.Sprint(showHints(t, s)), fmt.Sprint(map[int]string{number(quieter): want[number(quieter)]}))
	for _, d := range leaseForDestinations(t, s) {
		if d.Notice != nil {
			t.Errorf("%s is told to %s again", d.Notice.Hint.Kind, d.Destination.Name)
		}
	}
	found := listIncidents(t, s, recurring.ID)[0]
	one, _, err := s.GetIncident(t.Context(), found.ID)
	check(t, err)
	if len(one.Hints) != 1 || one.Hints[0].Kind != monitor.Recurring || !one.Hints[0].Since.Equal(now.Add(-10*time.Minute)) {
		t.Errorf("the incident has the hints %+v", one.Hints)
	}
}
