package postgres_test

import (
	"context"
	"database/sql"
	_ "embed"
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
	"github.com/stream-monitor/stream-monitor/domain/hint"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/test/harness/plans"
)

// serverLog has the plans of the statements in the databases of TestPlans.
var serverLog plans.Log

// plan is a call of the store, of whose statements the server explains what they read.
type plan struct {
	name   string
	before string // a statement that comes first, and is not explained; empty: none
	call   func() error

	rows    int    // most that its statements may read of tables: what it returns, and what is joined
	entries int    // most entries of indexes that they may read, without the rows; 0: as many as rows
	table   string // of which they may read less; empty: none
	most    int    // rows and entries of that table
}

// filling fills a database, with s and db, and returns the plans of calls of s on it.
type filling func(t *testing.T, s *postgres.Store, db *sql.DB) []plan

// Each statement of the store reads what it returns, by an index, whatever the tables have beside it.
func TestPlans(t *testing.T) {
	stocks := map[string]filling{
		"many of all": fillWithAll, "late events": fillWithLateEvents, "late events, analysed": analysed(fillWithLateEvents),
		"a storm": fillWithStorm,
	}
	for name, analyse := range map[string][2]string{"never": {`SELECT`, `SELECT`}, "before": {`ANALYZE`, `SELECT`}, "after": {`SELECT`, `ANALYZE`}} {
		stocks["a backlog at one destination, analysed "+name] = backlog{1, 10_000, 30, analyse}.fill
		stocks["backlogs at fifty destinations, analysed "+name] = backlog{50, 200, 1500, analyse}.fill
	}
	for name, fill := range stocks {
		t.Run(name, func(t *testing.T) {
			dsn := create(t, template)
			db := raw(t, dsn)
			_, database, _ := strings.Cut(dsn, "dbname=")
			alter(t, db, strings.ReplaceAll(plans.ExplainAll, "ROLE CURRENT_USER", "DATABASE "+strings.Fields(database)[0]))
			s, marker := open(t, dsn), raw(t, dsn) // their sessions are explained; that of db has begun before
			all := fill(t, s, db)
			must(s.Routing(t.Context()))(t)
			for _, p := range all {
				t.Run(p.name, func(t *testing.T) {
					if p.before != "" {
						alter(t, db, p.before)
					}
					must(serverLog.TakeUntil(t.Context(), marker))(t)
					check(t, p.call())
					p.check(t, must(serverLog.TakeUntil(t.Context(), marker))(t))
				})
			}
		})
	}
}

func (p plan) check(t *testing.T, statements []plans.Statement) {
	t.Helper()
	var rows, entries, of float64
	var text strings.Builder
	for _, st := range statements {
		r, e := st.Plan.Reads("")
		rows, entries = rows+r, entries+e
		if p.table != "" {
			r, e := st.Plan.Reads(p.table)
			of += r + e
		}
		fmt.Fprintln(&text, st.Query)
		st.Plan.Print(&text, 0)
	}
	if len(statements) == 0 {
		t.Error("no plan was logged")
	}
	if most := max(p.rows, p.entries); int(rows) > p.rows || int(entries) > most || int(of) > p.most {
		t.Errorf("%.0f rows and %.0f entries were read, want at most %d and %d; of %q %.0f, want at most %d:\n%s", rows, entries, p.rows, most, p.table, of, p.most, &text)
	}
}

// errorOf returns the last result of a call.
func errorOf(results ...any) error {
	err, _ := results[len(results)-1].(error)
	return err
}

// leases leases up to 128 deliveries, and expects so many.
func leases(t *testing.T, s *postgres.Store, want int) func() error {
	return func() error {
		leased, err := s.Lease(t.Context(), 128, time.Minute)
		if n := len(leased.Deliveries); err == nil && n != want {
			err = fmt.Errorf("%d deliveries are leased, want %d", n, want)
		}
		return err
	}
}

// The rows of the tables of which a question or a change needs a few.
const (
	many = 2000 // monitors, 100 of them active, and of others than monitors
	few  = 12   // active monitors in each special state
)

// fillMany stores many rows of each kind, in the order of time. The first 20 monitors have 200 events each.
//
//go:embed testdata/many.sql
var fillMany string

// fillPending stores pending events that the statistics do not know, as after an outage of a receiver. They are one of
// each monitor, at its callback and at one destination.
//
//go:embed testdata/pending.sql
var fillPending string

