package keyring

import (
	"context"
	"sync/atomic"
)

// SessionKey is a random key that signs the sessions of the dashboard (section 18.2).
type SessionKey [32]byte

// SessionKeyStore stores the key of sessions. It may be called concurrently, by several gateways.
type SessionKeyStore interface {
	// SessionKey returns the stored key that this gateway can decrypt, else it stores and returns
	// the offered one. Gateways that call at once get the same key.
	SessionKey(ctx context.Context, offered SessionKey) (SessionKey, error)
}

// SessionKeys reads the key of sessions once, and keeps it: sessions then need no store. Its
// method may be called concurrently.
type SessionKeys struct {
	store  SessionKeyStore
	newKey func() SessionKey
	kept   atomic.Pointer[SessionKey] // nil: it was not read yet
}

// NewSessionKeys returns SessionKeys that offer the store a key of newKey, which makes random ones.
func NewSessionKeys(store SessionKeyStore, newKey func() SessionKey) *SessionKeys {
	return &SessionKeys{store: store, newKey: newKey}
}

// Key returns the key of sessions. Error: it was never read, and the store does not answer.
func (k *SessionKeys) Key(ctx context.Context) (SessionKey, error) {
	if kept := k.kept.Load(); kept != nil {
		return *kept, nil
	}
	key, err := k.store.SessionKey(ctx, k.newKey())
	if err == nil {
		k.kept.Store(&key)
	}
	return key, err
}
