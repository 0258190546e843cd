package postgres_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var once = monitors.IdempotencyKey{Key: monitors.Digest{7}, Request: monitors.Digest{8}}

// registerIdempotent registers under a key and returns the earlier registration.
func registerIdempotent(t testing.TB, s *postgres.Store, m monitor.Monitor, o monitors.IdempotencyKey) *monitors.IdempotencyRecord {
	t.Helper()
	first, err := s.InsertIdempotent(t.Context(), m, unlimited, o)
	if err != nil {
		t.Fatal(err)
	}
	return first
}

// findIdempotent returns the registration under a key.
func findIdempotent(t testing.TB, s *postgres.Store, key monitors.Digest) *monitors.IdempotencyRecord {
	t.Helper()
	first, err := s.FindIdempotent(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return first
}

// requireRecord fails the test unless the record is this registration.
func requireRecord(t testing.TB, first *monitors.IdempotencyRecord, m monitor.Monitor, o monitors.IdempotencyKey) {
	t.Helper()
	if first == nil {
		t.Fatal("the key has no registration")
	}
	if first.Monitor.ID != m.ID || first.Monitor.Status != m.Status || !first.Monitor.CreatedAt.Equal(m.CreatedAt) || first.Request != o.Request {
		t.Errorf("the key stands for %+v", first)
	}
}

func countMonitors(t testing.TB, s *postgres.Store) int {
	t.Helper()
	_, n, err := s.List(t.Context(), monitors.MonitorQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAnIdempotencyKeyStandsForOneRegistration is decision A9.
func TestAnIdempotencyKeyStandsForOneRegistration(t *testing.T) {
	t.Run("the first registration is stored", func(t *testing.T) {
		s := open(t, database(t))
		if first := findIdempotent(t, s, once.Key); first != nil {
			t.Errorf("a new key stands for %+v", first)
		}
		m := registration(1)
		if first := registerIdempotent(t, s, m, once); first != nil {
			t.Errorf("a new key stands for %+v", first)
		}
		getMonitor(t, s, m.ID)
		requireRecord(t, findIdempotent(t, s, once.Key), m, once)
	})

	t.Run("a repetition returns the first registration", func(t *testing.T) {
		s := open(t, database(t))
		m := registration(1)
		registerIdempotent(t, s, m, once)
		requireRecord(t, registerIdempotent(t, s, registration(1), once), m, once)
		if n := countMonitors(t, s); n != 1 {
			t.Errorf("%d monitors are stored", n)
		}
	})

	t.Run("another request under the key stores nothing", func(t *testing.T) {
		s := open(t, database(t))
		m := registration(1)
		registerIdempotent(t, s, m, once)
		requireRecord(t, registerIdempotent(t, s, registration(2), monitors.IdempotencyKey{Key: once.Key, Request: monitors.Digest{9}}), m, once)
		if n := countMonitors(t, s); n != 1 {
			t.Errorf("%d monitors are stored", n)
		}
	})

	t.Run("a repetition returns the first status", func(t *testing.T) {
		s := open(t, database(t))
		m := registration(1)
		registerIdempotent(t, s, m, once)
		if _, err := s.End(t.Context(), m.ID, monitor.Stopped, "", nil, noon); err != nil {
			t.Fatal(err)
		}
		requireRecord(t, registerIdempotent(t, s, registration(1), once), m, once)
	})

	t.Run("repeating after a lost answer is no repetition", func(t *testing.T) {
		s := open(t, database(t))
		m := registration(1)
		registerIdempotent(t, s, m, once)
		if first := registerIdempotent(t, s, m, once); first != nil {
			t.Errorf("it is taken for a repeat of %+v", first)
		}
	})

	t.Run("the key of a refused registration is not stored", func(t *testing.T) {
		s := open(t, database(t))
		m := registration(1)
		_, err := s.InsertIdempotent(t.Context(), m, 0, once)
		requireCode(t, err, monitor.MaxMonitorsExceeded)
		if first := findIdempotent(t, s, once.Key); first != nil {
			t.Errorf("the key stands for %+v", first)
		}
		if first := registerIdempotent(t, s, m, once); first != nil {
			t.Errorf("the key stood for %+v", first)
		}
	})

	t.Run("an active stream is refused under another key", func(t *testing.T) {
		s := open(t, database(t))
		register(t, s, 1)
		_, err := s.InsertIdempotent(t.Context(), registration(1), unlimited, once)
		requireCode(t, err, monitor.Duplicate)
	})
}

func TestAnIdempotencyKeyExpiresAfterADay(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	older := monitors.IdempotencyKey{Key: monitors.Digest{1}, Request: monitors.Digest{2}}
	registerIdempotent(t, s, registration(1), older)
	m := registration(2)
	registerIdempotent(t, s, m, once)
	age := func(d time.Duration) {
		t.Helper()
		alter(t, db, `UPDATE idempotency_keys SET created_at = now() - make_interval(secs => $1)`, d.Seconds())
	}

	age(24*time.Hour - time.Minute)
	requireRecord(t, registerIdempotent(t, s, registration(2), once), m, once)

	age(24 * time.Hour)
	if first := findIdempotent(t, s, once.Key); first != nil {
		t.Errorf("the key stands for %+v", first)
	}
	m = registration(3)
	again := monitors.IdempotencyKey{Key: once.Key, Request: monitors.Digest{9}}
	if first := registerIdempotent(t, s, m, again); first != nil {
		t.Errorf("the key is not free: it stands for %+v", first)
	}
	requireRecord(t, findIdempotent(t, s, once.Key), m, again)
	if n := count(t, db, `SELECT count(*) FROM idempotency_keys`); n != 1 {
		t.Errorf("%d keys are kept, want 1", n)
	}
}

func TestAnExpiredKeyIsFreeBeforeItIsDeleted(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	registerIdempotent(t, s, registration(1), once)
	alter(t, db, `UPDATE idempotency_keys SET created_at = now() - interval '25 hours'`)
	alter(t, db, `
		INSERT INTO idempotency_keys (key, request, monitor_id, status, created_at)
		SELECT CAST(CAST(n AS text) AS bytea), request, monitor_id, status, now() - interval '26 hours'
		FROM idempotency_keys, generate_series(1, 2500) n`)
	m := registration(2)
	if first := registerIdempotent(t, s, m, once); first != nil {
		t.Errorf("the key is not free: it stands for %+v", first)
	}
	requireRecord(t, findIdempotent(t, s, once.Key), m, once)
	registerIdempotent(t, s, registration(3), monitors.IdempotencyKey{Key: monitors.Digest{1}})
	registerIdempotent(t, s, registration(4), monitors.IdempotencyKey{Key: monitors.Digest{2}})
	if n := count(t, db, `SELECT count(*) FROM idempotency_keys`); n != 3 {
		t.Errorf("%d keys are kept, want 3", n)
	}
}

func TestOneOfManyRegistrationsUnderOneKeyIsStored(t *testing.T) {
	for name, stream := range map[string]func(i int) int{
		"for one stream":            func(int) int { return 1 },
		"for a stream of each side": func(i int) int { return i },
	} {
		t.Run("100 at once, "+name, func(t *testing.T) {
			dsn := database(t)
			stores := []*postgres.Store{open(t, dsn), open(t, dsn)}
			outcomes := make([]*monitors.IdempotencyRecord, 100)
			sent := make([]monitor.Monitor, len(outcomes))
			var all sync.WaitGroup
			for i := range outcomes {
				sent[i] = registration(stream(i))
				all.Go(func() {
					var err error
					if outcomes[i], err = stores[i%len(stores)].InsertIdempotent(t.Context(), sent[i], unlimited, once); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			var stored []monitor.Monitor
			for i, first := range outcomes {
				if first == nil {
					stored = append(stored, sent[i])
				}
			}
			if n := countMonitors(t, stores[0]); len(stored) != 1 || n != 1 {
				t.Fatalf("%d were told that they were stored, and %d are", len(stored), n)
			}
			for _, first := range outcomes {
				if first != nil {
					requireRecord(t, first, stored[0], once)
				}
			}
		})
	}
}