// foundByAChannel gives every hundredth monitor to a channel.
const (
	finder          = "0190a5d8-1c2b-7d8a-9c1d-2e3f4a5b6c7d"
	foundByAChannel = `UPDATE monitors SET channel_id = '` + finder + `' WHERE seq % 100 = 0; ANALYZE monitors`
)

// awaitStreams makes the active monitors live, but ten of a channel, of which 400 streams have ended.
const awaitStreams = `
	UPDATE monitors SET status = 'monitoring' WHERE ended_at IS NULL;
	UPDATE monitors SET metadata = '{"channel_name": "one"}', config = jsonb_set(config, '{scheduled_start_time}', to_jsonb(created_at + interval '1 h'))
	WHERE seq > (SELECT max(seq) - 10 FROM monitors) OR ended_at IS NOT NULL AND seq % 5 = 0;
	UPDATE monitors SET status = 'waiting' WHERE ended_at IS NULL AND metadata ->> 'channel_name' = 'one';
	ANALYZE monitors`

// fillWithAll fills all tables, and returns the plans of what the API and the gateways ask.
func fillWithAll(t *testing.T, s *postgres.Store, db *sql.DB) []plan {
	registerMany(t, s, db, many)
	alter(t, db, fillMany)
	eventually(t, "the indexes alone tell which events are visible", func() bool {
		alter(t, db, `VACUUM ANALYZE`)
		return countRows(t, db, `pg_class WHERE relname = 'monitor_events' AND relallvisible = relpages`) == 1
	})
	alter(t, db, fillPending)
	var ended, active monitor.ID // the oldest and the newest
	var hundredth int64          // of the completed monitors
	var open string              // an incident
	if err := db.QueryRowContext(t.Context(), `
		SELECT (SELECT id FROM monitors ORDER BY seq LIMIT 1), (SELECT id FROM monitors WHERE ended_at IS NULL ORDER BY seq DESC LIMIT 1),
		       (SELECT seq FROM monitors WHERE status = 'completed' ORDER BY seq OFFSET 99 LIMIT 1), (SELECT id FROM incidents WHERE state = 'open' LIMIT 1)`).
		Scan(&ended, &active, &hundredth, &open); err != nil {
		t.Fatal(err)
	}
	ctx, now := t.Context(), time.Now()
	const page = 3
	listed := func(q monitors.MonitorQuery) func() error {
		q.Limit = page
		return func() error {
			found, _, err := s.List(ctx, q)
			if err == nil && len(found) == 0 {
				err = fmt.Errorf("%+v finds nothing", q)
			}
			return err
		}
	}
	of := func(f incidents.Filter) func() error {
		f.Limit = page
		return func() error { return errorOf(s.ListIncidents(ctx, f)) }
	}
	sums := func(of histories.Selection, from, to time.Duration) func() error {
		return func() error {
			return s.SumHistory(ctx, of, now, history.NewSummary([]history.Period{{From: now.Add(from), To: now.Add(to)}}))
		}
	}
	return []plan{
		// monitors
		{name: "a page of monitors", rows: 5 * page, call: listed(monitors.MonitorQuery{})},
		{name: "a page at an offset", rows: 5 * page, entries: 920, call: listed(monitors.MonitorQuery{Offset: 900})},
		{name: "older monitors of a status", rows: 5 * page, call: listed(monitors.MonitorQuery{Status: monitor.Completed})},
		{name: "the same at an offset", rows: 5 * page, entries: 420, call: listed(monitors.MonitorQuery{Status: monitor.Completed, Offset: 400})},
		{name: "the same by a cursor", rows: 5 * page, entries: 120, call: listed(monitors.MonitorQuery{Status: monitor.Completed, Before: hundredth})},
		{name: "newer monitors of a status", rows: 5 * page, call: listed(monitors.MonitorQuery{Status: monitor.Initializing})},
		{name: "live monitors", rows: 5 * page, call: listed(monitors.MonitorQuery{Live: true})},
		{name: "blind monitors", rows: 5*page + few, call: listed(monitors.MonitorQuery{Blind: true})},
		{name: "monitors in trouble", rows: 5*page + 6*few, call: listed(monitors.MonitorQuery{Trouble: true})},
		{name: "monitors with a text", rows: 10 * page, call: listed(monitors.MonitorQuery{Text: "NNEL 1234"})},
		{name: "monitors with an id", rows: 20 * page, call: listed(monitors.MonitorQuery{Text: string(active)})},
		{name: "monitors with a common label, which are counted", rows: 5*page + many, call: listed(monitors.MonitorQuery{Labels: monitor.Labels{"team": "a"}})},
		{name: "monitors with a rare label", rows: 5*page + 20, call: listed(monitors.MonitorQuery{Labels: monitor.Labels{"show": "8"}})},
		{name: "monitors with both labels", rows: 5*page + 20, entries: many, call: listed(monitors.MonitorQuery{Labels: monitor.Labels{"team": "a", "show": "8"}})},
		{name: "ended monitors", rows: 5 * page, call: listed(monitors.MonitorQuery{Ended: true})},
		{name: "ended monitors of an outcome", rows: 5 * page, call: listed(monitors.MonitorQuery{Ended: true, Status: monitor.Completed})},
		{name: "ended monitors of a day", rows: 5 * page, entries: 250, call: listed(monitors.MonitorQuery{Ended: true, EndedFrom: now.Add(-1000 * time.Second), EndedTo: now.Add(-900 * time.Second)})},
		{name: "ended monitors of a day, an outcome and a common label", rows: 5*page + 250, entries: many, call: listed(monitors.MonitorQuery{
			Ended: true, EndedFrom: now.Add(-1000 * time.Second), EndedTo: now.Add(-900 * time.Second), Status: monitor.Completed, Labels: monitor.Labels{"team": "a"},
		})},
		{name: "ended monitors with a rare label", rows: 5*page + 20, call: listed(monitors.MonitorQuery{Ended: true, Labels: monitor.Labels{"show": "8"}})},
		{name: "ended monitors of a channel", before: foundByAChannel, rows: 5*page + 20, entries: 50, call: listed(monitors.MonitorQuery{Ended: true, ChannelID: finder})},
		{name: "what has ended of a file", rows: 5, call: func() error { return errorOf(s.EndedOf(ctx, "x.yaml", []monitor.StreamURL{"https://example.com"})) }},
		{name: "which streams are watched", rows: 3, call: func() error { return errorOf(s.ActiveStreams(ctx, []monitor.StreamURL{"https://example.com"})) }},
		{name: "active monitors, every 5 s", rows: many/20 + 5, table: "monitor_stats", call: func() error { return errorOf(s.ListActive(ctx)) }},
		{name: "the state of the workers, every 5 s", rows: many/20 + 5, table: "monitor_stats", call: func() error { return errorOf(s.ReadChecker(ctx)) }},
		{name: "reservations that are due", rows: 5, call: func() error { return errorOf(s.ClaimDue(ctx, time.Minute)) }},
		{name: "a report", rows: 60, call: func() error { return errorOf(s.Accept(ctx, active, report())) }},
		{name: "streams to ask the official API about", rows: many/20 + 5, table: "monitor_stats", call: func() error { return errorOf(s.OfficialStreams(ctx, monitor.YouTube)) }},
		{name: "a repeated registration", rows: 2, call: func() error { return errorOf(s.FindIdempotent(ctx, monitors.Digest{})) }},

		// events
		{name: "events of a monitor at an offset", rows: 4 * page, entries: 410, call: func() error { return errorOf(s.Events(ctx, ended, page, 150)) }},
		{name: "broadcasts of a monitor", rows: 210, call: func() error { return errorOf(s.Broadcasts(ctx, ended)) }},

		// incidents
		{name: "a page of incidents", rows: 3 * page, call: of(incidents.Filter{})},
		{name: "open incidents", rows: 3*page + few, call: of(incidents.Filter{State: incident.Open})},
		{name: "incidents of a monitor", rows: 3 * page, call: of(incidents.Filter{MonitorID: ended})},
		{name: "incidents with a rare condition", rows: 6*page + few, call: of(incidents.Filter{Condition: "late"})},
		{name: "incidents with a common label", rows: 8 * page, call: of(incidents.Filter{Labels: monitor.Labels{"team": "a"}})},
		{name: "incidents with a rare label", rows: 100, call: of(incidents.Filter{Labels: monitor.Labels{"show": "8"}})},
		{name: "incidents that time changes, every 2 s", rows: 0, call: func() error { return errorOf(s.SweepIncidents(ctx, 25)) }},
		{name: "incidents that go on, every 30 s", rows: 12 * few, call: func() error { return errorOf(s.WatchedIncidents(ctx, 0, 100)) }},
		{name: "an incident", rows: 5, call: func() error { return errorOf(s.GetIncident(ctx, open)) }},

		// history
		{name: "a timeline", rows: 60, entries: 100, call: func() error {
			return s.MonitorHistory(ctx, active, now.Add(-time.Hour), now, 0, histories.Visitor{
				Begin: func(histories.MonitorLife) {}, Span: func(history.Span) {}, Minute: func(monitor.Minute) {},
			})
		}},
		{name: "statistics of a monitor", rows: 30, call: sums(histories.Selection{MonitorID: active}, -24*time.Hour, 0)},
		{name: "statistics of all monitors", rows: many + 20, entries: 3 * many, call: sums(histories.Selection{}, -6*time.Hour, -5*time.Hour)},
		{name: "statistics of a label", rows: 1000, entries: 3 * many, call: sums(histories.Selection{Labels: monitor.Labels{"show": "8"}}, -6*time.Hour, -5*time.Hour)},
		{name: "history that expires, none does", rows: 10, call: func() error { return errorOf(s.DeleteHistory(ctx, now.AddDate(-1, 0, 0), 100)) }},

		// 90 live streams of 21 minutes, and 10 that are awaited, of a channel of 400 streams.
		{name: "what hints follow from, each minute", before: awaitStreams, rows: 100 + 90*22 + 3*few + 10*(1+2*hint.MaxEarlier), call: func() error { return errorOf(s.HintFacts(ctx, now)) }},

		// One statement for 50,000 monitors may exceed the statement timeout, and would do so for ever.
		{name: "minutes that are merged, of 500 monitors", rows: 12 * 500, call: func() error {
			more, err := s.MergeMinutes(ctx, now.Add(-10*time.Minute))
			expect(t, "more are to be merged", more, true)
			return err
		}},

		// evidence
		{name: "evidence of an event", rows: 5, call: func() error {
			return errorOf(s.ListEvidence(ctx, evidence.Filter{MonitorID: active, EventID: uuid.NewString(), Limit: page}))
		}},
		{name: "evidence of severe incidents, at each sweep", rows: 3 * few, call: func() error { return errorOf(s.QuarantineSevereEvidence(ctx, 100)) }},
		{name: "evidence that expires, none does", rows: 5, call: func() error { return errorOf(s.DeleteExpiredEvidence(ctx, "normal", time.Hour, 100)) }},

		// access
		{name: "an id that is asked for", rows: 2, call: func() error { return s.MarkKeyUsed(ctx, uuid.NewString(), noon) }},
		{name: "the list of audit entries", rows: page, call: func() error { return errorOf(s.Entries(ctx, 0, page)) }},

		// the feed
		{name: "the state for the feed, a third of the monitors and an event of each", rows: 4*many + 10, call: func() error { return errorOf(s.ReadState(ctx)) }},
		{name: "entries of the feed", rows: 2, call: func() error { return errorOf(s.ReadFeed(ctx, 0, 1)) }},
		{name: "versions for changes", rows: 15, call: func() error { return errorOf(s.NumberFeed(ctx)) }}, // of the report above

		// deliveries: a lease has both, callbacks and destinations
		{name: "a lease of callbacks", rows: 130, call: func() error { return leaseFive(ctx, s) }},
		{name: "a lease beside a destination that hangs", rows: 4*many + 150, call: func() error {
			leased, err := s.Lease(ctx, many+2*notify.MaxPerDestination, time.Minute)
			if n := len(leased.Deliveries); err != nil || n == 0 {
				return fmt.Errorf("%d deliveries are leased: %w", n, err)
			}
			return nil
		}},
		{name: "incidents that have changed, none has", rows: 15, call: func() error { return errorOf(s.RouteIncidents(ctx)) }},
		{name: "a page of deliveries", rows: 8 * page, call: func() error { return errorOf(s.Deliveries(ctx, monitors.DeliveryQuery{Limit: page})) }},
		{name: "deliveries of an incident", rows: 20, call: func() error { return errorOf(s.Deliveries(ctx, monitors.DeliveryQuery{Limit: page, IncidentID: open})) }},
	}
}

