package postgres_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/access"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func newKey(name string) keyring.StoredKey {
	return keyring.StoredKey{
		Key: access.Key{ID: uuid.Must(uuid.NewV7()).String(), Name: name, Role: access.Operator, CreatedBy: access.RootName, CreatedAt: noon.UTC()}, Digest: keyring.Digest{1, 31: 2},
	}
}

func TestKeysAreKeptUntilTheyAreRevoked(t *testing.T) { // section 12.4
	t.Parallel()
	s := open(t, database(t))
	first, second := newKey("夜勤"), newKey("apply")
	second.ExpiresAt = noon.Add(time.Hour).UTC()
	for _, key := range []keyring.StoredKey{first, second} {
		check(t, s.CreateKey(t.Context(), key))
	}
	requireCode(t, s.CreateKey(t.Context(), newKey("apply")), keyring.NameTaken)
	for _, at := range []time.Time{noon.Add(time.Minute), noon} { // a late gateway sets it not back
		check(t, s.MarkKeyUsed(t.Context(), first.ID, at))
	}
	first.LastUsedAt = noon.Add(time.Minute).UTC()
	expect(t, "the stored keys", must(s.Keys(t.Context()))(t), []keyring.StoredKey{second, first})
	for _, at := range []time.Time{noon, noon.Add(time.Hour)} { // the first revocation counts
		if key, err := s.RevokeKey(t.Context(), second.ID, at); err != nil || !key.RevokedAt.Equal(noon) || key.Name != "apply" {
			t.Errorf("revoked is %+v (%v)", key, err)
		}
	}
	check(t, s.CreateKey(t.Context(), newKey("apply"))) // the name of a revoked key
	requireCode(t, errorOf(s.RevokeKey(t.Context(), newKey("").ID, noon)), keyring.KeyNotFound)
}

func TestGatewaysAtOnceCreateNoMoreKeysThanTheMaximum(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	var created atomic.Int64
	atOnce(t, 4, func(worker int) error {
		for n := range keyring.MaxKeys/4 + 1 {
			if s.CreateKey(t.Context(), newKey(fmt.Sprint(worker, " ", n))) == nil {
				created.Add(1)
			}
		}
		return nil
	})
	expect(t, "created keys", created.Load(), keyring.MaxKeys)
	requireCode(t, s.CreateKey(t.Context(), newKey("one more")), monitor.InvalidConfig)
}

func TestTheAuditListIsKeptInOrder(t *testing.T) { // section 12.4
	t.Parallel()
	s, db := newStore(t)
	person := newKey("ann")
	for n, e := range []keyring.Entry{
		{KeyName: access.RootName, Action: "monitor.stop", Objects: []string{"mon-1"}, Client: "192.0.2.1"},
		{KeyID: person.ID, KeyName: "ann", Action: "route.create", Client: "2001:db8::/64"},
		{KeyName: access.RootName, Action: "refused", Client: "192.0.2.1"},
		{KeyName: access.RootName, Action: "no result", Client: "192.0.2.1"},
	} {
		seq := must(s.BeginEntry(t.Context(), e))(t)
		if status := []int{200, 201, 0}; n < len(status) {
			check(t, s.FinishEntry(t.Context(), seq, append(e.Objects, "x"), status[n]))
		}
	}
	all, err := s.Entries(t.Context(), 0, 10)
	if err != nil || len(all) != 3 || all[0].Status != 0 || all[1].KeyID != person.ID || all[1].Status != 201 || all[2].KeyID != "" || !slices.Equal(all[2].Objects, []string{"mon-1", "x"}) {
		t.Fatalf("the list is %+v (%v)", all, err)
	}
	expect(t, "the page after the first entry", must(s.Entries(t.Context(), all[0].Seq, 1))(t), all[1:2])
	must(db.ExecContext(t.Context(), `UPDATE audit_entries SET at = at - interval '2 hours' WHERE id < $1`, all[0].Seq))(t)
	for _, want := range []int{1, 1, 0} {
		expect(t, "deleted entries", must(s.DeleteEntries(t.Context(), time.Hour, 1))(t), want)
	}
}

func TestGatewaysAtOnceHaveOneKeyOfSessions(t *testing.T) { // section 18.2
	t.Parallel()
	dsn := database(t)
	keys, gateways := make([]keyring.SessionKey, 8), make([]*postgres.Store, 8)
	for i := range gateways {
		gateways[i] = open(t, dsn)
	}
	atOnce(t, len(gateways), func(i int) (err error) {
		keys[i], err = gateways[i].SessionKey(t.Context(), keyring.SessionKey{byte(i + 1)})
		return err
	})
	for i, key := range keys {
		if key != keys[0] || key == (keyring.SessionKey{}) {
			t.Errorf("gateway %d has %v, gateway 0 %v", i, key, keys[0])
		}
	}
}

func TestTheKeyOfSessionsOutlivesAChangeOfSecretsKey(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	steps := []struct {
		name    string
		secrets reversing
		offered byte
		want    byte
	}{
		{"the first gateway", reversing{first: "one"}, 1, 1},
		{"one that decrypts with both", reversing{first: "two", older: "one"}, 2, 1},
		{"one with the new key alone", reversing{first: "two"}, 3, 1},
		{"one that has another", reversing{first: "lost"}, 4, 4},
		{"a second one that has it", reversing{first: "lost"}, 5, 4},
		{"one that has all", reversing{first: "lost", older: "two"}, 6, 1},
	}
	for _, step := range steps {
		got, err := openWithKey(t, dsn, step.secrets).SessionKey(t.Context(), keyring.SessionKey{step.offered})
		if err != nil || got != (keyring.SessionKey{step.want}) {
			t.Errorf("%s has the key %d, want %d (%v)", step.name, got[0], step.want, err)
		}
	}
	expectFailure(t, "storing a key without SECRETS_KEY", errorOf(openWithKey(t, dsn, nil).SessionKey(t.Context(), keyring.SessionKey{7})))
}

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
