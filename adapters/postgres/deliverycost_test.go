package postgres_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/test/harness/plans"
)

// addBacklog stores deliveries that were made at each destination, and then, unknown to the statistics if they are taken
// between, the events of so many monitors: of each one that is due now or in an hour, and one behind it in its queue.
func addBacklog(t testing.TB, db *sql.DB, monitors int, between string) {
	t.Helper()
	alter(t, db, `INSERT INTO deliveries (id, destination_id, notice, state, created_at)
		SELECT gen_random_uuid(), id, '{}', 'delivered', now() - interval '1 h' FROM destinations, generate_series(1, 10000 / (SELECT count(*) FROM destinations))`)
	alter(t, db, between)
	alter(t, db, `INSERT INTO deliveries (id, destination_id, monitor_id, sequence, queue, notice, state, due_at, created_at)
		SELECT gen_random_uuid(), d.id, 'mon-' || n, k, CAST(d.id AS text) || ' mon-' || n, '{}', 'pending', CASE WHEN k = 1 THEN now() + (n % 2) * interval '1 h' END, now()
		FROM destinations d, generate_series(1, 2) k, generate_series(1, $1) n`, monitors)
}

// leaseReads leases up to 128 deliveries, and returns how many rows and entries of indexes were read, and the plans.
func leaseReads(t *testing.T, dsn string, want int) (read int, text string) {
	t.Helper()
	marker := explained(t, dsn)
	s := open(t, dsn)
	must[notify.Routing](t)(s.Routing(t.Context()))
	must[[]plans.Statement](t)(serverLog.TakeUntil(t.Context(), marker))
	all, err := s.Lease(t.Context(), 128, time.Minute)
	if err != nil || len(all.Deliveries) != want {
		t.Fatalf("%d deliveries are leased, want %d: %v", len(all.Deliveries), want, err)
	}
	var plan strings.Builder
	for _, st := range must[[]plans.Statement](t)(serverLog.TakeUntil(t.Context(), marker)) {
		rows, entries := st.Plan.Reads("")
		read += int(max(rows, entries))
		fmt.Fprintln(&plan, st.Query)
		st.Plan.Print(&plan, 0)
	}
	return read, plan.String()
}

// A lease reads as much whatever waits, and whatever the statistics know.
func TestABacklogDoesNotSlowLeases(t *testing.T) {
	for _, c := range []struct{ destinations, monitors, most int }{{1, 10_000, 50}, {50, 200, 3500}} {
		for name, analyse := range map[string][2]string{"never": {`SELECT`, `SELECT`}, "before": {`ANALYZE`, `SELECT`}, "after": {`SELECT`, `ANALYZE`}} {
			t.Run(fmt.Sprintf("%d queues at each of %d destinations, analysed: %s", c.monitors, c.destinations, name), func(t *testing.T) {
				dsn := create(t, template)
				db := raw(t, dsn)
				alter(t, db, `INSERT INTO destinations (id, name, kind, language, config) SELECT gen_random_uuid(), n, 'webhook', 'en', '{}' FROM generate_series(1, $1) n`, c.destinations)
				addBacklog(t, db, c.monitors, analyse[0])
				alter(t, db, `UPDATE deliveries SET lease = 'other', due_at = now() + interval '1 minute' WHERE id IN (
					SELECT x.id FROM destinations d CROSS JOIN LATERAL (SELECT id FROM deliveries WHERE destination_id = d.id AND due_at <= now() LIMIT $1) AS x)`, notify.MaxPerDestination)
				alter(t, db, analyse[1])
				expect := func(leased int) {
					t.Helper()
					if read, plan := leaseReads(t, dsn, leased); read > c.most {
						t.Errorf("a lease of %d has read %d rows, want at most %d:\n%s", leased, read, c.most, plan)
					}
				}
				expect(0) // all of them hang
				alter(t, db, `UPDATE deliveries SET lease = NULL, due_at = NULL, queue = NULL, state = 'delivered' WHERE id IN (
					SELECT x.id FROM destinations d CROSS JOIN LATERAL (SELECT id FROM deliveries WHERE destination_id = d.id AND lease IS NOT NULL LIMIT 1) AS x)`)
				expect(c.destinations)
			})
		}
	}
}

// A callback gets one late event at a time, and finding it reads as much however many it has.
func TestLateEventsOfACallbackDoNotSlowLeases(t *testing.T) {
	for name, analyse := range map[string]string{"never": `SELECT`, "after": `ANALYZE`} {
		t.Run("analysed: "+name, func(t *testing.T) {
			dsn := create(t, template)
			db := raw(t, dsn)
			s := open(t, dsn)
			for n := range 2 {
				register(t, s, n)
			}
			alter(t, db, `INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
				SELECT gen_random_uuid(), id, 'alert.blackout', '{}', '{}', 'pending', now() FROM monitors, generate_series(1, 2500)`)
			alter(t, db, `INSERT INTO deliveries (id, event_id, monitor_id, state, due_at, tried, created_at)
				SELECT id, id, monitor_id, 'pending', now() - seq * interval '1 ms', 5, now() FROM monitor_events`)
			alter(t, db, analyse)
			for _, leased := range []int{2, 0} { // one of each callback; then these are in flight
				if read, plan := leaseReads(t, dsn, leased); read > 60 {
					t.Errorf("a lease of %d has read %d rows, want at most 60:\n%s", leased, read, plan)
				}
			}
		})
	}
}

// The incidents of a storm are read a few times each, however many leases tell them.
func TestAStormReadsItsIncidentsAFewTimes(t *testing.T) {
	const streams = 260 // five leases decide about them
	dsn := create(t, template)
	s := open(t, dsn)
	addDestination(t, s, notify.Discord, "chat")
	openIncidents(t, s, 0, streams, streams)
	route(t, s)
	marker := explained(t, dsn)
	explainedStore := open(t, dsn)
	must[notify.Routing](t)(explainedStore.Routing(t.Context()))
	must[[]plans.Statement](t)(serverLog.TakeUntil(t.Context(), marker))
	for decided := false; !decided; {
		must[delivery.Leased](t)(explainedStore.Lease(t.Context(), 128, time.Minute))
		decided = countRows(t, marker, `deliveries WHERE incident_id IS NOT NULL AND changed`) == 0
	}
	var read float64
	for _, st := range must[[]plans.Statement](t)(serverLog.TakeUntil(t.Context(), marker)) {
		rows, entries := st.Plan.Reads("incidents")
		read += rows + entries
	}
	if read < streams || read > 3*streams {
		t.Errorf("%.0f incidents were read, want at most three times %d", read, streams)
	}
	if n := countRows(t, marker, `deliveries WHERE storm_id IS NOT NULL`); n != streams {
		t.Errorf("%d incidents are in the storm, want %d", n, streams)
	}
}