// leaseFive leases five deliveries and records that one is to be retried.
func leaseFive(ctx context.Context, s *postgres.Store) error {
	leased, err := s.Lease(ctx, 5, time.Minute)
	if err != nil || len(leased.Deliveries) != 5 {
		return fmt.Errorf("%d deliveries are leased: %w", len(leased.Deliveries), err)
	}
	return errorOf(s.Record(ctx, leased.Deliveries[0], outcomeOf(rejecting, notify.Decision{RetryAt: time.Now().Add(time.Minute)})))
}

// A backlog has deliveries that were made at each destination, and pending ones of so many monitors. Each monitor has one that
// is due now or in an hour, and one behind it in its queue. As many as may be are in flight.
type backlog struct {
	destinations, monitors int

	most    int       // rows that a lease may read
	analyse [2]string // before the backlog, and after it
}

func (b backlog) fill(t *testing.T, s *postgres.Store, db *sql.DB) []plan {
	alter(t, db, fmt.Sprintf(`
		INSERT INTO destinations (id, name, kind, language, config) SELECT gen_random_uuid(), n, 'webhook', 'en', '{}' FROM generate_series(1, %[1]d) n;
		INSERT INTO deliveries (id, destination_id, notice, state, created_at)
		SELECT gen_random_uuid(), id, '{}', 'delivered', now() - interval '1 h' FROM destinations, generate_series(1, 10000 / %[1]d);
		%[2]s;
		INSERT INTO deliveries (id, destination_id, monitor_id, sequence, queue, notice, state, due_at, created_at)
		SELECT gen_random_uuid(), d.id, 'mon-' || n, k, CAST(d.id AS text) || ' mon-' || n, '{}', 'pending', CASE WHEN k = 1 THEN now() + (n %% 2) * interval '1 h' END, now()
		FROM destinations d, generate_series(1, 2) k, generate_series(1, %[3]d) n;
		UPDATE deliveries SET lease = 'other', due_at = now() + interval '1 minute' WHERE id IN (
			SELECT x.id FROM destinations d CROSS JOIN LATERAL (SELECT id FROM deliveries WHERE destination_id = d.id AND due_at <= now() LIMIT %[4]d) AS x);
		%[5]s`, b.destinations, b.analyse[0], b.monitors, notify.MaxPerDestination, b.analyse[1]))
	return []plan{
		{name: "a lease while all hang", rows: b.most, call: leases(t, s, 0)},
		{name: "a lease when each can get one", rows: b.most, call: leases(t, s, b.destinations), before: `
			UPDATE deliveries SET lease = NULL, due_at = NULL, queue = NULL, state = 'delivered' WHERE id IN (
				SELECT x.id FROM destinations d CROSS JOIN LATERAL (SELECT id FROM deliveries WHERE destination_id = d.id AND lease IS NOT NULL LIMIT 1) AS x)`},
	}
}

