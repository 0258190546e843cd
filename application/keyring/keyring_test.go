package keyring_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/domain/access"
)

// fakeStore is a keyring.Store in memory, without the rules of the real one.
type fakeStore struct {
	before func(ctx context.Context, op string) error // called first by every method, whose error it is; nil: nothing

	mu   sync.Mutex
	keys []keyring.StoredKey
}

func (s *fakeStore) begin(ctx context.Context, op string) error {
	if s.before == nil {
		return nil
	}
	return s.before(ctx, op)
}

func (s *fakeStore) Keys(ctx context.Context) ([]keyring.StoredKey, error) {
	if err := s.begin(ctx, "Keys"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.keys), nil
}

func (s *fakeStore) CreateKey(_ context.Context, key keyring.StoredKey) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = append(s.keys, key)
	return nil
}

// change changes a key, and returns it.
func (s *fakeStore) change(id string, change func(*access.Key)) access.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.keys, func(k keyring.StoredKey) bool { return k.ID == id })
	change(&s.keys[i].Key)
	return s.keys[i].Key
}

func (s *fakeStore) RevokeKey(_ context.Context, id string, at time.Time) (access.Key, error) {
	return s.change(id, func(k *access.Key) { k.RevokedAt = at }), nil
}

func (s *fakeStore) MarkKeyUsed(ctx context.Context, id string, at time.Time) error {
	if err := s.begin(ctx, "MarkKeyUsed"); err != nil {
		return err
	}
	s.change(id, func(k *access.Key) { k.LastUsedAt = at })
	return nil
}

func newKeyring(t *testing.T, store keyring.Store) *keyring.Keyring {
	t.Helper()
	n := 0
	k, err := keyring.New(store, keyring.Config{
		NewID:     func() string { n++; return fmt.Sprint("id-", n) },
		NewSecret: func() string { return fmt.Sprint("secret-", n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func create(t *testing.T, k *keyring.Keyring, name string, expires time.Time) (access.Key, string) {
	t.Helper()
	key, secret, err := k.Create(t.Context(), access.Root, access.Key{Name: name, Role: access.View, ExpiresAt: expires})
	if err != nil {
		t.Fatal(err)
	}
	return key, secret
}

func expectFound(t *testing.T, k *keyring.Keyring, secret string, want bool) {
	t.Helper()
	if _, found, err := k.Find(t.Context(), secret); err != nil || found != want {
		t.Errorf("found is %v (%v), want %v", found, err, want)
	}
}

func TestAKeyIsAcceptedAtOnceUntilItExpiresOrIsRevoked(t *testing.T) { // section 12.4
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		here, elsewhere := newKeyring(t, store), newKeyring(t, store)
		_, short := create(t, here, "short", time.Now().Add(time.Minute))
		key, secret := create(t, here, "long", time.Time{})
		expectFound(t, here, secret, true)
		expectFound(t, elsewhere, secret, true)
		expectFound(t, here, short, true)
		expectFound(t, here, "secret-0", false)
		if _, err := here.Revoke(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		expectFound(t, here, secret, false)
		time.Sleep(time.Second)
		expectFound(t, elsewhere, secret, false)
		time.Sleep(time.Minute)
		expectFound(t, here, short, false)
	})
}

func TestWrongKeysCostOneReadASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, reads := &fakeStore{}, 0
		store.before = func(context.Context, string) error { reads++; return nil }
		k := newKeyring(t, store)
		for range 1000 {
			expectFound(t, k, "guess", false)
			time.Sleep(10 * time.Millisecond)
		}
		if reads != 10 {
			t.Errorf("the keys were read %d times in 10 s", reads)
		}
	})
}

// A database that does not answer delays a caller until its own deadline, not until another's.
func TestACallerWaitsForTheKeysNoLongerThanItsDeadline(t *testing.T) {
	for _, op := range []string{"Keys", "MarkKeyUsed"} {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &fakeStore{}
				k := newKeyring(t, store)
				_, secret := create(t, k, "key", time.Time{})
				hung := false
				store.before = func(ctx context.Context, called string) error {
					if called != op || op == "MarkKeyUsed" && hung {
						return nil
					}
					hung = true
					<-ctx.Done()
					return ctx.Err()
				}
				var slow sync.WaitGroup
				slow.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					_, _, _ = k.Find(ctx, secret)
				})
				synctest.Wait()
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, found, err := k.Find(ctx, secret)
				if op == "Keys" && !errors.Is(err, context.DeadlineExceeded) || op == "MarkKeyUsed" && !found || time.Since(began) > time.Second {
					t.Errorf("after %s: found %v, %v", time.Since(began), found, err)
				}
				slow.Wait()
			})
		})
	}
}

