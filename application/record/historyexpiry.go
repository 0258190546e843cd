package record

import (
	"context"
	"errors"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/history"
)

// DefaultHistoryRetention is the default time for which spans and minutes are kept.
const DefaultHistoryRetention = 35 * 24 * time.Hour

// HistoryExpiryStore merges and deletes old history. Its methods may be called
// concurrently, by several gateways.
type HistoryExpiryStore interface {
	// MergeMinutes stores minutes merged: the oldest that are not merged yet, of one
	// history.MergedLength that ends before a time. more says whether others are left.
	MergeMinutes(ctx context.Context, before time.Time) (more bool, err error)

	// DeleteHistory deletes at most limit spans and at most limit minutes that ended
	// before the time before, and returns how many it deleted. Minutes that are merged and
	// older than history.MinutesKept go, too.
	DeleteHistory(ctx context.Context, before time.Time, limit int) (spans, minutes int, err error)
}

// HistoryExpiry merges and deletes the old history of monitors (section 16.3). The elected
// gateway runs it.
type HistoryExpiry struct {
	store     HistoryExpiryStore
	retention time.Duration
	now       func() time.Time
}

// NewHistoryExpiry returns a HistoryExpiry. A retention of 0 is the default; now may be nil:
// time.Now. It fails if the retention is negative.
func NewHistoryExpiry(store HistoryExpiryStore, retention time.Duration, now func() time.Time) (*HistoryExpiry, error) {
	if retention < 0 {
		return nil, errors.New("record: the retention of the history is negative")
	}
	if retention == 0 {
		retention = DefaultHistoryRetention
	}
	if now == nil {
		now = time.Now
	}
	return &HistoryExpiry{store, retention, now}, nil
}

// MergeSettled merges minutes that do not change any more, which makes long timelines
// fast, until ctx is done or none is left.
func (e *HistoryExpiry) MergeSettled(ctx context.Context) error {
	before := history.SettledBefore(e.now())
	for {
		more, err := e.store.MergeMinutes(ctx, before)
		if err != nil || !more {
			return err
		}
	}
}

// deleteBatch is how many rows one statement deletes, so that it holds its locks for
// milliseconds.
const deleteBatch = 1000

// DeleteExpired deletes spans and minutes that are older than the retention, in
// small batches, until ctx is done or none is left. It returns how many it deleted.
func (e *HistoryExpiry) DeleteExpired(ctx context.Context) (spans, minutes int, err error) {
	before := e.now().Add(-e.retention)
	for {
		s, m, err := e.store.DeleteHistory(ctx, before, deleteBatch)
		spans, minutes = spans+s, minutes+m
		if err != nil || s < deleteBatch && m < deleteBatch {
			return spans, minutes, err
		}
	}
}
