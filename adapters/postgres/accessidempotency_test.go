package postgres_test

import (
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var once = monitors.IdempotencyKey{Key: monitors.Digest{7}, Request: monitors.Digest{8}}

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
	expect(t, "the registration under the key of a refused one", must(s.FindIdempotent(t.Context(), once.Key))(t), nil)
	for range 2 { // the answer to the first was lost
		expect(t, "the registration before it", must(s.InsertIdempotent(t.Context(), m, unlimited, once))(t), nil)
	}
	requireCode(t, errorOf(s.InsertIdempotent(t.Context(), registration(1), unlimited, monitors.IdempotencyKey{Key: monitors.Digest{1}})), monitor.Duplicate)
	expectFirst := func() {
		t.Helper()
		requireRecord(t, must(s.FindIdempotent(t.Context(), once.Key))(t), m, once)
		requireRecord(t, must(s.InsertIdempotent(t.Context(), registration(1), unlimited, once))(t), m, once)
		requireRecord(t, must(s.InsertIdempotent(t.Context(), registration(2), unlimited, monitors.IdempotencyKey{Key: once.Key, Request: monitors.Digest{9}}))(t), m, once)
		expectRows(t, db, `monitors`, 1)
	}
	expectFirst()
	stopMonitor(t, s, m.ID)
	expectFirst() // with its first status
}

func TestAnIdempotencyKeyExpiresAfterADay(t *testing.T) {
	s, db := newStore(t)
	m := registration(1)
	must(s.InsertIdempotent(t.Context(), m, unlimited, once))(t)
	alter(t, db, `UPDATE idempotency_keys SET created_at = now() - interval '23 hours 59 minutes'`)
	requireRecord(t, must(s.InsertIdempotent(t.Context(), registration(1), unlimited, once))(t), m, once)

	alter(t, db, `UPDATE idempotency_keys SET created_at = now() - interval '24 hours'`)
	alter(t, db, `
		INSERT INTO idempotency_keys (key, request, monitor_id, status, created_at)
		SELECT CAST(CAST(n AS text) AS bytea), request, monitor_id, status, now() - interval '26 hours'
		FROM idempotency_keys, generate_series(1, 2500) n`) // which are deleted first
	expect(t, "the registration under an expired key", must(s.FindIdempotent(t.Context(), once.Key))(t), nil)
	m, again := registration(2), monitors.IdempotencyKey{Key: once.Key, Request: monitors.Digest{9}}
	expect(t, "the registration before it", must(s.InsertIdempotent(t.Context(), m, unlimited, again))(t), nil)
	requireRecord(t, must(s.FindIdempotent(t.Context(), once.Key))(t), m, again)
	must(s.InsertIdempotent(t.Context(), registration(3), unlimited, monitors.IdempotencyKey{Key: monitors.Digest{1}}))(t)
	must(s.InsertIdempotent(t.Context(), registration(4), unlimited, monitors.IdempotencyKey{Key: monitors.Digest{2}}))(t)
	expectRows(t, db, `idempotency_keys`, 3)
}

// Two gateways get 100 registrations under one key, of which some are of one stream.
func TestOneOfManyRegistrationsUnderOneKeyIsStored(t *testing.T) {
	stores, db := newGateways(t)
	outcomes, registered := make([]*monitors.IdempotencyRecord, 100), make([]monitor.Monitor, 100)
	atOnce(t, len(outcomes), func(i int) (err error) {
		registered[i] = registration(i % 10)
		outcomes[i], err = stores[i%2].InsertIdempotent(t.Context(), registered[i], unlimited, once)
		return err
	})
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
