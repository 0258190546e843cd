package keyring

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/access"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of the stored keys.
const (
	MaxKeys    = 100 // that are not revoked
	MaxRevoked = 100 // that are listed beside them
)

// KeyNotFound is the code of an error of a Keyring.
const KeyNotFound monitor.Code = "KEY_NOT_FOUND"

// Digest is the SHA-256 of a secret.
type Digest [sha256.Size]byte

// StoredKey is a key with the digest of its secret.
type StoredKey struct {
	access.Key

	Digest Digest
}

// Store stores keys. Its methods may be called concurrently, by several gateways.
type Store interface {
	// Keys returns the keys that are not revoked, and the newest MaxRevoked that are; newest first.
	Keys(ctx context.Context) ([]StoredKey, error)

	// CreateKey stores a key. Errors: *monitor.Error NameTaken, or InvalidConfig if there are MaxKeys.
	CreateKey(ctx context.Context, key StoredKey) error

	// RevokeKey revokes a key at a time and returns it; one that was revoked before stays as it
	// is. Errors: *monitor.Error KeyNotFound.
	RevokeKey(ctx context.Context, id string, at time.Time) (access.Key, error)

	// MarkKeyUsed stores when a key was used last.
	MarkKeyUsed(ctx context.Context, id string, at time.Time) error
}

// Entry is one line of the audit list.
type Entry struct {
	Seq     int64
	At      time.Time
	KeyID   string // empty: API_KEY
	KeyName string
	Action  string   // such as monitor.stop
	Objects []string // IDs of what was changed
	Client  string   // address
	Status  int      // of the response; 0: not known
}

// AuditStore stores the audit list. Its methods may be called concurrently.
type AuditStore interface {
	// BeginEntry stores an entry without a result, and returns its number. The store sets At.
	BeginEntry(ctx context.Context, e Entry) (seq int64, err error)

	// FinishEntry stores the result of an entry, or deletes it if status is 0.
	FinishEntry(ctx context.Context, seq int64, objects []string, status int) error

	// Entries returns up to limit entries, newest first; before: only those with a lower number;
	// 0: all.
	Entries(ctx context.Context, before int64, limit int) ([]Entry, error)

	// DeleteEntries deletes up to limit entries that are older than age, and returns how many.
	DeleteEntries(ctx context.Context, age time.Duration, limit int) (int, error)
}
