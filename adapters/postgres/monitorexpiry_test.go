package postgres_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
)

// expire runs an Expiry with a retention of 90 days and returns its line in the log.
func expire(t testing.TB, s *postgres.Store) string {
	t.Helper()
	var log logbuffer.Buffer
	check(t, histories.NewMonitorExpiry(s, 90*24*time.Hour, slog.New(slog.NewTextHandler(&log, nil))).Run(t.Context()))
	_, line, _ := strings.Cut(log.String(), "component=history ")
	return strings.TrimSpace(line)
}

// endedMonitor stores a monitor that had one alert, which was delivered, and that ended.
func endedMonitor(t testing.TB, s *postgres.Store, n int) monitor.Monitor {
	t.Helper()
	m := registerWith(t, s, n, trouble(detector.Blackout, hourAgo()))
	recordAttempt(t, s, leaseOne(t, s), accepting, sent)
	must(s.End(t.Context(), m.ID, monitor.Stopped, "", nil, time.Now()))(t)
	return m
}

// makeOlder moves the record of a monitor into the past.
func makeOlder(t testing.TB, db *sql.DB, id monitor.ID, days int) {
	t.Helper()
	alter(t, db, `UPDATE monitors SET ended_at = ended_at - make_interval(days => $2) WHERE id = $1`, id, days)
	alter(t, db, `UPDATE monitor_events SET created_at = created_at - make_interval(days => $2) WHERE monitor_id = $1`, id, days)
	alter(t, db, `UPDATE incidents SET resolved_at = resolved_at - make_interval(days => $2) WHERE monitor_id = $1`, id, days)
}

// recordOf counts the events, incidents and lines of logs of a monitor.
func recordOf(t testing.TB, db *sql.DB, id monitor.ID) string {
	t.Helper()
	var events, incidents, lines int
	err := db.QueryRowContext(t.Context(), `
		SELECT (SELECT count(*) FROM monitor_events WHERE monitor_id = $1), (SELECT count(*) FROM incidents WHERE monitor_id = $1),
		       (SELECT count(*) FROM incident_log JOIN incidents ON incidents.id = incident_id WHERE monitor_id = $1)`, id).Scan(&events, &incidents, &lines)
	check(t, err)
	return fmt.Sprintf("%d events, %d incidents, %d lines", events, incidents, lines)
}

const wholeRecord = "1 events, 1 incidents, 3 lines" // opened, severity_raised, resolved

func TestEventsAndIncidentsOfEndedMonitorsExpire(t *testing.T) {
	t.Parallel()
	s, db := newStore(t)
	old, recent := endedMonitor(t, s, 1), endedMonitor(t, s, 2)
	active := registerWith(t, s, 3, trouble(detector.Blackout, hourAgo()))
	recordAttempt(t, s, leaseOne(t, s), accepting, sent)
	makeOlder(t, db, old.ID, 91)
	makeOlder(t, db, recent.ID, 89)
	makeOlder(t, db, active.ID, 91)
	alter(t, db, `UPDATE monitor_events SET created_at = created_at - interval '91 days' WHERE monitor_id = $1`, recent.ID)
	if line, want := expire(t, s), "events=1 incidents=1"; line != want {
		t.Errorf("the log says %q, want %q", line, want)
	}
	for _, c := range []struct {
		name string
		id   monitor.ID
		want string
	}{
		{"a monitor that ended 91 days ago", old.ID, "0 events, 0 incidents, 0 lines"},
		{"a monitor that ended 89 days ago, with older events", recent.ID, wholeRecord},
		{"an active monitor with old events", active.ID, "1 events, 1 incidents, 1 lines"},
	} {
		if got := recordOf(t, db, c.id); got != c.want {
			t.Errorf("%s has %s, want %s", c.name, got, c.want)
		}
	}
	expectRows(t, db, `incident_log WHERE incident_id NOT IN (SELECT id FROM incidents)`, 0)
	if line := expire(t, s); line != "" {
		t.Errorf("the second run says %q, want nothing", line)
	}
}

