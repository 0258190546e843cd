package keyring_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/application/keyring/keyringtest"
	"github.com/stream-monitor/stream-monitor/domain/access"
)

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
		store := &keyringtest.Store{}
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
		store := &keyringtest.Store{}
		k := newKeyring(t, store)
		for range 1000 {
			expectFound(t, k, "guess", false)
			time.Sleep(10 * time.Millisecond)
		}
		if reads := store.Reads(); reads != 10 {
			t.Errorf("the keys were read %d times in 10 s", reads)
		}
	})
}

// A database that does not answer delays a caller until its own deadline, not until another's.
func TestACallerWaitsForTheKeysNoLongerThanItsDeadline(t *testing.T) {
	for _, op := range []string{"Keys", "MarkKeyUsed"} {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &keyringtest.Store{}
				k := newKeyring(t, store)
				_, secret := create(t, k, "key", time.Time{})
				hung := false
				store.Fail = func(ctx context.Context, called string) error {
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
		store := &keyringtest.Store{}
		k := newKeyring(t, store)
		_, secret := create(t, k, "key", time.Time{})
		var reads atomic.Int32
		store.Fail = func(ctx context.Context, called string) error {
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
		store := &keyringtest.Store{}
		k := newKeyring(t, store)
		key, secret := create(t, k, "key", time.Time{})
		release, reads := make(chan struct{}), 0
		store.Fail = func(_ context.Context, called string) error {
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
		store, uses := &keyringtest.Store{}, 0
		store.Fail = func(_ context.Context, op string) error {
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
		store := &keyringtest.Store{}
		k := newKeyring(t, store)
		key, _ := create(t, k, "a", time.Time{})
		store.Fail = func(context.Context, string) error { return errors.New("no database") }
		ctx, stop := k.WhileActive(t.Context(), key.ID)
		defer stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Fatal("it ended because the keys could not be read")
		}
		store.Fail = nil
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

func TestTheAuditListKeepsWhatWasDone(t *testing.T) { // section 12.4
	store := &keyringtest.Store{Now: time.Now()}
	audit := keyring.NewAudit(store, time.Hour, slog.Default())
	for _, status := range []int{200, 0, 503, 201} {
		seq, err := audit.Begin(t.Context(), keyring.Entry{KeyName: "ann", Action: "monitor.stop"})
		if err != nil {
			t.Fatal(err)
		}
		audit.Finish(t.Context(), seq, []string{"mon-1"}, status)
	}
	first, next, err := audit.List(t.Context(), 0, 2)
	if err != nil || len(first) != 2 || first[0].Status != 201 || first[1].Status != 503 || next == 0 {
		t.Fatalf("the first page is %+v, next %d (%v)", first, next, err)
	}
	if last, next, err := audit.List(t.Context(), next, 2); err != nil || len(last) != 1 || last[0].Status != 200 || next != 0 {
		t.Errorf("the last page is %+v, next %d (%v)", last, next, err)
	}
	store.Now = store.Now.Add(time.Hour + 1)
	if err := audit.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, _, err := audit.List(t.Context(), 0, 100); err != nil || len(left) != 0 {
		t.Errorf("%d entries are left (%v)", len(left), err)
	}
}
