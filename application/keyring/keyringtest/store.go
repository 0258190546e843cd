// Package keyringtest has a keyring.Store and keyring.AuditStore in memory.
package keyringtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/domain/access"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Store is a keyring.Store, keyring.AuditStore and keyring.SessionKeyStore in memory.
type Store struct {
	// Fail, if set, is called first by every method; its error is the method's.
	Fail func(ctx context.Context, op string) error

	// Now is the time of entries.
	Now time.Time

	mu      sync.Mutex
	reads   int
	keys    []keyring.StoredKey // oldest first
	entries []keyring.Entry
	last    int64
	session *keyring.SessionKey
}

var (
	_ keyring.Store      = (*Store)(nil)
	_ keyring.AuditStore = (*Store)(nil)

	_ keyring.SessionKeyStore = (*Store)(nil)
)

// Reads returns how often the keys were read.
func (s *Store) Reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

func (s *Store) begin(ctx context.Context, op string) (unlock func(), err error) {
	if s.Fail != nil {
		if err := s.Fail(ctx, op); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	return s.mu.Unlock, nil
}

// Keys implements keyring.Store.
func (s *Store) Keys(ctx context.Context) ([]keyring.StoredKey, error) {
	unlock, err := s.begin(ctx, "Keys")
	if err != nil {
		return nil, err
	}
	defer unlock()
	s.reads++
	keys := slices.Clone(s.keys)
	slices.Reverse(keys)
	return keys, nil
}

// CreateKey implements keyring.Store.
func (s *Store) CreateKey(ctx context.Context, key keyring.StoredKey) error {
	unlock, err := s.begin(ctx, "CreateKey")
	if err != nil {
		return err
	}
	defer unlock()
	for _, k := range s.keys {
		if k.Name == key.Name && k.RevokedAt.IsZero() {
			return monitor.Errorf(keyring.NameTaken, "another key has the name %q", key.Name)
		}
	}
	s.keys = append(s.keys, key)
	return nil
}

// RevokeKey implements keyring.Store.
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) (access.Key, error) {
	unlock, err := s.begin(ctx, "RevokeKey")
	if err != nil {
		return access.Key{}, err
	}
	defer unlock()
	i := s.index(id)
	if i < 0 {
		return access.Key{}, monitor.Errorf(keyring.KeyNotFound, "no key has the id %q", id)
	}
	if s.keys[i].RevokedAt.IsZero() {
		s.keys[i].RevokedAt = at
	}
	return s.keys[i].Key, nil
}

// MarkKeyUsed implements keyring.Store.
func (s *Store) MarkKeyUsed(ctx context.Context, id string, at time.Time) error {
	unlock, err := s.begin(ctx, "MarkKeyUsed")
	if err != nil {
		return err
	}
	defer unlock()
	if i := s.index(id); i >= 0 {
		s.keys[i].LastUsedAt = at
	}
	return nil
}

func (s *Store) index(id string) int {
	return slices.IndexFunc(s.keys, func(k keyring.StoredKey) bool { return k.ID == id })
}

// SessionKey implements keyring.SessionKeyStore.
func (s *Store) SessionKey(ctx context.Context, offered keyring.SessionKey) (keyring.SessionKey, error) {
	unlock, err := s.begin(ctx, "SessionKey")
	if err != nil {
		return keyring.SessionKey{}, err
	}
	defer unlock()
	if s.session == nil {
		s.session = &offered
	}
	return *s.session, nil
}

// BeginEntry implements keyring.AuditStore.
func (s *Store) BeginEntry(ctx context.Context, e keyring.Entry) (int64, error) {
	unlock, err := s.begin(ctx, "BeginEntry")
	if err != nil {
		return 0, err
	}
	defer unlock()
	s.last++
	e.Seq, e.At = s.last, s.Now
	s.entries = append(s.entries, e)
	return e.Seq, nil
}

// FinishEntry implements keyring.AuditStore.
func (s *Store) FinishEntry(ctx context.Context, seq int64, objects []string, status int) error {
	unlock, err := s.begin(ctx, "FinishEntry")
	if err != nil {
		return err
	}
	defer unlock()
	if status == 0 {
		s.entries = slices.DeleteFunc(s.entries, func(e keyring.Entry) bool { return e.Seq == seq })
	}
	for i := range s.entries {
		if s.entries[i].Seq == seq {
			s.entries[i].Objects, s.entries[i].Status = objects, status
		}
	}
	return nil
}

// Entries implements keyring.AuditStore.
func (s *Store) Entries(ctx context.Context, before int64, limit int) ([]keyring.Entry, error) {
	unlock, err := s.begin(ctx, "Entries")
	if err != nil {
		return nil, err
	}
	defer unlock()
	var page []keyring.Entry
	for _, e := range slices.Backward(s.entries) {
		if (before == 0 || e.Seq < before) && len(page) < limit {
			page = append(page, e)
		}
	}
	return page, nil
}

// DeleteEntries implements keyring.AuditStore.
func (s *Store) DeleteEntries(ctx context.Context, age time.Duration, limit int) (int, error) {
	unlock, err := s.begin(ctx, "DeleteEntries")
	if err != nil {
		return 0, err
	}
	defer unlock()
	n := 0
	s.entries = slices.DeleteFunc(s.entries, func(e keyring.Entry) bool {
		old := n < limit && s.Now.Sub(e.At) > age
		if old {
			n++
		}
		return old
	})
	return n, nil
}
