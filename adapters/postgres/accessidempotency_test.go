package postgres_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var once = monitors.IdempotencyKey{Key: monitors.Digest{7}, Request: monitors.Digest{8}}

// registerIdempotent registers under a key and returns the earlier registration.
func registerIdempotent(t testing.TB, s *postgres.Store, m monitor.Monitor, o monitors.IdempotencyKey) *monitors.IdempotencyRecord {
	t.Helper()
	first := must(s.InsertIdempotent(t.Context(), m, unlimited, o))(t)
	return first
}

// findIdempotent returns the registration under a key.
func findIdempotent(t testing.TB, s *postgres.Store, key monitors.Digest) *monitors.IdempotencyRecord {
	t.Helper()
	first := must(s.FindIdempotent(t.Context(), key))(t)
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

// TestAnIdempotencyKeyStandsForOneRegistration is decision A9.
func TestAnIdempotencyKeyStandsForOneRegistration(t *testing.T) {
	s, db := newStore(t)
	m := registration(1)
	requireCode(t, errorOf(s.InsertIdempotent(t.Context(), m, 0, once)), monitor.MaxMonitorsExceeded)
	if first := findIdempotent(t, s, once.Key); first != nil {
		t.Errorf("the key of a refused registration stands for %+v", first)
	}
	for range 2 { // the answer to the first was lost
		if first := registerIdempotent(t, s, m, once); first != nil {
			t.Errorf("it is taken for a repetition of %+v", first)
		}
	}
	requireCode(t, errorOf(s.InsertIdempotent(t.Context(), registration(1), unlimited, monitors.IdempotencyKey{Key: monitors.Digest{1}})), monitor.Duplicate)
	expectFirst := func() {
		t.Helper()
		requireRecord(t, findIdempotent(t, s, once.Key), m, once)
		requireRecord(t, registerIdempotent(t, s, registration(1), once), m, once)
		requireRecord(t, registerIdempotent(t, s, registration(2), monitors.IdempotencyKey{Key: once.Key, Request: monitors.Digest{9}}), m, once)
		expectRows(t, db, `monitors`, 1)
	}
	expectFirst()
	stopMonitor(t, s, m.ID)
	expectFirst() // with its first status
}

func TestAnIdempotencyKeyExpiresAfterADay(t *testing.T) {
	s, db := newStore(t)
	m := registration(1)
	registerIdempotent(t, s, m, once)
	alter(t, db, `UPDATE idempotency_keys SET created_at = now() - interval '23 hours 59 minutes'`)
	requireRecord(t, registerIdempotent(t, s, registration(1), once), m, once)

	alter(t, db, `UPDATE idempotency_keys SET created_at = now() - interval '24 hours'`)
	alter(t, db, `
		INSERT INTO idempotency_keys (key, request, monitor_id, status, created_at)
		SELECT CAST(CAST(n AS text) AS bytea), request, monitor_id, status, now() - interval '26 hours'
		FROM idempotency_keys, generate_series(1, 2500) n`) // which are deleted first
	if first := findIdempotent(t, s, once.Key); first != nil {
		t.Errorf("the key stands for %+v", first)
	}
	m, again := registration(2), monitors.IdempotencyKey{Key: once.Key, Request: monitors.Digest{9}}
	if first := registerIdempotent(t, s, m, again); first != nil {
		t.Errorf("the key is not free: it stands for %+v", first)
	}
	requireRecord(t, findIdempotent(t, s, once.Key), m, again)
	registerIdempotent(t, s, registration(3), monitors.IdempotencyKey{Key: monitors.Digest{1}})
	registerIdempotent(t, s, registration(4), monitors.IdempotencyKey{Key: monitors.Digest{2}})
	expectRows(t, db, `idempotency_keys`, 3)
}

// Two gateways get 100 registrations under one key, of which some are of one stream.
func TestOneOfManyRegistrationsUnderOneKeyIsStored(t *testing.T) {
	stores, db := newGateways(t)
	outcomes, registered := make([]*monitors.IdempotencyRecord, 100), make([]monitor.Monitor, 100)
	var all sync.WaitGroup
	for i := range outcomes {
		registered[i] = registration(i % 10)
		all.Go(func() {
			var err error
			if outcomes[i], err = stores[i%2].InsertIdempotent(t.Context(), registered[i], unlimited, once); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	stored := slices.Index(outcomes, nil)
	if n := countRows(t, db, `monitors`); stored < 0 || n != 1 {
		t.Fatalf("%d are stored, the first of those that were told so is number %d", n, stored)
	}
	for i, first := range outcomes {
		if i != stored {
			requireRecord(t, first, registered[stored], once)
		}
	}
}
