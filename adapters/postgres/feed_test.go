package postgres_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// feedLine is a short form of an entry: its type and the field that the tests expect.
func feedLine(t testing.TB, entryType, data string) string {
	t.Helper()
	var fields struct {
		Status   string `json:"status"`
		Webhook  string `json:"webhook_status"`
		Attempts int    `json:"webhook_attempts"`
		State    string `json:"state"`
	}
	if err := json.Unmarshal([]byte(data), &fields); err != nil {
		t.Fatalf("the data of %s is no JSON: %v: %s", entryType, err, data)
	}
	if fields.Webhook != "" {
		return fmt.Sprintf("%s %s %d", entryType, fields.Webhook, fields.Attempts)
	}
	return entryType + " " + fields.Status + fields.State
}

// numberFeed gives their versions to all changes.
func numberFeed(t testing.TB, s *postgres.Store) {
	t.Helper()
	eventually(t, "all changes have their versions", func() bool { return !must(s.NumberFeed(t.Context()))(t) })
}

// feedSince returns the entries after a version in short form, and the last version. It gives
// their versions to all changes before.
func feedSince(t testing.TB, s *postgres.Store, db *sql.DB, version int64) (lines []string, last int64) {
	t.Helper()
	numberFeed(t, s)
	rows := must(db.QueryContext(t.Context(), `SELECT version, type, data FROM feed WHERE version > $1 ORDER BY version`, version))(t)
	defer rows.Close()
	last = version
	for rows.Next() {
		var next int64
		var entryType, data string
		check(t, rows.Scan(&next, &entryType, &data))
		if last > 0 && next != last+1 {
			t.Fatalf("version %d follows %d", next, last)
		}
		last = next
		lines = append(lines, feedLine(t, entryType, data))
	}
	check(t, rows.Err())
	return lines, last
}

// feedHead returns the version of the newest entry. It gives their versions to all changes
// before.
func feedHead(t testing.TB, s *postgres.Store, db *sql.DB) (version int64) {
	t.Helper()
	numberFeed(t, s)
	check(t, db.QueryRowContext(t.Context(), `SELECT version FROM feed_head`).Scan(&version))
	return version
}