// analysed takes statistics of what fill has made.
func analysed(fill filling) filling {
	return func(t *testing.T, s *postgres.Store, db *sql.DB) []plan {
		all := fill(t, s, db)
		alter(t, db, `ANALYZE`)
		return all
	}
}

// fillWithLateEvents stores thousands of late events of two callbacks, each of which gets one at a time.
func fillWithLateEvents(t *testing.T, s *postgres.Store, db *sql.DB) []plan {
	registerMany(t, s, db, 2)
	alter(t, db, `
		INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
		SELECT gen_random_uuid(), id, 'alert.blackout', '{}', '{}', 'pending', now() FROM monitors, generate_series(1, 2500);
		INSERT INTO deliveries (id, event_id, monitor_id, state, due_at, tried, created_at)
		SELECT id, id, monitor_id, 'pending', now() - seq * interval '1 ms', 5, now() FROM monitor_events`)
	return []plan{
		{name: "a lease of one of each callback", rows: 30, call: leases(t, s, 2)},
		{name: "a lease while these are in flight", rows: 30, call: leases(t, s, 0)},
	}
}

// fillWithStorm opens incidents at once, about which five leases decide. These read each a few times.
func fillWithStorm(t *testing.T, s *postgres.Store, db *sql.DB) []plan {
	const streams = 260
	addDestination(t, s, notify.Discord, "chat")
	openIncidents(t, s, 0, streams, streams)
	route(t, s)
	return []plan{{name: "leases until all is decided", rows: 45 * streams, table: "incidents", most: 3 * streams, call: func() error {
		for decided := false; !decided; decided = countRows(t, db, `deliveries WHERE incident_id IS NOT NULL AND changed`) == 0 {
			if _, err := s.Lease(t.Context(), 128, time.Minute); err != nil {
				return err
			}
		}
		if n := countRows(t, db, `deliveries WHERE storm_id IS NOT NULL`); n != streams {
			return fmt.Errorf("%d incidents are in the storm, want %d", n, streams)
		}
		return nil
	}}}
}
