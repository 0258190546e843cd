// Package feedtest has a fake of the port of application/feed, in memory.
package feedtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	feeds "github.com/stream-monitor/stream-monitor/application/feed"
	"github.com/stream-monitor/stream-monitor/domain/feed"
)

var _ feeds.Store = (*Store)(nil)

// The epochs of a Store: the first one, and the one after Restore.
const (
	Epoch    = "00000000-0000-4000-8000-000000000001"
	Restored = "00000000-0000-4000-8000-000000000002"
)

// Store is a feed in memory. Its methods may be called concurrently.
type Store struct {
	// Wakes gets a value at every change.
	Wakes chan struct{}

	Failing atomic.Bool // every query fails
	Busy    atomic.Bool // another gateway gives versions

	mu      sync.Mutex
	epoch   string
	head    int64
	entries []feed.Entry
	inbox   int // changes without a version
	queries int // of ReadFeed
	states  int // of ReadState
	now     time.Time
}

// NewStore returns a feed without entries.
func NewStore(now time.Time) *Store {
	return &Store{Wakes: make(chan struct{}, 1), epoch: Epoch, now: now}
}

// Append appends n entries and notifies.
func (s *Store) Append(n int) {
	s.AppendUnnoticed(n)
	s.wake()
}

// Change adds n changes that have no version yet, and notifies.
func (s *Store) Change(n int) {
	s.mu.Lock()
	s.inbox += n
	s.mu.Unlock()
	s.wake()
}

// MaxNumbered limits the changes that one NumberFeed turns into entries.
const MaxNumbered = 2

// NumberFeed implements feeds.Store.
func (s *Store) NumberFeed(context.Context) (more bool, err error) {
	s.mu.Lock()
	n := min(s.inbox, MaxNumbered)
	busy, err := s.Busy.Load() && s.inbox > 0, s.failure()
	if busy || err != nil {
		n = 0
	}
	s.inbox -= n
	s.mu.Unlock()
	if n > 0 {
		s.Append(n)
	}
	return busy || n == MaxNumbered, err
}

func (s *Store) wake() {
	select {
	case s.Wakes <- struct{}{}:
	default:
	}
}

// AppendUnnoticed appends n entries. Its notification is lost.
func (s *Store) AppendUnnoticed(n int) {
	s.mu.Lock()
	for range n {
		s.head++
		data := json.RawMessage(fmt.Sprintf(`{"monitor_id":"mon-%d"}`, s.head))
		s.entries = append(s.entries, feed.Entry{Version: s.head, Type: feed.MonitorUpdated, At: s.now, Data: data})
	}
	s.mu.Unlock()
}

// Forget deletes the entries up to a version.
func (s *Store) Forget(version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.entries) > 0 && s.entries[0].Version <= version {
		s.entries = s.entries[1:]
	}
}

// Restore goes back to a version in another epoch, as a restored backup does.
func (s *Store) Restore(version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch, s.head = Restored, version
	for len(s.entries) > 0 && s.entries[len(s.entries)-1].Version > version {
		s.entries = s.entries[:len(s.entries)-1]
	}
}

// Queries returns how often ReadFeed and ReadState were called.
func (s *Store) Queries() (pages, states int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queries, s.states
}

// RenewFeedEpoch implements feeds.Store.
func (s *Store) RenewFeedEpoch(context.Context) error { return s.failure() }

// ReadFeed implements feeds.Store.
func (s *Store) ReadFeed(_ context.Context, after int64, limit int) (feed.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queries++
	page := feed.Page{Epoch: s.epoch, Head: s.head}
	for _, e := range s.entries {
		if e.Version > after && len(page.Entries) < limit {
			page.Entries = append(page.Entries, e)
		}
	}
	return page, s.failure()
}

// ReadState implements feeds.Store.
func (s *Store) ReadState(context.Context) (feed.State, feed.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states++
	empty := feed.State{Monitors: []feed.Monitor{}, Incidents: []feed.Incident{}, Deliveries: []feed.Delivery{}, Evidence: []feed.Evidence{}}
	return empty, feed.Position{Epoch: s.epoch, Version: s.head}, s.failure()
}

// ReadChecker implements feeds.Store.
func (s *Store) ReadChecker(context.Context) (feed.Checker, error) {
	return feed.Checker{Watched: 3}, s.failure()
}

func (s *Store) failure() error {
	if s.Failing.Load() {
		return errors.New("the database does not answer")
	}
	return nil
}
