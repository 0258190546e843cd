package recordtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/record"
	"github.com/stream-monitor/stream-monitor/domain/feed"
)

var _ record.FeedStore = (*FeedStore)(nil)

// The epochs of a FeedStore: the first one, and the one after Restore.
const (
	Epoch    = "00000000-0000-4000-8000-000000000001"
	Restored = "00000000-0000-4000-8000-000000000002"
)

// FeedStore is a feed in memory. Its methods may be called concurrently.
type FeedStore struct {
	// Wakes gets a value at every change.
	Wakes chan struct{}

	mu      sync.Mutex
	epoch   string
	head    int64
	entries []feed.Entry
	failing bool
	queries int // of ReadFeed
	states  int // of ReadState
	now     time.Time
}

// NewFeedStore returns a feed without entries.
func NewFeedStore(now time.Time) *FeedStore {
	return &FeedStore{Wakes: make(chan struct{}, 1), epoch: Epoch, now: now}
}

// Append appends n entries and notifies.
func (s *FeedStore) Append(n int) {
	s.AppendUnnoticed(n)
	select {
	case s.Wakes <- struct{}{}:
	default:
	}
}

// AppendUnnoticed appends n entries. Its notification is lost.
func (s *FeedStore) AppendUnnoticed(n int) {
	s.mu.Lock()
	for range n {
		s.head++
		data := json.RawMessage(fmt.Sprintf(`{"monitor_id":"mon-%d"}`, s.head))
		s.entries = append(s.entries, feed.Entry{Version: s.head, Type: feed.MonitorUpdated, At: s.now, Data: data})
	}
	s.mu.Unlock()
}

// Forget deletes the entries up to a version.
func (s *FeedStore) Forget(version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.entries) > 0 && s.entries[0].Version <= version {
		s.entries = s.entries[1:]
	}
}

// Restore goes back to a version in another epoch, as a restored backup does.
func (s *FeedStore) Restore(version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch, s.head = Restored, version
	for len(s.entries) > 0 && s.entries[len(s.entries)-1].Version > version {
		s.entries = s.entries[:len(s.entries)-1]
	}
}

// Fail makes every query fail, until it is called with false.
func (s *FeedStore) Fail(failing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = failing
}

// Queries returns how often ReadFeed and ReadState were called.
func (s *FeedStore) Queries() (pages, states int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queries, s.states
}

// RenewFeedEpoch implements record.FeedStore.
func (s *FeedStore) RenewFeedEpoch(context.Context) error { return s.err() }

// ReadFeed implements record.FeedStore.
func (s *FeedStore) ReadFeed(_ context.Context, after int64, limit int) (feed.Page, error) {
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

// ReadState implements record.FeedStore.
func (s *FeedStore) ReadState(context.Context) (feed.State, feed.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states++
	empty := feed.State{Monitors: []feed.Monitor{}, Incidents: []feed.Incident{}, Deliveries: []feed.Delivery{}, Evidence: []feed.Evidence{}}
	return empty, feed.Position{Epoch: s.epoch, Version: s.head}, s.failure()
}

// ReadChecker implements record.FeedStore.
func (s *FeedStore) ReadChecker(context.Context) (feed.Checker, error) {
	return feed.Checker{Watched: 3}, s.err()
}

func (s *FeedStore) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure()
}

func (s *FeedStore) failure() error {
	if s.failing {
		return errors.New("the database does not answer")
	}
	return nil
}
