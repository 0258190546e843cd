package postgres_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery/callback"
)

// A question about one monitor, event or key is answered by an index, and so is one about what is
// pending. It does not matter whether the statistics know of that.
func TestOneRowIsFoundWithoutReadingTheOthers(t *testing.T) {
	const many, few = 2000, 300 // rows
	dsn := create(t, template)
	s, db := open(t, dsn), raw(t, dsn)
	m := register(t, s, 2*many)
	registerMany(t, s, db, many)
	alter(t, db, `INSERT INTO monitor_stats (monitor_id) SELECT id FROM monitors ON CONFLICT DO NOTHING`)
	addEvents(t, db, "sent", 1)
	alter(t, db, `INSERT INTO api_keys (id, name, role, digest, created_by, created_at)
		SELECT gen_random_uuid(), n, 'view', CAST(CAST(n AS text) AS bytea), 'ann', now() FROM generate_series(1, $1) n`, many)
	alter(t, db, `INSERT INTO destinations (id, name, kind, language, config) SELECT gen_random_uuid(), n, 'webhook', 'en', '{}' FROM generate_series(1, 10) n`)
	alter(t, db, `INSERT INTO deliveries (id, destination_id, notice, state, created_at)
		SELECT gen_random_uuid(), id, '{}', 'delivered', now() FROM destinations, generate_series(1, $1) n`, many)
	alter(t, db, `VACUUM ANALYZE`)
	addEvents(t, db, "pending", 1)
	failing := leaseUpTo(t, s, 1)[0]
	for name, call := range map[string]func(*postgres.Store) error{
		"a report": func(s *postgres.Store) error {
			_, err := s.Accept(t.Context(), m.ID, report())
			return err
		},
		"an attempt that failed": func(s *postgres.Store) error {
			_, err := s.Outbox.RecordAttempt(t.Context(), failing, rejecting, callback.Decision{RetryAt: time.Now().Add(time.Minute)})
			return err
		},
		"when a delivery is due": func(s *postgres.Store) error {
			_, err := s.DestinationOutbox.NextDue(t.Context())
			return err
		},
		"a lease of deliveries": func(s *postgres.Store) error {
			_, err := s.DestinationOutbox.Lease(t.Context(), 32, time.Minute)
			return err
		},
		"an id that is asked for": func(s *postgres.Store) error {
			return s.MarkKeyUsed(t.Context(), uuid.NewString(), noon)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := increaseBy(t, dsn, rowsRead, func(s *postgres.Store) {
				if err := call(s); err != nil {
					t.Error(err)
				}
			})
			if n > few {
				t.Errorf("%d rows were read", n)
			}
		})
	}
}