func TestAMonitorIsDeletedWithTheLastThatIsStoredOfIt(t *testing.T) { // section 16.5
	t.Parallel()
	s, db := newStore(t)
	old, recent := endedMonitor(t, s, 1), endedMonitor(t, s, 2)
	makeOlder(t, db, old.ID, 91)
	makeOlder(t, db, recent.ID, 89)
	expectRows(t, db, `monitors WHERE snapshot IS NOT NULL`, 0)
	for _, keeps := range []string{
		`INSERT INTO history_spans (monitor_id, lane, state, started_at, ended_at) VALUES ($1, 'video', 'ok', now(), now())`,
		`INSERT INTO history_minutes (monitor_id, minute, since) VALUES ($1, now(), now())`,
		`INSERT INTO history_ten_minutes VALUES ($1, now(), 0, 0, 0, 0, 0, 0, 0, 0)`,
		`INSERT INTO evidence (id, monitor_id, event_id, condition, phase, class, created_at) VALUES (gen_random_uuid(), $1, gen_random_uuid(), 'black', 'alert', 'case', now())`,
	} {
		for _, table := range []string{"history_spans", "history_minutes", "history_ten_minutes", "evidence"} {
			alter(t, db, `DELETE FROM `+table+` WHERE monitor_id = $1`, old.ID)
		}
		alter(t, db, keeps, old.ID)
		expire(t, s)
		if m := getMonitor(t, s, old.ID); m.Status != monitor.Stopped {
			t.Errorf("%s: the monitor is %+v", keeps, m)
		}
	}
	alter(t, db, `DELETE FROM evidence`)
	expire(t, s)
	requireCode(t, errorOf(s.Get(t.Context(), old.ID)), monitor.NotFound)
	if m := getMonitor(t, s, recent.ID); m.Status != monitor.Stopped {
		t.Errorf("a monitor that ended 89 days ago is %+v", m)
	}
}

func TestWhatIsStillNeededDoesNotExpire(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keep, release, kept string
	}{
		"a pending event": {
			`UPDATE monitor_events SET webhook_status = 'pending'`,
			`UPDATE monitor_events SET webhook_status = 'failed'`, "1 events, 0 incidents, 0 lines",
		},
		"an open incident": {
			`UPDATE incidents SET state = 'open', resolved_at = NULL`,
			`UPDATE incidents SET state = 'resolved', resolved_at = now() - interval '91 days'`, "0 events, 1 incidents, 3 lines",
		},
		"an incident that was resolved lately": {
			`UPDATE incidents SET resolved_at = now() - interval '89 days'`,
			`UPDATE incidents SET resolved_at = now() - interval '91 days'`, "0 events, 1 incidents, 3 lines",
		},
		"an incident with evidence": {
			`INSERT INTO evidence (id, monitor_id, event_id, incident_id, condition, phase, class, created_at)
				SELECT gen_random_uuid(), monitor_id, gen_random_uuid(), id, 'black', 'alert', 'case', now() FROM incidents`,
			`DELETE FROM evidence`, "0 events, 1 incidents, 3 lines",
		},
	} {
		t.Run(name+" is kept", func(t *testing.T) {
			t.Parallel()
			s, db := newStore(t)
			m := endedMonitor(t, s, 1)
			makeOlder(t, db, m.ID, 91)
			alter(t, db, c.keep)
			expire(t, s)
			if got := recordOf(t, db, m.ID); got != c.kept {
				t.Errorf("%s are left, want %s", got, c.kept)
			}
			alter(t, db, c.release)
			expire(t, s)
			if got, want := recordOf(t, db, m.ID), "0 events, 0 incidents, 0 lines"; got != want {
				t.Errorf("%s are left in the end, want %s", got, want)
			}
		})
	}
}

func TestTwoGatewaysDeleteEachExpiredEventOnce(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	db := raw(t, dsn)
	stores := []*postgres.Store{open(t, dsn), open(t, dsn)}
	for n := range 3 {
		m := endedMonitor(t, stores[0], n+1)
		alter(t, db, `
			INSERT INTO monitor_events (id, monitor_id, event_type, payload, webhook_status, created_at, body)
			SELECT gen_random_uuid(), $1, 'alert.blackout', '{}', 'sent', now(), '{}' FROM generate_series(1, 1200)`, m.ID)
		alter(t, db, `INSERT INTO incident_log (incident_id, kind, at) SELECT id, 'note', now() FROM incidents, generate_series(1, 600) WHERE monitor_id = $1`, m.ID)
		makeOlder(t, db, m.ID, 91)
	}
	var runs sync.WaitGroup
	var lines [2]string
	for i, s := range stores {
		runs.Go(func() { lines[i] = expire(t, s) })
	}
	runs.Wait()
	events, incidents := 0, 0
	for _, line := range append(lines[:], expire(t, stores[0])) {
		var e, i int
		if _, err := fmt.Sscanf(line, "events=%d incidents=%d", &e, &i); err != nil && line != "" {
			t.Error(err)
		}
		events, incidents = events+e, incidents+i
	}
	if events != 3603 || incidents != 3 {
		t.Errorf("%d events and %d incidents were deleted (%q), want 3603 and 3", events, incidents, lines)
	}
	requireEmpty(t, db, "monitor_events", "incidents", "incident_log")
	expectRows(t, db, `monitors`, 0)
}

