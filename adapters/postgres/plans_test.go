package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/evidence"
	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/test/harness/plans"
)

// serverLog has the plans of the statements in the databases that explained has prepared.
var serverLog plans.Log

// explained makes the server log the plan of each statement of new sessions of a database.
func explained(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db := raw(t, dsn)
	name := dsn[strings.Index(dsn, "dbname=")+len("dbname="):]
	name, _, _ = strings.Cut(name, " ")
	alter(t, db, strings.ReplaceAll(plans.ExplainAll, "ROLE CURRENT_USER", "DATABASE "+name))
	return raw(t, dsn)
}

// The rows of the tables of which a question or a change needs a few.
const (
	many = 2000 // monitors, 100 of them active, and of others than monitors
	few  = 12   // active monitors in each special state
)

// fillMany stores many rows of each kind, in the order of time. The first 20 monitors have 200 events each.
const fillMany = `
	UPDATE monitors SET status = 'completed', ended_at = now() - seq * interval '1 s' WHERE id IN (SELECT id FROM monitors ORDER BY seq LIMIT 1900);
	UPDATE monitors SET metadata = jsonb_build_object('channel_name', 'Channel ' || seq);
	UPDATE monitors SET stream_status = 'live' WHERE id IN (SELECT id FROM monitors WHERE ended_at IS NULL ORDER BY seq LIMIT 12);
	UPDATE monitors SET health_video = 'black' WHERE id IN (SELECT id FROM monitors WHERE ended_at IS NULL ORDER BY seq OFFSET 20 LIMIT 12);
	UPDATE monitors SET blind_since = now() WHERE id IN (SELECT id FROM monitors WHERE ended_at IS NULL ORDER BY seq OFFSET 40 LIMIT 12);
	INSERT INTO monitor_stats (monitor_id) SELECT id FROM monitors ON CONFLICT DO NOTHING;
	INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
		SELECT gen_random_uuid(), id, 'alert.blackout', '{}', '{}', 'sent', now() - interval '1 h' - k * interval '1 min' FROM monitors, generate_series(1, 200) k WHERE k < 4 OR seq < (SELECT min(seq) + 20 FROM monitors) ORDER BY k DESC;
	INSERT INTO deliveries (id, event_id, monitor_id, state, created_at) SELECT id, id, monitor_id, 'delivered', created_at FROM monitor_events;
	INSERT INTO incidents (id, monitor_id, state, severity, conditions, started_at, opened_at, resolved_at, due_at, quiet_sec, reopened, updated_at)
		SELECT gen_random_uuid(), id, CASE WHEN open THEN 'open' ELSE 'resolved' END, CASE WHEN seq % 200 = 0 THEN 2 ELSE 1 END,
		       jsonb_build_array(jsonb_build_object('condition', CASE WHEN seq % 200 = 7 THEN 'late' ELSE 'black' END, 'started_at', at, 'last_started_at', at, 'count', 1)),
		       at, at, CASE WHEN NOT open THEN at + interval '1 min' END, CASE WHEN open THEN now() + interval '1 h' END, 60, 0, at
		FROM (SELECT id, seq, now() - interval '40 days' + seq * interval '20 min' AS at, ended_at IS NULL AND seq % 100 = 0 AS open FROM monitors ORDER BY seq) AS m;
	UPDATE incidents SET unrouted = 0;
	INSERT INTO incident_log (incident_id, kind, at) SELECT id, 'opened', opened_at FROM incidents;
	INSERT INTO evidence (id, monitor_id, event_id, incident_id, condition, phase, class, created_at)
		SELECT gen_random_uuid(), monitor_id, gen_random_uuid(), id, 'black', 'alert', CASE WHEN severity > 1 THEN 'quarantine' ELSE 'normal' END, now() FROM incidents ORDER BY seq;
	INSERT INTO evidence_blobs (sha256, size, monitor_id, counted_at) SELECT sha256(CAST(CAST(id AS text) AS bytea)), 1, monitor_id, now() FROM evidence;
	INSERT INTO evidence_files (evidence_id, variant, sha256, size, width, height, taken_at) SELECT id, 'onset', sha256(CAST(CAST(id AS text) AS bytea)), 1, 1, 1, now() FROM evidence;
	INSERT INTO history_spans (monitor_id, lane, state, started_at, ended_at)
		SELECT id, 'video', 'black', now() - (k + 1) * interval '1 h', now() - k * interval '1 h' FROM monitors, generate_series(1, 5) k;
	INSERT INTO history_minutes (monitor_id, minute, since)
		SELECT id, at, at FROM monitors, generate_series(date_trunc('minute', now()) - interval '20 min', now(), '1 min') at ORDER BY at;
	INSERT INTO api_keys (id, name, role, digest, created_by, created_at)
		SELECT gen_random_uuid(), n, 'view', CAST(CAST(n AS text) AS bytea), 'ann', now() FROM generate_series(1, 2000) n;
	INSERT INTO audit_entries (key_name, action, client) SELECT 'ann', 'monitor.stop', '192.0.2.1' FROM generate_series(1, 2000);
	INSERT INTO idempotency_keys (key, request, monitor_id, status) SELECT CAST(id AS bytea), '', id, 'waiting' FROM monitors;
	INSERT INTO destinations (id, name, kind, language, config) SELECT gen_random_uuid(), n, 'webhook', 'en', '{}' FROM generate_series(1, 10) n;
	INSERT INTO deliveries (id, destination_id, notice, state, created_at)
		SELECT gen_random_uuid(), id, '{}', 'delivered', now() FROM destinations, generate_series(1, 2000) n`

