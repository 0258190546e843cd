package postgres_test

import (
	"database/sql"
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
	requireCode(t, s.CreateKey(t.Context(), newKey("apply")), monitor.NameTaken)
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

var (
	firstClient  = monitors.Client{1}
	secondClient = monitors.Client{2}
	newClient    = monitors.Client{3}
)

func allow(t *testing.T, s *postgres.Store, client monitors.Client, limit monitors.RateLimit, perMin int) time.Duration {
	t.Helper()
	return must(s.Allow(t.Context(), client, limit, perMin))(t)
}

// allowAll makes n requests, which must all be allowed.
func allowAll(t *testing.T, s *postgres.Store, client monitors.Client, limit monitors.RateLimit, perMin, n int) {
	t.Helper()
	for i := range n {
		if wait := allow(t, s, client, limit, perMin); wait != 0 {
			t.Fatalf("request %d of %d must wait %v", i+1, n, wait)
		}
	}
}

// requireWait fails the test unless least < wait ≤ most.
func requireWait(t *testing.T, wait, least, most time.Duration) {
	t.Helper()
	if wait <= least || wait > most {
		t.Fatalf("the wait is %v, want more than %v and at most %v", wait, least, most)
	}
}

// advanceClock makes the last requests of all clients older by d.
func advanceClock(t *testing.T, db *sql.DB, d time.Duration) {
	t.Helper()
	alter(t, db, `UPDATE rate_limits SET arrival_at = arrival_at - make_interval(secs => $1)`, d.Seconds())
}

// Section 12.3, decision A5. An interval is longer than any test. Each part has clients of its own.
func TestARateLimitAllowsItsRequestsPerMinute(t *testing.T) {
	s, db := newStore(t)

	t.Run("the whole limit may be used at once, and recovers evenly up to its maximum", func(t *testing.T) {
		client := monitors.Client{10}
		allowAll(t, s, client, monitors.Creating, 4, 4) // one every 15 s
		requireWait(t, allow(t, s, client, monitors.Creating, 4), 0, 15*time.Second)
		advanceClock(t, db, 31*time.Second)
		allowAll(t, s, client, monitors.Creating, 4, 2)
		requireWait(t, allow(t, s, client, monitors.Creating, 4), 0, 14*time.Second)
		advanceClock(t, db, time.Hour)
		allowAll(t, s, client, monitors.Creating, 4, 4)
		requireWait(t, allow(t, s, client, monitors.Creating, 4), 0, 15*time.Second)
	})

	t.Run("a request is allowed after the wait and not before, however many are refused", func(t *testing.T) {
		client := monitors.Client{11}
		allowAll(t, s, client, monitors.Querying, 1, 1)
		wait := allow(t, s, client, monitors.Querying, 1)
		for range 20 {
			requireWait(t, allow(t, s, client, monitors.Querying, 1), 0, wait)
		}
		advanceClock(t, db, wait-30*time.Second)
		requireWait(t, allow(t, s, client, monitors.Querying, 1), 0, 30*time.Second)
		advanceClock(t, db, 30*time.Second)
		allowAll(t, s, client, monitors.Querying, 1, 1)
	})

	t.Run("each client has both limits of its own", func(t *testing.T) {
		for _, client := range []monitors.Client{firstClient, secondClient} {
			allowAll(t, s, client, monitors.Creating, 1, 1)
			allowAll(t, s, client, monitors.Querying, 4, 4)
		}
		advanceClock(t, db, 10*time.Second)
		alter(t, db, `UPDATE rate_limits SET arrival_at = arrival_at - interval '10 seconds' WHERE budget = 'create' AND client = $1`, firstClient[:])
		requireWait(t, allow(t, s, firstClient, monitors.Creating, 1), 20*time.Second, 40*time.Second)
		requireWait(t, allow(t, s, secondClient, monitors.Creating, 1), 40*time.Second, 50*time.Second)
		requireWait(t, allow(t, s, firstClient, monitors.Querying, 4), 0, 5*time.Second)
	})

	t.Run("a request at another gateway counts, also if it is stored meanwhile", func(t *testing.T) {
		client := monitors.Client{12}
		other := holding(t, db, `INSERT INTO rate_limits VALUES ($1, 'create', now() + interval '1 minute')`, client[:])
		wait := inBackground(t, func() error {
			in, err := s.Allow(t.Context(), client, monitors.Creating, 4)
			if in <= 0 || in > 15*time.Second {
				t.Errorf("the wait is %v, want the next interval", in)
			}
			return err
		})
		eventually(t, "the request waits for the other one", func() bool { return waitingForLock(t, db) })
		check(t, other.Commit())
		wait()
	})

	t.Run("the largest limit, and one whose interval is no whole number of microseconds, are exact", func(t *testing.T) {
		allowAll(t, s, monitors.Client{13}, monitors.Querying, monitors.MaxPerMin, 3)
		allowAll(t, s, monitors.Client{13}, monitors.Creating, 7, 7)
		requireWait(t, allow(t, s, monitors.Client{13}, monitors.Creating, 7), 0, 8572*time.Millisecond)
	})
}

func TestIdleClientsAreDeleted(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	allowAll(t, s, firstClient, monitors.Creating, 10, 1)
	allowAll(t, s, secondClient, monitors.Creating, 10, 1)
	passesFor := func(client monitors.Client, d string) {
		t.Helper()
		alter(t, db, `UPDATE rate_limits SET arrival_at = now() - CAST($2 AS interval) WHERE client = $1`, client[:], d)
	}
	passesFor(firstClient, "61 minutes")
	allowAll(t, s, secondClient, monitors.Creating, 10, 1)
	passesFor(secondClient, "59 minutes")
	expectRows(t, db, `rate_limits`, 2)
	allowAll(t, s, newClient, monitors.Creating, 10, 1)
	expectRows(t, db, `rate_limits`, 3)
	other := open(t, dsn) // which has not looked yet
	allowAll(t, other, monitors.Client{4}, monitors.Creating, 10, 1)
	expect(t, "rows of a client that was not seen for an hour", countRows(t, db, `rate_limits WHERE client = $1`, firstClient[:]), 0)
	expectRows(t, db, `rate_limits`, 3)

	// More of them than are deleted at a time.
	alter(t, db, `INSERT INTO rate_limits SELECT sha256(convert_to(CAST(n AS text), 'UTF8')), 'create', now() - interval '2 hours' FROM generate_series(1, 1500) AS n`)
	third := open(t, dsn)
	allowAll(t, third, monitors.Client{5}, monitors.Creating, 10, 1)
	allowAll(t, third, monitors.Client{6}, monitors.Creating, 10, 1)
	expectRows(t, db, `rate_limits`, 5)
}

func TestAReturnedRequestIsAllowedAgain(t *testing.T) { // section 12.3
	s := open(t, database(t))
	allowAll(t, s, firstClient, monitors.Creating, 2, 2)
	check(t, s.Refund(t.Context(), firstClient, monitors.Creating, 2))
	allowAll(t, s, firstClient, monitors.Creating, 2, 1)
	requireWait(t, allow(t, s, firstClient, monitors.Creating, 2), 0, 30*time.Second)
	check(t, s.Refund(t.Context(), monitors.Client{9}, monitors.Creating, 2)) // who is not known
}
