package keyring

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/access"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const (
	keysLifetime = time.Second     // of the keys in memory
	useInterval  = time.Minute     // at which the last use of a key is stored
	usableEvery  = 2 * time.Second // pause between two looks whether a key is still accepted
)

// Config holds what a Keyring uses.
type Config struct {
	NewID     func() string    // makes UUIDv7s; required
	NewSecret func() string    // makes secrets of 256 random bits; required
	Now       func() time.Time // default time.Now
	Log       *slog.Logger     // default slog.Default
}

// Keyring keeps the keys. Its methods may be called concurrently.
type Keyring struct {
	store Store
	cfg   Config

	mu     sync.Mutex
	newest *reading             // of the keys; nil: they must be read
	used   map[string]time.Time // when the last use of a key was stored
}

// reading is one read of the keys. Requests that come at once share it. Its results are set
// before done is closed.
type reading struct {
	began time.Time
	done  chan struct{}

	bySecret map[Digest]access.Key
	byID     map[string]access.Key
	err      error
}

// isOver reports whether the keys have been read, or could not be.
func (r *reading) isOver() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// New returns a Keyring. Errors: cfg is not complete.
func New(store Store, cfg Config) (*Keyring, error) {
	if cfg.NewID == nil || cfg.NewSecret == nil {
		return nil, errors.New("keyring: NewID and NewSecret are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	cfg.Log = cfg.Log.With("component", "keyring")
	return &Keyring{store: store, cfg: cfg, used: map[string]time.Time{}}, nil
}

// Find returns the active key with a secret, and notes its use.
func (k *Keyring) Find(ctx context.Context, secret string) (key access.Key, found bool, err error) {
	digest := Digest(sha256.Sum256([]byte(secret)))
	return k.find(ctx, func(keys *reading) (access.Key, bool) { key, is := keys.bySecret[digest]; return key, is })
}

// FindByID returns the active key with an ID, and notes its use.
func (k *Keyring) FindByID(ctx context.Context, id string) (key access.Key, found bool, err error) {
	return k.find(ctx, func(keys *reading) (access.Key, bool) { key, is := keys.byID[id]; return key, is })
}

func (k *Keyring) find(ctx context.Context, lookUp func(*reading) (access.Key, bool)) (access.Key, bool, error) {
	keys, err := k.keys(ctx)
	if err != nil {
		return access.Key{}, false, err
	}
	now := k.cfg.Now()
	key, found := lookUp(keys)
	if !found || key.State(now) != access.Active {
		return access.Key{}, false, nil
	}
	if k.noteUse(key.ID, now) {
		if err := k.store.MarkKeyUsed(ctx, key.ID, now); err != nil { // the request itself can go on
			k.cfg.Log.Debug("the last use of a key could not be stored", "key", key.Name, "error", err)
		}
	}
	return key, true, nil
}

// noteUse reports whether the use of a key at now is to be stored.
func (k *Keyring) noteUse(id string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	due := now.Sub(k.used[id]) >= useInterval
	if due {
		k.used[id] = now
	}
	return due
}

// keys returns the keys of the newest reading, after a new one if that is out of date. It waits for
// the store until ctx is done, whatever the deadline of another caller that reads them.
func (k *Keyring) keys(ctx context.Context) (*reading, error) {
	for {
		r, mine := k.currentReading()
		if mine {
			k.read(ctx, r)
			return r, r.err
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !errors.Is(r.err, context.Canceled) && !errors.Is(r.err, context.DeadlineExceeded) {
			return r, r.err
		}
		// The caller that read them has given up.
	}
}

// currentReading returns the reading that a request at this moment may use. mine says that it is a
// new one, which the caller carries out.
func (k *Keyring) currentReading() (r *reading, mine bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.cfg.Now()
	if r = k.newest; r != nil {
		age := now.Sub(r.began)
		if !r.isOver() || r.err == nil && age >= 0 && age < keysLifetime {
			return r, false
		}
	}
	k.newest = &reading{began: now, done: make(chan struct{})}
	return k.newest, true
}

func (k *Keyring) read(ctx context.Context, r *reading) {
	defer close(r.done)
	stored, err := k.store.Keys(ctx)
	if r.err = err; err != nil {
		return
	}
	r.bySecret, r.byID = map[Digest]access.Key{}, map[string]access.Key{}
	for _, key := range stored {
		r.bySecret[key.Digest], r.byID[key.ID] = key.Key, key.Key
	}
}

// WhileActive returns a context that ends when a key is no longer active, or when stop is
// called. stop waits until nothing of it runs. While the keys cannot be read, it goes on.
func (k *Keyring) WhileActive(ctx context.Context, id string) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		defer cancel()
		ticker := time.NewTicker(usableEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if _, found, err := k.FindByID(ctx, id); err == nil && !found {
					return
				}
			}
		}
	})
	return ctx, func() { cancel(); watching.Wait() }
}

// List returns the keys, newest first.
func (k *Keyring) List(ctx context.Context) ([]access.Key, error) {
	stored, err := k.store.Keys(ctx)
	keys := make([]access.Key, 0, len(stored))
	for _, key := range stored {
		keys = append(keys, key.Key)
	}
	return keys, err
}

// Create creates a key. It returns the secret, which cannot be read again. Errors:
// *monitor.Error InvalidConfig that names every wrong field, or NameTaken.
func (k *Keyring) Create(ctx context.Context, by access.Key, key access.Key) (created access.Key, secret string, err error) {
	now := k.cfg.Now().UTC().Truncate(time.Millisecond)
	if err := monitor.Join(key.Check(now)...); err != nil {
		return created, "", err
	}
	created = access.Key{ID: k.cfg.NewID(), Name: key.Name, Role: key.Role, CreatedBy: by.Name, CreatedAt: now, ExpiresAt: key.ExpiresAt}
	secret = k.cfg.NewSecret()
	if err := k.store.CreateKey(ctx, StoredKey{created, Digest(sha256.Sum256([]byte(secret)))}); err != nil {
		return created, "", err
	}
	k.forget()
	return created, secret, nil
}

// Revoke revokes a key for good. Errors: *monitor.Error KeyNotFound.
func (k *Keyring) Revoke(ctx context.Context, id string) (access.Key, error) {
	key, err := k.store.RevokeKey(ctx, id, k.cfg.Now().UTC().Truncate(time.Millisecond))
	k.forget()
	return key, err
}

// forget makes the next request read the keys, even if they are being read.
func (k *Keyring) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.newest = nil
}

// Now returns the time by which keys expire.
func (k *Keyring) Now() time.Time { return k.cfg.Now() }
