package postgres_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestAListAnswersWhatAnOperatorAsks(t *testing.T) { // section 16.6
	t.Parallel()
	s := open(t, database(t))
	names := map[monitor.ID]string{}
	add := func(n int, name, metadata string, reports ...monitor.Report) monitor.Monitor {
		t.Helper()
		m := registration(n)
		m.Metadata = json.RawMessage(metadata)
		m.Labels = monitor.Labels{"nr": fmt.Sprint(n), "team": []string{"a", "夜 <b>"}[n%2]}
		check(t, s.Insert(t.Context(), m, unlimited))
		names[m.ID] = name
		for _, r := range reports {
			acceptReport(t, s, m.ID, r, monitor.Run)
		}
		return m
	}
	blind, waiting := report(), report()
	blind.Visibility = &monitor.Visibility{LastError: "yt-dlp: no answer", BlindSince: noon}
	waiting.Status, waiting.StreamStatus = monitor.Waiting, monitor.StreamUpcoming
	onset := time.Now().UTC().Add(-time.Minute).Truncate(time.Second)
	add(1, "quiet", `{"name":"50% off_air"}`, report())
	black := add(2, "black", `{"name":"\u591c\u306e\u914d\u4fe1"}`, report(trouble(detector.Blackout, onset)))
	add(3, "blind", `{"name":"Morning SHOW"}`, blind)
	add(4, "waiting", `{}`, waiting)
	dark := report()
	dark.Health.Video = monitor.Black
	add(6, "black, told later", `{}`, dark)
	ended := add(5, "ended", `{}`, report())
	stopMonitor(t, s, ended.ID)
	for name, c := range map[string]struct {
		q    monitors.MonitorQuery
		want []string
	}{
		"all":                          {monitors.MonitorQuery{}, []string{"ended", "black, told later", "waiting", "blind", "black", "quiet"}},
		"trouble":                      {monitors.MonitorQuery{Trouble: true}, []string{"black, told later", "black"}},
		"blind":                        {monitors.MonitorQuery{Blind: true}, []string{"blind"}},
		"live":                         {monitors.MonitorQuery{Live: true}, []string{"black, told later", "blind", "black", "quiet"}},
		"live and in trouble":          {monitors.MonitorQuery{Live: true, Trouble: true}, []string{"black, told later", "black"}},
		"a status and live":            {monitors.MonitorQuery{Status: monitor.Waiting, Live: true}, nil},
		"text of the metadata":         {monitors.MonitorQuery{Text: "morning show"}, []string{"blind"}},
		"text of escaped metadata":     {monitors.MonitorQuery{Text: "夜の配信"}, []string{"black"}},
		"a percent sign is no pattern": {monitors.MonitorQuery{Text: "0% OFF_"}, []string{"quiet"}},
		"an underscore is no pattern":  {monitors.MonitorQuery{Text: "_____"}, nil},
		"a backslash is no escape":     {monitors.MonitorQuery{Text: `\%`}, nil},
		"text of the URL":              {monitors.MonitorQuery{Text: "V=00000000002"}, []string{"black"}},
		"an id":                        {monitors.MonitorQuery{Text: string(black.ID)}, []string{"black"}},
		"text and a status":            {monitors.MonitorQuery{Text: "show", Status: monitor.Stopped}, nil},
		"a label":                      {monitors.MonitorQuery{Labels: monitor.Labels{"team": "夜 <b>"}}, []string{"ended", "blind", "quiet"}},
		"two labels":                   {monitors.MonitorQuery{Labels: monitor.Labels{"team": "a", "nr": "2"}}, []string{"black"}},
		"a label and a status":         {monitors.MonitorQuery{Labels: monitor.Labels{"team": "a"}, Status: monitor.Waiting}, []string{"waiting"}},
		"a label and live":             {monitors.MonitorQuery{Labels: monitor.Labels{"team": "a"}, Live: true}, []string{"black, told later", "black"}},
		"those that have ended":        {monitors.MonitorQuery{Ended: true}, []string{"ended"}},
		"those that have ended today":  {monitors.MonitorQuery{Ended: true, EndedFrom: noon, EndedTo: noon.Add(time.Hour), Status: monitor.Stopped, Text: "youtube"}, []string{"ended"}},
		"those that ended before":      {monitors.MonitorQuery{Ended: true, EndedTo: noon}, nil},
		"those of another outcome":     {monitors.MonitorQuery{Ended: true, Status: monitor.Failed, EndedFrom: noon}, nil},
		"those that have not ended":    {monitors.MonitorQuery{Active: true}, []string{"black, told later", "waiting", "blind", "black", "quiet"}},
		"those of a channel":           {monitors.MonitorQuery{Ended: true, ChannelID: "0190a5d8-1c2b-7d8a-9c1d-2e3f4a5b6c7d"}, nil},
		"a label that none has":        {monitors.MonitorQuery{Labels: monitor.Labels{"team": "A"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c.q.Limit = 200
			page, total, err := s.List(t.Context(), c.q)
			check(t, err)
			var got []string
			for _, m := range page {
				got = append(got, names[m.ID])
			}
			expect(t, "the list", got, c.want)
			expect(t, "the total", total, len(c.want))
		})
	}
	page, total, err := s.List(t.Context(), monitors.MonitorQuery{Trouble: true, Limit: 1, Offset: 1})
	if err != nil || total != 2 || page[0].Incident == nil || page[0].Incident.Conditions[0].Name != "black" || page[0].Incident.ID == "" || page[0].Incident.OpenedAt.IsZero() {
		t.Errorf("the incident is %+v, %v", page, err)
	}
}

func TestPagesAfterACursorMissNothingThatWasThere(t *testing.T) { // section 16.6
	t.Parallel()
	s := open(t, database(t))
	var want, got []monitor.ID
	for n := range 7 {
		want = append([]monitor.ID{register(t, s, n).ID}, want...)
	}
	for q := (monitors.MonitorQuery{Limit: 3}); ; {
		page, _, err := s.List(t.Context(), q)
		check(t, err)
		if len(page) == 0 {
			break
		}
		for _, m := range page {
			got = append(got, m.ID)
		}
		q.Before = page[len(page)-1].Seq
		register(t, s, 100+len(got)) // it moves every offset
	}
	expect(t, "the pages", got, want)
}

func TestPagesOfEndedStreamsFollowTheirEnds(t *testing.T) { // section 16.6
	s, db := newStore(t)
	var want, got []monitor.ID
	for n := range 7 {
		m := register(t, s, n)
		stopMonitor(t, s, m.ID)
		want = append(want, m.ID)
	}
	// The first has ended last, and three at the same time.
	alter(t, db, `UPDATE monitors SET ended_at = CASE WHEN number BETWEEN 3 AND 5 THEN now() ELSE now() + make_interval(secs => 4 - number) END`)
	slices.Reverse(want[2:5]) // by their IDs
	for q := (monitors.MonitorQuery{Ended: true, Limit: 2}); ; {
		page, _, err := s.List(t.Context(), q)
		check(t, err)
		if len(page) == 0 {
			break
		}
		for _, m := range page {
			got = append(got, m.ID)
		}
		last := page[len(page)-1]
		q.BeforeEnd = monitors.EndedPlace{EndedAt: last.EndedAt, ID: last.ID}
	}
	expect(t, "the pages", got, want)
}

func TestTheTotalOfAListIsThatOfItsFilter(t *testing.T) { // sections 3.4 and 16.6
	s, db := newStore(t)
	for n := range 9 {
		register(t, s, n)
	}
	alter(t, db, `UPDATE monitors SET stream_status = 'live'`) // also of those that will have ended
	for n, id := range values[monitor.ID](t, db, `SELECT id FROM monitors ORDER BY seq LIMIT 6`) {
		must(s.End(t.Context(), id, []monitor.Status{monitor.Completed, monitor.Stopped, monitor.Failed}[min(n, 2)], "", nil, noon))(t)
	}
	alter(t, db, `UPDATE monitors SET status = 'waiting', stream_status = 'upcoming' WHERE id = (SELECT min(id) FROM monitors WHERE status = 'initializing')`)
	expectTotals := func(live int, totals map[monitor.Status]int) {
		t.Helper()
		for status, want := range totals {
			for offset := range want + 3 {
				page, total, err := s.List(t.Context(), monitors.MonitorQuery{Status: status, Limit: 2, Offset: offset})
				if err != nil || total != want || len(page) != max(min(2, want-offset), 0) {
					t.Errorf("%q from %d: %d monitors of %d, %v; want a total of %d", status, offset, len(page), total, err, want)
				}
			}
		}
		for status, want := range totals {
			if status.Active() {
				want = 0
			}
			if status == "" {
				want = totals[monitor.Completed] + totals[monitor.Stopped] + totals[monitor.Failed]
			}
			page, total, err := s.List(t.Context(), monitors.MonitorQuery{Ended: true, Status: status, Limit: 1})
			if err != nil || total != want || len(page) != min(1, want) {
				t.Errorf("%q that have ended: %d monitors of %d, %v; want a total of %d", status, len(page), total, err, want)
			}
		}
		_, total, err := s.List(t.Context(), monitors.MonitorQuery{Live: true, Limit: 1})
		check(t, err)
		expect(t, "the total of live monitors", total, live)
	}
	expectTotals(2, map[monitor.Status]int{"": 9, monitor.Waiting: 1, monitor.Initializing: 2, monitor.Completed: 1, monitor.Stopped: 1, monitor.Failed: 4})

	// Whoever changes a monitor.
	undone := holding(t, db, `UPDATE monitors SET status = 'stopped'`)
	check(t, undone.Rollback())
	alter(t, db, `UPDATE monitors SET status = 'error', updated_at = now() WHERE status = 'completed'`)
	alter(t, db, `DELETE FROM monitor_stats; DELETE FROM monitors WHERE status = 'stopped'`)
	alter(t, db, `DELETE FROM monitors WHERE id = (SELECT min(id) FROM monitors WHERE status = 'initializing')`)
	alter(t, db, `UPDATE monitors SET status = 'monitoring' WHERE status = 'waiting'`)
	alter(t, db, `UPDATE monitors SET stream_status = 'live' WHERE status = 'monitoring'`)
	alter(t, db, `INSERT INTO monitor_stats (monitor_id) SELECT id FROM monitors`)
	expectTotals(2, map[monitor.Status]int{"": 7, monitor.Waiting: 0, monitor.Monitoring: 1, monitor.Initializing: 1, monitor.Completed: 0, monitor.Stopped: 0, monitor.Failed: 5})

	// An end that is not committed delays no other.
	first, second := register(t, s, 20), register(t, s, 21)
	holding(t, db, `UPDATE monitors SET status = 'stopped' WHERE id = $1`, first.ID)
	stopMonitor(t, s, second.ID) // it would be cancelled after 5 s
}

func TestAChangeIsStoredWithTheNextRevision(t *testing.T) { // section 16.6
	t.Parallel()
	s, db := newStore(t)
	m := registerWith(t, s, 1, blackout(40))
	before := getMonitor(t, s, m.ID)
	head := feedHead(t, s, db)
	changed := before
	changed.Config.SetThresholdSec(detector.Blackout, 12)
	changed.CallbackURL, changed.Metadata, changed.Labels = "https://example.com/night", json.RawMessage(`{"z": 1, "a": "夜"}`), monitor.Labels{"team": "夜"}

	after := must(s.UpdateSettings(t.Context(), changed, time.Time{}))(t)
	if after.Revision != 1 || after.Config != changed.Config || after.CallbackURL != changed.CallbackURL || string(after.Metadata) != string(changed.Metadata) || after.Labels["team"] != "夜" {
		t.Errorf("stored is %+v", after)
	}
	if after.Status != before.Status || !after.Health.Same(before.Health) || string(after.Snapshot) != string(before.Snapshot) || after.Generation != before.Generation {
		t.Errorf("the state has changed to %+v", after)
	}
	expect(t, "the feed", feedSince(t, s, head), []string{"monitor.updated monitoring"})
	expect(t, "the callback of the pending event", leaseOne(t, s).Callback, changed.CallbackURL)
	expect(t, "the answer to the worker", must(s.Accept(t.Context(), m.ID, report()))(t), (monitor.Answer{Order: monitor.Run, Revision: 1}))
	expectError(t, "a change of an older revision", errorOf(s.UpdateSettings(t.Context(), changed, time.Time{})), monitors.ErrRevisionConflict)
	other := holding(t, db, `UPDATE monitors SET revision = revision + 1`)
	wait := inBackground(t, func() error {
		expectError(t, "a change beside another one", errorOf(s.UpdateSettings(t.Context(), after, time.Time{})), monitors.ErrRevisionConflict)
		return nil
	})
	eventually(t, "the change waits for the other one", func() bool { return waitingForLock(t, db) })
	check(t, other.Commit())
	wait()
	stopMonitor(t, s, m.ID)
	requireCode(t, errorOf(s.UpdateSettings(t.Context(), after, time.Time{})), monitor.Ended)
	requireCode(t, errorOf(s.UpdateSettings(t.Context(), registration(9), time.Time{})), monitor.NotFound)
}

func TestAChangedScheduleMovesThePromotion(t *testing.T) { // decision A10, section 16.6
	t.Parallel()
	s, db, m := newReservation(t, time.Hour)
	move := func(to time.Time) {
		t.Helper()
		must(s.UpdateSettings(t.Context(), getMonitor(t, s, m.ID), to))(t)
	}
	later := time.Now().Add(3 * time.Hour).Truncate(time.Millisecond)
	move(later)
	move(time.Time{}) // another change
	if _, next := claimDue(t, s); next.Sub(later).Abs() > time.Minute {
		t.Errorf("the reservation is due at %v, want %v", next, later)
	}
	move(time.Now().Add(-time.Second))
	claimed, _ := claimDue(t, s)
	require(t, "claimed reservations", len(claimed), 1)
	must(s.Promote(t.Context(), claimed[0], "here"))(t)
	move(later)
	expect(t, "until when a monitor with a worker is reserved", getMonitor(t, s, m.ID).ReservedUntil, time.Time{})
	reserve(t, db, m.ID, -time.Second) // its gateway stops
	move(later)
	if claimed, _ := claimDue(t, s); len(claimed) != 1 {
		t.Error("a released monitor waits for its moved start")
	}
}