// fillPending stores pending events that the statistics do not know, as after an outage of a receiver: one of each monitor, at
// its callback and at one destination.
const fillPending = `
	INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
	SELECT gen_random_uuid(), id, 'alert.blackout', '{}', '{}', 'pending', now() FROM monitors;
	INSERT INTO deliveries (id, event_id, monitor_id, queue, state, due_at, created_at)
	SELECT id, id, monitor_id, monitor_id, 'pending', now(), created_at FROM monitor_events WHERE webhook_status = 'pending';
	INSERT INTO deliveries (id, destination_id, event_id, monitor_id, sequence, queue, state, due_at, created_at)
	SELECT gen_random_uuid(), d.id, e.id, e.monitor_id, 1, d.id || ' ' || e.monitor_id, 'pending', now(), e.created_at
	FROM monitor_events e, (SELECT id FROM destinations LIMIT 1) AS d WHERE webhook_status = 'pending'`

// plan is a call of the store whose plans are explained.
type plan struct {
	name string
	call func(context.Context, *postgres.Store) error

	rows    int    // most that its statements may read of tables: what it returns, and what is joined
	entries int    // most entries of indexes that they may read, without the rows; 0: as many as rows
	unread  string // a table of which they read nothing; empty: none
}

// Each statement of the store reads what it returns, by an index, whatever the tables have beside it.
func TestPlans(t *testing.T) {
	dsn := create(t, template)
	s, db := open(t, dsn), raw(t, dsn)
	registerMany(t, s, db, many)
	alter(t, db, fillMany)
	eventually(t, "the indexes alone tell which events are visible", func() bool {
		alter(t, db, `VACUUM ANALYZE`)
		return countRows(t, db, `pg_class WHERE relname = 'monitor_events' AND relallvisible = relpages`) == 1
	})
	alter(t, db, fillPending)
	var x sample
	if err := db.QueryRowContext(t.Context(), `
		SELECT (SELECT id FROM monitors ORDER BY seq LIMIT 1), (SELECT id FROM monitors WHERE ended_at IS NULL ORDER BY seq DESC LIMIT 1),
		       (SELECT seq FROM monitors WHERE status = 'completed' ORDER BY seq OFFSET 99 LIMIT 1), (SELECT id FROM incidents WHERE state = 'open' LIMIT 1)`).
		Scan(&x.ended, &x.active, &x.hundredth, &x.incident); err != nil {
		t.Fatal(err)
	}
	marker := explained(t, dsn)
	explainedStore := open(t, dsn)
	for _, p := range x.plans() {
		t.Run(p.name, func(t *testing.T) {
			if _, err := serverLog.TakeUntil(t.Context(), marker); err != nil {
				t.Fatal(err)
			}
			if err := p.call(t.Context(), explainedStore); err != nil {
				t.Error(err)
			}
			statements := must[[]plans.Statement](t)(serverLog.TakeUntil(t.Context(), marker))
			p.check(t, statements)
		})
	}
}

func (p plan) check(t *testing.T, statements []plans.Statement) {
	t.Helper()
	var rows, entries, unread float64
	var text strings.Builder
	for _, st := range statements {
		r, e := st.Plan.Reads("")
		rows, entries = rows+r, entries+e
		if p.unread != "" {
			r, e := st.Plan.Reads(p.unread)
			unread += r + e
		}
		fmt.Fprintln(&text, st.Query)
		st.Plan.Print(&text, 0)
	}
	if len(statements) == 0 {
		t.Error("no plan was logged")
	}
	if int(rows) > p.rows || int(entries) > max(p.rows, p.entries) || unread > 0 {
		t.Errorf("%.0f rows and %.0f entries were read, want at most %d and %d; of %q %.0f:\n%s", rows, entries, p.rows, max(p.rows, p.entries), p.unread, unread, &text)
	}
}

