package keyring_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	audit, err := keyring.NewAudit(store, time.Hour, slog.Default())
	if err != nil {
		t.Fatal(err)
	}
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
