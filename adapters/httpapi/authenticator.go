package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"

	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/domain/access"
)

// authenticator finds the key that a caller presents: the configured one, or one of the
// keyring. The configured one is found while the database is away, too.
type authenticator struct {
	root    [sha256.Size]byte // digest
	keyring *keyring.Keyring  // nil: there is only the configured key
}

func newAuthenticator(key string, keys *keyring.Keyring) *authenticator {
	return &authenticator{sha256.Sum256([]byte(key)), keys}
}

// find returns the active key with a secret. It compares digests in constant time, so that
// neither the content nor the length of the configured key can be measured.
func (a *authenticator) find(ctx context.Context, secret string) (key access.Key, found bool, err error) {
	digest := sha256.Sum256([]byte(secret))
	if subtle.ConstantTimeCompare(digest[:], a.root[:]) == 1 {
		return access.Root, true, nil
	}
	if a.keyring == nil || secret == "" {
		return access.Key{}, false, nil
	}
	return a.keyring.Find(ctx, secret)
}

// findByID returns the active key with an ID; an empty one is that of the configured key.
func (a *authenticator) findByID(ctx context.Context, id string) (key access.Key, found bool, err error) {
	if id == "" {
		return access.Root, true, nil
	}
	if a.keyring == nil {
		return access.Key{}, false, nil
	}
	return a.keyring.FindByID(ctx, id)
}

// whileActive returns a context that ends when the key is no longer active. stop must be called.
func (a *authenticator) whileActive(ctx context.Context, key access.Key) (_ context.Context, stop func()) {
	if key.IsRoot() || a.keyring == nil {
		return ctx, func() {}
	}
	return a.keyring.WhileActive(ctx, key.ID)
}