// sample has what the plans ask for.
type sample struct {
	ended, active monitor.ID // the oldest and the newest
	hundredth     int64      // of the completed monitors
	incident      string
}

func (x sample) plans() []plan {
	const page = 3
	listed := func(q monitors.MonitorQuery) func(context.Context, *postgres.Store) error {
		q.Limit = page
		return func(ctx context.Context, s *postgres.Store) error {
			found, _, err := s.List(ctx, q)
			if err == nil && len(found) == 0 {
				err = fmt.Errorf("%+v finds nothing", q)
			}
			return err
		}
	}
	of := func(f incidents.Filter) func(context.Context, *postgres.Store) error {
		f.Limit = page
		return func(ctx context.Context, s *postgres.Store) error { _, err := s.ListIncidents(ctx, f); return err }
	}
	now := time.Now()
	return []plan{
		// monitors
		{name: "a page of monitors", call: listed(monitors.MonitorQuery{}), rows: 5 * page},
		{name: "a page at an offset", call: listed(monitors.MonitorQuery{Offset: 900}), rows: 5 * page, entries: 920},
		{name: "older monitors of a status", call: listed(monitors.MonitorQuery{Status: monitor.Completed}), rows: 5 * page},
		{name: "the same at an offset", call: listed(monitors.MonitorQuery{Status: monitor.Completed, Offset: 400}), rows: 5 * page, entries: 420},
		{name: "the same by a cursor", call: listed(monitors.MonitorQuery{Status: monitor.Completed, Before: x.hundredth}), rows: 5 * page, entries: 120},
		{name: "newer monitors of a status", call: listed(monitors.MonitorQuery{Status: monitor.Initializing}), rows: 5 * page},
		{name: "live monitors", call: listed(monitors.MonitorQuery{Live: true}), rows: 5 * page},
		{name: "blind monitors", call: listed(monitors.MonitorQuery{Blind: true}), rows: 5*page + few},
		{name: "monitors in trouble", call: listed(monitors.MonitorQuery{Trouble: true}), rows: 5*page + 6*few},
		{name: "monitors with a text", call: listed(monitors.MonitorQuery{Text: "NNEL 1234"}), rows: 10 * page},
		{name: "monitors with an id", call: listed(monitors.MonitorQuery{Text: string(x.active)}), rows: 20 * page},
		{name: "which streams are watched", rows: 3, call: func(ctx context.Context, s *postgres.Store) error {
			_, _, err := s.ActiveStreams(ctx, []monitor.StreamURL{"https://example.com"})
			return err
		}},
		{name: "active monitors, every 5 s", rows: many/20 + 5, unread: "monitor_stats", call: func(ctx context.Context, s *postgres.Store) error { _, err := s.ListActive(ctx); return err }},
		{name: "the state of the workers, every 5 s", rows: many/20 + 5, unread: "monitor_stats", call: func(ctx context.Context, s *postgres.Store) error { _, err := s.ReadChecker(ctx); return err }},
		{name: "reservations that are due", rows: 5, call: func(ctx context.Context, s *postgres.Store) error {
			_, _, err := s.ClaimDue(ctx, time.Minute)
			return err
		}},
		{name: "a report", rows: 60, call: func(ctx context.Context, s *postgres.Store) error {
			_, err := s.Accept(ctx, x.active, report())
			return err
		}},
		{name: "a repeated registration", rows: 2, call: func(ctx context.Context, s *postgres.Store) error {
			_, err := s.FindIdempotent(ctx, monitors.Digest{})
			return err
		}},

		// events
		{name: "events of a monitor at an offset", rows: 4 * page, entries: 410, call: func(ctx context.Context, s *postgres.Store) error {
			_, _, err := s.Events(ctx, x.ended, page, 150)
			return err
		}},
		{name: "broadcasts of a monitor", rows: 210, call: func(ctx context.Context, s *postgres.Store) error { _, err := s.Broadcasts(ctx, x.ended); return err }},

		// incidents
		{name: "a page of incidents", call: of(incidents.Filter{}), rows: 3 * page},
		{name: "open incidents", call: of(incidents.Filter{State: incident.Open}), rows: 3*page + few},
		{name: "incidents of a monitor", call: of(incidents.Filter{MonitorID: x.ended}), rows: 3 * page},
		{name: "incidents with a rare condition", call: of(incidents.Filter{Condition: "late"}), rows: 6*page + few},
		{name: "incidents that time changes, every 2 s", rows: 0, call: func(ctx context.Context, s *postgres.Store) error { _, err := s.SweepIncidents(ctx, 25); return err }},
		{name: "incidents that go on, every 30 s", rows: 12 * few, call: func(ctx context.Context, s *postgres.Store) error {
			_, err := s.WatchedIncidents(ctx, 0, 100)
			return err
		}},
		{name: "an incident", rows: 5, call: func(ctx context.Context, s *postgres.Store) error {
			_, _, err := s.GetIncident(ctx, x.incident)
			return err
		}},

		// history
		{name: "a timeline", rows: 60, entries: 100, call: func(ctx context.Context, s *postgres.Store) error {
			return s.MonitorHistory(ctx, x.active, now.Add(-time.Hour), now, 0, histories.Visitor{
				Begin: func(histories.MonitorLife) {}, Span: func(history.Span) {}, Minute: func(monitor.Minute) {},
			})
		}},
		{name: "statistics of a monitor", rows: 30, call: func(ctx context.Context, s *postgres.Store) error {
			return s.SumHistory(ctx, x.active, now, history.NewSummary([]history.Period{{From: now.Add(-24 * time.Hour), To: now}}))
		}},
		{name: "statistics of all monitors", rows: many + 20, entries: 3 * many, call: func(ctx context.Context, s *postgres.Store) error {
			return s.SumHistory(ctx, "", now, history.NewSummary([]history.Period{{From: now.Add(-6 * time.Hour), To: now.Add(-5 * time.Hour)}}))
		}},
		{name: "history that expires, none does", rows: 10, call: func(ctx context.Context, s *postgres.Store) error {
			_, _, err := s.DeleteHistory(ctx, now.AddDate(-1, 0, 0), 100)
			return err
		}},

		// evidence
		{name: "evidence of an event", rows: 5, call: func(ctx context.Context, s *postgres.Store) error {
			_, err := s.ListEvidence(ctx, evidence.Filter{MonitorID: x.active, EventID: uuid.NewString(), Limit: page})
			return err
		}},
		{name: "evidence of severe incidents, at each sweep", rows: 3 * few, call: func(ctx context.Context, s *postgres.Store) error {
			_, err := s.QuarantineSevereEvidence(ctx, 100)
			return err
		}},
		{name: "evidence that expires, none does", rows: 5, call: func(ctx context.Context, s *postgres.Store) error {
			_, err := s.DeleteExpiredEvidence(ctx, "normal", time.Hour, 100)
			return err
		}},

		// access
		{name: "an id that is asked for", rows: 2, call: func(ctx context.Context, s *postgres.Store) error {
			return s.MarkKeyUsed(ctx, uuid.NewString(), noon)
		}},
		{name: "the list of audit entries", rows: page, call: func(ctx context.Context, s *postgres.Store) error {
			_, err := s.Entries(ctx, 0, page)
			return err
		}},

		// the feed
		{name: "the state for the feed, a third of the monitors and an event of each", rows: 4*many + 10, call: func(ctx context.Context, s *postgres.Store) error { _, _, err := s.ReadState(ctx); return err }},
		{name: "entries of the feed", rows: 2, call: func(ctx context.Context, s *postgres.Store) error { _, err := s.ReadFeed(ctx, 0, 1); return err }},
		{name: "versions for changes", rows: 15, call: func(ctx context.Context, s *postgres.Store) error {
			_, err := s.NumberFeed(ctx) // of the report above
			return err
		}},

		// deliveries: a lease has both, callbacks and destinations
		{name: "a lease of callbacks", rows: 130, call: func(ctx context.Context, s *postgres.Store) error {
			leased, err := s.Lease(ctx, 5, time.Minute)
			if err != nil || len(leased.Deliveries) != 5 {
				return fmt.Errorf("%d deliveries are leased: %w", len(leased.Deliveries), err)
			}
			_, err = s.Record(ctx, leased.Deliveries[0], outcomeOf(rejecting, notify.Decision{RetryAt: now.Add(time.Minute)}))
			return err
		}},
		{name: "a lease beside a destination that hangs", rows: 4*many + 150, call: func(ctx context.Context, s *postgres.Store) error {
			leased, err := s.Lease(ctx, many+2*notify.MaxPerDestination, time.Minute)
			if n := len(leased.Deliveries); err != nil || n == 0 {
				return fmt.Errorf("%d deliveries are leased: %w", n, err)
			}
			return nil
		}},
		{name: "incidents that have changed, none has", rows: 15, call: func(ctx context.Context, s *postgres.Store) error { _, err := s.RouteIncidents(ctx); return err }},
		{name: "a page of deliveries", rows: 8 * page, call: func(ctx context.Context, s *postgres.Store) error {
			_, err := s.Deliveries(ctx, monitors.DeliveryQuery{Limit: page})
			return err
		}},
		{name: "deliveries of an incident", rows: 20, call: func(ctx context.Context, s *postgres.Store) error {
			_, err := s.Deliveries(ctx, monitors.DeliveryQuery{Limit: page, IncidentID: x.incident})
			return err
		}},
	}
}
