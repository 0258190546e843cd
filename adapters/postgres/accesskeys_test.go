package postgres_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/application/keyring"
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
	if got, err := s.Keys(t.Context()); err != nil || !reflect.DeepEqual(got, []keyring.StoredKey{second, first}) {
		t.Errorf("stored are %+v (%v)", got, err)
	}
	for _, at := range []time.Time{noon, noon.Add(time.Hour)} { // the first revocation counts
		if key, err := s.RevokeKey(t.Context(), second.ID, at); err != nil || !key.RevokedAt.Equal(noon) || key.Name != "apply" {
			t.Errorf("revoked is %+v (%v)", key, err)
		}
	}
	if err := s.CreateKey(t.Context(), newKey("apply")); err != nil {
		t.Errorf("the name of a revoked key: %v", err)
	}
	requireCode(t, errorOf(s.RevokeKey(t.Context(), newKey("").ID, noon)), keyring.KeyNotFound)
}

func TestGatewaysAtOnceCreateNoMoreKeysThanTheMaximum(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	var creating sync.WaitGroup
	var created atomic.Int64
	for worker := range 4 {
		creating.Go(func() {
			for n := range keyring.MaxKeys/4 + 1 {
				if err := s.CreateKey(context.Background(), newKey(fmt.Sprint(worker, " ", n))); err == nil {
					created.Add(1)
				}
			}
		})
	}
	creating.Wait()
	if n := created.Load(); n != keyring.MaxKeys {
		t.Errorf("%d keys were created, want %d", n, keyring.MaxKeys)
	}
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
	if page, err := s.Entries(t.Context(), all[0].Seq, 1); err != nil || !reflect.DeepEqual(page, all[1:2]) {
		t.Errorf("the page after the first entry is %+v (%v)", page, err)
	}
	must(db.ExecContext(t.Context(), `UPDATE audit_entries SET at = at - interval '2 hours' WHERE id < $1`, all[0].Seq))(t)
	for _, want := range []int{1, 1, 0} {
		if n, err := s.DeleteEntries(t.Context(), time.Hour, 1); err != nil || n != want {
			t.Errorf("%d are deleted (%v), want %d", n, err, want)
		}
	}
}