func TestCallersAtOnceShareOneReadOfTheKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		k := newKeyring(t, store)
		_, secret := create(t, k, "key", time.Time{})
		var reads atomic.Int32
		store.before = func(ctx context.Context, called string) error {
			if called == "Keys" && reads.Add(1) == 1 { // the first reader gives up, the next one reads
				<-ctx.Done()
				return ctx.Err()
			}
			time.Sleep(100 * time.Millisecond)
			return nil
		}
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
				defer cancel()
				if i > 0 {
					time.Sleep(time.Millisecond)
				}
				if _, found, err := k.Find(ctx, secret); i > 0 && (err != nil || !found) {
					t.Errorf("caller %d: found %v, %v", i, found, err)
				}
			})
		}
		all.Wait()
		if n := reads.Load(); n != 2 {
			t.Errorf("the keys were read %d times", n)
		}
	})
}

func TestAReadThatBeganBeforeAKeyWasRevokedIsNotUsedAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		k := newKeyring(t, store)
		key, secret := create(t, k, "key", time.Time{})
		release, reads := make(chan struct{}), 0
		store.before = func(_ context.Context, called string) error {
			if called != "Keys" {
				return nil
			}
			if reads++; reads == 1 {
				<-release
			}
			return nil
		}
		var old sync.WaitGroup
		old.Go(func() { _, _, _ = k.Find(t.Context(), secret) })
		synctest.Wait()
		if _, err := k.Revoke(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		expectFound(t, k, secret, false)
		close(release)
		old.Wait()
		expectFound(t, k, secret, false)
	})
}

func TestTheLastUseOfAKeyIsStoredOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, uses := &fakeStore{}, 0
		store.before = func(_ context.Context, op string) error {
			if op == "MarkKeyUsed" {
				uses++
			}
			return nil
		}
		k := newKeyring(t, store)
		_, secret := create(t, k, "a", time.Time{})
		for range 120 {
			expectFound(t, k, secret, true)
			time.Sleep(time.Second)
		}
		keys, err := k.List(t.Context())
		if err != nil || uses != 2 || time.Since(keys[0].LastUsedAt) != time.Minute {
			t.Errorf("%d uses were stored, the last %s ago (%v)", uses, time.Since(keys[0].LastUsedAt), err)
		}
	})
}

func TestAContextEndsWithItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		k := newKeyring(t, store)
		key, _ := create(t, k, "a", time.Time{})
		store.before = func(context.Context, string) error { return errors.New("no database") }
		ctx, stop := k.WhileActive(t.Context(), key.ID)
		defer stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Fatal("it ended because the keys could not be read")
		}
		store.before = nil
		if _, err := k.Revoke(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("it goes on after its key was revoked")
		}
	})
}

// auditStore is a keyring.AuditStore of entries that are all too old. It remembers whether the context of a
// result had ended.
type auditStore struct {
	keyring.AuditStore

	entries int
	ended   error
}

func (s *auditStore) DeleteEntries(_ context.Context, _ time.Duration, limit int) (int, error) {
	n := min(s.entries, limit)
	s.entries -= n
	return n, nil
}

func (s *auditStore) FinishEntry(ctx context.Context, _ int64, _ []string, _ int) error {
	s.ended = ctx.Err()
	return nil
}

func TestAllOldEntriesOfTheAuditListExpire(t *testing.T) { // section 12.4
	for _, entries := range []int{0, 1, 500, 1001} {
		store := &auditStore{entries: entries}
		if err := keyring.NewAudit(store, time.Hour, slog.Default()).Expire(t.Context()); err != nil || store.entries != 0 {
			t.Errorf("of %d entries %d are left (%v)", entries, store.entries, err)
		}
	}
}

func TestTheResultOfARequestThatWasCutOffIsRecorded(t *testing.T) { // section 12.4
	ctx, cutOff := context.WithCancel(t.Context())
	cutOff()
	store := &auditStore{}
	keyring.NewAudit(store, time.Hour, slog.Default()).Finish(ctx, 1, nil, 200)
	if store.ended != nil {
		t.Errorf("its context had ended: %v", store.ended)
	}
}
