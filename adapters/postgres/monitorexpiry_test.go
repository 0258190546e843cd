package postgres_test

import (
	"database/sql"
	"log/slog"
	"strings"
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

// recordOf counts the rows of a monitor, its events, incidents and lines of logs.
func recordOf(t testing.TB, db *sql.DB, id monitor.ID) string {
	t.Helper()
	return value[string](t, db, `
		SELECT format('%s monitors, %s events, %s incidents, %s lines', (SELECT count(*) FROM monitors WHERE id = $1),
		              (SELECT count(*) FROM monitor_events WHERE monitor_id = $1), (SELECT count(*) FROM incidents WHERE monitor_id = $1),
		              (SELECT count(*) FROM incident_log JOIN incidents ON incidents.id = incident_id WHERE monitor_id = $1))`, id)
}

const (
	wholeRecord = "1 monitors, 1 events, 1 incidents, 3 lines" // opened, severity_raised, resolved
	noRecord    = "0 monitors, 0 events, 0 incidents, 0 lines"
)

func TestEventsAndIncidentsOfEndedMonitorsExpire(t *testing.T) {
	t.Parallel()
	s, db := newStore(t)
	old, recent := endedMonitor(t, s, 1), endedMonitor(t, s, 2)
	alter(t, db, `INSERT INTO reference_images SELECT gen_random_uuid(), $1, NULL, 'slate', 'always', 0.9, 'image/png', 64, 64, '[]', '', now()`, old.ID)
	active := registerWith(t, s, 3, trouble(detector.Blackout, hourAgo()))
	recordAttempt(t, s, leaseOne(t, s), accepting, sent)
	makeOlder(t, db, old.ID, 91)
	makeOlder(t, db, recent.ID, 89)
	makeOlder(t, db, active.ID, 91)
	alter(t, db, `UPDATE monitor_events SET created_at = created_at - interval '91 days' WHERE monitor_id = $1`, recent.ID)
	expect(t, "the log", expire(t, s), "events=1 incidents=1")
	expect(t, "a monitor that ended 91 days ago", recordOf(t, db, old.ID), noRecord)
	expect(t, "a monitor that ended 89 days ago, with older events", recordOf(t, db, recent.ID), wholeRecord)
	expect(t, "an active monitor with old events", recordOf(t, db, active.ID), "1 monitors, 1 events, 1 incidents, 1 lines")
	expectRows(t, db, `incident_log WHERE incident_id NOT IN (SELECT id FROM incidents)`, 0)
	expect(t, "the log of the second run", expire(t, s), "")
}

// All of a monitor that ended 91 days ago is deleted but what is needed, and then that, too.
func TestWhatIsStillNeededDoesNotExpire(t *testing.T) { // section 16.5
	t.Parallel()
	const (
		destination = `INSERT INTO destinations (id, name, kind, language, config) VALUES ('01900000-0000-7000-8000-0000000000d1', 'd', 'slack', 'en', '{}');`
		pending     = destination + `INSERT INTO deliveries (state, due_at, created_at, id, destination_id, `
		isDisabled  = `UPDATE destinations SET enabled = false` // the retention may be shorter than a destination is tried
		ofAMonitor  = "1 monitors, 0 events, 0 incidents, 0 lines"
		anEvent     = "1 monitors, 1 events, 0 incidents, 0 lines"
		anIncident  = "1 monitors, 0 events, 1 incidents, 3 lines"
	)
	for name, c := range map[string]struct {
		keep, release, kept string
	}{
		"a pending event": {
			`UPDATE monitor_events SET webhook_status = 'pending'`, `UPDATE monitor_events SET webhook_status = 'failed'`, anEvent,
		},
		"an open incident": {
			`UPDATE incidents SET state = 'open', resolved_at = NULL`,
			`UPDATE incidents SET state = 'resolved', resolved_at = now() - interval '91 days'`, anIncident,
		},
		"an incident that was resolved lately": {
			`UPDATE incidents SET resolved_at = now() - interval '89 days'`, `UPDATE incidents SET resolved_at = now() - interval '91 days'`, anIncident,
		},
		"an incident with evidence": {
			`INSERT INTO evidence (id, monitor_id, event_id, incident_id, condition, phase, class, created_at)
				SELECT gen_random_uuid(), monitor_id, gen_random_uuid(), id, 'black', 'alert', 'case', now() FROM incidents`,
			`DELETE FROM evidence`, anIncident,
		},
		"an event that a destination still gets": {
			pending + `event_id) SELECT 'pending', now(), now(), gen_random_uuid(), '01900000-0000-7000-8000-0000000000d1', id FROM monitor_events`, isDisabled, anEvent,
		},
		"an incident of which a destination is still told": {
			pending + `incident_id) SELECT 'pending', now(), now(), gen_random_uuid(), '01900000-0000-7000-8000-0000000000d1', id FROM incidents`, isDisabled, anIncident,
		},
		"a monitor with evidence of no incident": {
			`INSERT INTO evidence (id, monitor_id, event_id, condition, phase, class, created_at)
				SELECT gen_random_uuid(), id, gen_random_uuid(), 'black', 'alert', 'case', now() FROM monitors`,
			`DELETE FROM evidence`, ofAMonitor,
		},
		"a monitor with a span": {
			`INSERT INTO history_spans (monitor_id, lane, state, started_at, ended_at) SELECT id, 'video', 'ok', now(), now() FROM monitors`,
			`DELETE FROM history_spans`, ofAMonitor,
		},
		"a monitor with a minute": {
			`INSERT INTO history_minutes (monitor_id, minute, since) SELECT id, now(), now() FROM monitors`, `DELETE FROM history_minutes`, ofAMonitor,
		},
		"a monitor with ten minutes": {
			`INSERT INTO history_ten_minutes SELECT id, now(), 0, 0, 0, 0, 0, 0, 0, 0 FROM monitors`, `DELETE FROM history_ten_minutes`, ofAMonitor,
		},
	} {
		t.Run(name+" is kept", func(t *testing.T) {
			t.Parallel()
			s, db := newStore(t)
			m := endedMonitor(t, s, 1)
			expectRows(t, db, `monitors WHERE snapshot IS NOT NULL`, 0)
			makeOlder(t, db, m.ID, 91)
			alter(t, db, c.keep)
			expire(t, s)
			expect(t, "what is left", recordOf(t, db, m.ID), c.kept)
			alter(t, db, c.release)
			expire(t, s)
			expect(t, "what is left in the end", recordOf(t, db, m.ID), noRecord)
			expectRows(t, db, "deliveries", 0)
		})
	}
}

func TestTwoGatewaysDeleteWhatHasExpired(t *testing.T) {
	t.Parallel()
	stores, db := newGateways(t)
	for n := range 3 {
		m := endedMonitor(t, stores[0], n+1)
		alter(t, db, `
			INSERT INTO monitor_events (id, monitor_id, event_type, payload, webhook_status, created_at, body)
			SELECT gen_random_uuid(), $1, 'alert.blackout', '{}', 'sent', now(), '{}' FROM generate_series(1, 1200)`, m.ID)
		alter(t, db, `INSERT INTO incident_log (incident_id, kind, at) SELECT id, 'note', now() FROM incidents, generate_series(1, 600) WHERE monitor_id = $1`, m.ID)
		makeOlder(t, db, m.ID, 91)
	}
	atOnce(t, 2, func(i int) error { expire(t, stores[i]); return nil })
	expire(t, stores[0]) // what one has locked
	requireEmpty(t, db, "monitor_events", "incidents", "incident_log", "monitors")
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
	alter(t, db, `INSERT INTO deliveries (id, destination_id, storm, state, due_at, created_at)
		VALUES (gen_random_uuid(), '01900000-0000-7000-8000-0000000000d1', '{}', 'pending', now(), now() - interval '91 days')`)
	expire(t, s)
	expectRows(t, db, `deliveries WHERE storm IS NOT NULL`, 2) // one is still told
	alter(t, db, `UPDATE destinations SET enabled = false`)
	expire(t, s)
	expectRows(t, db, `deliveries WHERE storm IS NOT NULL`, 1)
}