// TestEveryChangeThatReadersSeeIsAppendedToTheFeed runs each transaction twice: as a
// repetition after an unknown outcome, it appends nothing.
func TestEveryChangeThatReadersSeeIsAppendedToTheFeed(t *testing.T) {
	t.Parallel()
	s, db := newStore(t)
	m, reserved, failing, lost := registration(1), registration(2), registration(3), registration(4)
	reserved.Status, reserved.ReservedUntil = monitor.Waiting, time.Now().Add(-time.Second)
	alert, doomed, last := blackout(40), blackout(50), monitorError(event.ReasonWorkerLost)
	last.At = time.Now()
	lostEvent := monitorError(event.ReasonWorkerLost)
	dark := report(alert)
	dark.Health.Video = monitor.Black
	blind := dark
	blind.Events = nil
	blind.Visibility = &monitor.Visibility{LastError: "yt-dlp: no answer", BlindSince: noon}
	measured, frozen := blind, blind
	state := func(level float64, state monitor.TrackHealth) []monitor.DetectorState {
		return []monitor.DetectorState{{Detector: detector.Silence, State: state, Values: map[string]float64{"level": level}}}
	}
	measured.Health.Conditions, frozen.Health.Conditions = state(1, monitor.OK), state(2, monitor.Silent)
	ended := report()
	ended.Status, ended.StreamStatus = monitor.Completed, monitor.StreamEnded
	var leased delivery.Delivery
	attempt := func(decision notify.Decision) func() error {
		return func() error {
			a := rejecting
			if decision.Delivered {
				a = accepting
				a.At = noon.Add(time.Second)
			}
			_, err := s.Record(t.Context(), leased, outcomeOf(a, decision))
			return err
		}
	}
	accept := func(m monitor.Monitor, r monitor.Report) func() error {
		return func() error { _, err := s.Accept(t.Context(), m.ID, r); return err }
	}
	var claimed supervisor.Reservation
	head := feedHead(t, s, db)
	for _, step := range []struct {
		name    string
		prepare func()
		change  func() error
		want    []string
	}{
		{"a registration", nil, func() error { return s.Insert(t.Context(), m, unlimited) },
			[]string{"monitor.updated initializing"}},
		{"a registration with a key", nil, func() error {
			_, err := s.InsertIdempotent(t.Context(), reserved, unlimited, monitors.IdempotencyKey{Key: monitors.Digest{1}})
			return err
		}, []string{"monitor.updated waiting"}},
		{"a promotion", func() {
			taken, _, err := s.ClaimDue(t.Context(), time.Minute)
			if err != nil || len(taken) != 1 {
				t.Fatalf("%d reservations are due: %v", len(taken), err)
			}
			claimed = taken[0]
		}, func() error { _, err := s.Promote(t.Context(), claimed, "here"); return err },
			[]string{"monitor.updated waiting"}},
		{"a report with an alert", nil, accept(m, dark),
			[]string{"monitor.updated monitoring", "delivery.updated pending 0", "incident.updated open"}},
		{"a report of blindness", nil, accept(m, blind), []string{"monitor.updated monitoring"}},
		{"the state of a detector", nil, accept(m, measured), []string{"monitor.updated monitoring"}},
		{"another state of a detector", nil, accept(m, frozen), []string{"monitor.updated monitoring"}},
		{"another value of a detector", nil, accept(m, func() monitor.Report { r := frozen; r.Health.Conditions = state(3, monitor.Silent); return r }()), nil},
		{"a failed attempt", func() { leased = leaseOne(t, s) }, attempt(notify.Decision{RetryAt: time.Now()}),
			[]string{"delivery.updated pending 1"}},
		{"a delivery", func() { leased = leaseOne(t, s) }, attempt(sent), []string{"delivery.updated sent 2"}},
		{"a stop with a last event", nil, func() error {
			_, err := s.End(t.Context(), m.ID, monitor.Stopped, "", &doomed, noon)
			return err
		}, []string{"monitor.updated stopped", "delivery.updated pending 0", "incident.updated resolved"}},
		{"the end of a stream", nil, accept(reserved, func() monitor.Report { ended.Generation = 2; return ended }()),
			[]string{"monitor.updated completed"}},
		{"another registration", nil, func() error { return s.Insert(t.Context(), failing, unlimited) },
			[]string{"monitor.updated initializing"}},
		{"an event of the gateway", nil, func() error { return s.AddEvent(t.Context(), failing, last) },
			[]string{"delivery.updated pending 0", "incident.updated open"}},
		{"a delivery that failed for good", func() {
			for _, d := range lease(t, s) {
				if d.Event.MonitorID == failing.ID {
					leased = d
				}
			}
		}, attempt(failed), []string{"delivery.updated failed 1", "monitor.updated error"}},
		{"a redelivery", nil, func() error { return s.Redeliver(t.Context(), m.ID, alert.ID) }, []string{"delivery.updated pending 0"}},
		{"a lost worker", func() { check(t, s.Insert(t.Context(), lost, unlimited)) },
			func() error { return s.Fail(t.Context(), lost, event.ReasonWorkerLost, lostEvent) },
			[]string{"monitor.updated error", "delivery.updated pending 0", "incident.updated open"}},
		{"the end of an incident that a sweep finds", func() {
			alter(t, db, `UPDATE incidents SET due_at = NULL`)
			onset := time.Now().UTC().Add(-55 * time.Second)
			over := registerWith(t, s, 5, trouble(detector.Blackout, onset.Add(-time.Hour)), recovery(detector.Blackout, onset.Add(-time.Hour), onset))
			alter(t, db, `UPDATE incidents SET due_at = now(), conditions = jsonb_set(conditions, '{0,ended_at}', to_jsonb(now() - interval '5 minutes')) WHERE monitor_id = $1`, over.ID)
		}, func() error { return errorOf(s.SweepIncidents(t.Context(), 10)) }, []string{"incident.updated resolved"}},
	} {
		if step.prepare != nil {
			step.prepare()
			head = feedHead(t, s, db)
		}
		if err := step.change(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		var lines []string
		if lines, head = feedSince(t, s, db, head); !slices.Equal(lines, step.want) {
			t.Errorf("%s appends %q, want %q", step.name, lines, step.want)
		}
		if err := step.change(); err != nil && step.name != "a promotion" {
			t.Fatalf("%s, repeated: %v", step.name, err)
		}
		if lines, head = feedSince(t, s, db, head); len(lines) > 0 && step.name != "a promotion" {
			t.Errorf("%s appends %q when it is repeated, want nothing", step.name, lines)
		}
	}
}

func TestAReportThatChangesNothingVisibleIsNotAppendedToTheFeed(t *testing.T) {
	t.Parallel()
	s, db := newStore(t)
	m := register(t, s, 1)
	acceptReport(t, s, m.ID, report(), monitor.Run)
	head := feedHead(t, s, db)
	for second := range 5 {
		r := report()
		r.At = noon.Add(time.Duration(second) * time.Second)
		r.Health.LastCheckAt = r.At
		r.Statistics.TotalSegmentsAnalyzed += second
		r.Visibility = &monitor.Visibility{LastObservedAt: r.At}
		acceptReport(t, s, m.ID, r, monitor.Run)
	}
	if lines, _ := feedSince(t, s, db, head); len(lines) > 0 {
		t.Errorf("heartbeats appended %q, want nothing", lines)
	}
}

// A monitor whose row cannot be read makes no entry, and its reports are accepted. Readers
// get the whole state once, which leaves the monitor out.
func TestAReportIsAcceptedThoughItsChangeCannotBeAppendedToTheFeed(t *testing.T) {
	t.Parallel()
	s, db := newStore(t)
	m := register(t, s, 1)
	renew := func() string {
		t.Helper()
		check(t, s.RenewFeedEpoch(t.Context()))
		return presentPosition(t, s).Epoch
	}
	before, head := renew(), feedHead(t, s, db)
	alter(t, db, `UPDATE monitors SET config = '{"check_interval_sec": "often"}' WHERE id = $1`, m.ID)
	acceptReport(t, s, m.ID, report(blackout(40)), monitor.Run)
	if lines, _ := feedSince(t, s, db, head); !slices.Equal(lines, []string{"delivery.updated pending 0", "incident.updated open"}) {
		t.Errorf("the feed has %q, want the delivery and the incident", lines)
	}
	after := renew()
	if after == before {
		t.Error("the epoch is the same, though a change was left out")
	}
	if state, _, err := s.ReadState(t.Context()); err != nil || len(state.Monitors) != 0 {
		t.Errorf("the state has %+v, %v; want no monitor", state.Monitors, err)
	}
	if again := renew(); again != after {
		t.Error("a state without the monitor has changed the epoch again")
	}
}