func TestSilencesStormsAndNoticesExpire(t *testing.T) {
	t.Parallel()
	s, db := newStore(t)
	incidentOf := onlyIncident(t, s, endedMonitor(t, s, 1).ID)
	alter(t, db, `INSERT INTO destinations (id, name, kind, language, config) VALUES ('01900000-0000-7000-8000-0000000000d1', 'd', 'slack', 'en', '{}')`)
	for _, age := range []string{"91 days", "89 days"} {
		alter(t, db, `INSERT INTO silences (id, match, starts_at, ends_at, by) VALUES (gen_random_uuid(), '{}', now() - interval '100 days', now() - CAST($1 AS interval), 'ann')`, age)
		for _, column := range []string{"notice", "storm"} {
			alter(t, db, `INSERT INTO deliveries (id, destination_id, `+column+`, state, created_at) VALUES (gen_random_uuid(), '01900000-0000-7000-8000-0000000000d1', '{}', 'delivered', now() - CAST($1 AS interval))`, age)
		}
	}
	alter(t, db, `INSERT INTO silences (id, match, starts_at, by) VALUES (gen_random_uuid(), '{}', now() - interval '100 days', 'ann')`)
	alter(t, db, `
		WITH storm AS (
			INSERT INTO deliveries (id, destination_id, storm, state, created_at)
			VALUES (gen_random_uuid(), '01900000-0000-7000-8000-0000000000d1', '{}', 'delivered', now() - interval '91 days') RETURNING id)
		INSERT INTO deliveries (id, destination_id, incident_id, storm_id, state, created_at)
		SELECT gen_random_uuid(), '01900000-0000-7000-8000-0000000000d1', $1, id, 'delivered', now() - interval '91 days' FROM storm`, incidentOf.ID)
	expire(t, s)
	expectRows(t, db, `silences`, 2)
	expectRows(t, db, `deliveries WHERE notice IS NOT NULL`, 1)
	expectRows(t, db, `deliveries WHERE storm IS NOT NULL`, 2) // one has an incident that is kept
	alter(t, db, `DELETE FROM incidents`)
	expire(t, s)
	expectRows(t, db, `deliveries WHERE storm IS NOT NULL`, 1)
}

// The retention may be shorter than a destination is tried.
func TestWhatADestinationStillGetsDoesNotExpire(t *testing.T) {
	t.Parallel()
	s, db := newStore(t)
	m := endedMonitor(t, s, 1)
	alter(t, db, `INSERT INTO destinations (id, name, kind, language, config) VALUES ('01900000-0000-7000-8000-0000000000d1', 'd', 'slack', 'en', '{}')`)
	for column, table := range map[string]string{"event_id": "monitor_events", "incident_id": "incidents"} {
		alter(t, db, `INSERT INTO deliveries (id, destination_id, `+column+`, state, due_at, created_at)
			SELECT gen_random_uuid(), '01900000-0000-7000-8000-0000000000d1', id, 'pending', now(), now() FROM `+table)
	}
	alter(t, db, `INSERT INTO deliveries (id, destination_id, storm, state, due_at, created_at)
		VALUES (gen_random_uuid(), '01900000-0000-7000-8000-0000000000d1', '{}', 'pending', now(), now() - interval '91 days')`)
	makeOlder(t, db, m.ID, 91)
	expire(t, s)
	if got := recordOf(t, db, m.ID); !strings.HasPrefix(got, "1 events, 1 incidents") {
		t.Errorf("%s are left, although their deliveries are pending", got)
	}
	expectRows(t, db, `deliveries WHERE destination_id IS NOT NULL`, 3)
	alter(t, db, `UPDATE destinations SET enabled = false`)
	expire(t, s)
	if got := recordOf(t, db, m.ID); got != "0 events, 0 incidents, 0 lines" {
		t.Errorf("%s are left of what only a disabled destination would get", got)
	}
	expectRows(t, db, `deliveries`, 0)
}
