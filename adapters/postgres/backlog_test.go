package postgres_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The plan is checked instead of the time: what is read must not grow with one
// monitor's backlog, whatever the database knows of its own statistics.
func TestABacklogOfOneMonitorDoesNotSlowTheOthers(t *testing.T) {
	for _, analysed := range []bool{false, true} {
		t.Run(fmt.Sprintf("10,000 pending events of one, statistics gathered: %v", analysed), func(t *testing.T) {
			dsn := create(t, template) // fresh: the statistics of a used one would be those of its user
			s, db := open(t, dsn), raw(t, dsn)
			m, other := registered(t, s, 1), registered(t, s, 2)
			alter(t, db, `INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
				SELECT gen_random_uuid(), $1, 'alert.blackout', '{}', '{}', 'pending', now() FROM generate_series(1, 10000)`, m.ID)
			alter(t, db, `INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
				SELECT gen_random_uuid(), $1, 'alert.blackout', '{}', '{}', 'sent', now() FROM generate_series(1, 10000)`, other.ID)
			if analysed {
				alter(t, db, `ANALYZE`)
			}
			accepted(t, s, other.ID, report(blackout(1)), monitor.Run)

			var text []byte
			if err := db.QueryRowContext(t.Context(), `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) `+postgres.LeaseQuery, 10, 60, uuid.NewString(), "{}").Scan(&text); err != nil {
				t.Fatal(err)
			}
			var plan []struct {
				Plan struct {
					Hit  int `json:"Shared Hit Blocks"`
					Read int `json:"Shared Read Blocks"`
				}
			}
			if err := json.Unmarshal(text, &plan); err != nil {
				t.Fatal(err)
			}
			if pages := plan[0].Plan.Hit + plan[0].Plan.Read; pages > 80 {
				t.Errorf("leasing two heads looked at %d pages: %s", pages, text)
			}
		})
	}
}
