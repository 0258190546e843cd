package history

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/history"
)

// ExpiryStore merges and deletes old history. Its methods may be called
// concurrently, by several gateways.
type ExpiryStore interface {
	// MergeMinutes stores minutes merged: the oldest that are not merged yet, of one
	// history.MergedLength that ends before a time, and of some monitors. more says whether
	// others are left.
	MergeMinutes(ctx context.Context, before time.Time) (more bool, err error)

	// DeleteHistory deletes at most limit spans and at most limit minutes that ended
	// before the time before, and returns how many it deleted. Minutes that are merged and
	// older than history.MinutesKept go, too. So do hints that ended before.
	DeleteHistory(ctx context.Context, before time.Time, limit int) (spans, minutes int, err error)
}

// Expiry merges and deletes the old history of monitors (section 16.3). The elected
// gateway runs it.
type Expiry struct {
	store     ExpiryStore
	retention time.Duration
	now       func() time.Time
}

// NewExpiry returns an Expiry that keeps spans and minutes for retention. now is the clock of
// this process.
func NewExpiry(store ExpiryStore, retention time.Duration, now func() time.Time) *Expiry {
	return &Expiry{store, retention, now}
}

// MergeSettled merges minutes that do not change any more, which makes long timelines
// fast, until ctx is done or none is left.
func (e *Expiry) MergeSettled(ctx context.Context) error {
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
func (e *Expiry) DeleteExpired(ctx context.Context) (spans, minutes int, err error) {
	before := e.now().Add(-e.retention)
	for {
		s, m, err := e.store.DeleteHistory(ctx, before, deleteBatch)
		spans, minutes = spans+s, minutes+m
		if err != nil || s < deleteBatch && m < deleteBatch {
			return spans, minutes, err
		}
	}
}
