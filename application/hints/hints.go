package hints

import (
	"context"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/hint"
)

// Every is the pause between two looks.
const Every = time.Minute

// Store keeps hints. Each method blocks for a few exchanges with the store and may be called concurrently.
type Store interface {
	// HintFacts reads the facts of the active monitors, as of the time now, and the hints that hold by
	// what is stored.
	HintFacts(ctx context.Context, now time.Time) ([]hint.Facts, []hint.MonitorHint, error)

	// ChangeHints stores changes, and adds the monitors whose hints have changed to the feed. The destinations of
	// notify.Routing.HintTargets get a message about each hint that has begun. One that is stored already changes nothing.
	ChangeHints(ctx context.Context, c hint.Changes) error
}

// Service finds hints.
type Service struct {
	store Store
	now   func() time.Time
}

// NewService returns a Service. now is the clock of this process.
func NewService(store Store, now func() time.Time) *Service { return &Service{store, now} }

// Run finds the hints that hold now, and stores what has changed.
func (s *Service) Run(ctx context.Context) error {
	now := s.now()
	facts, stored, err := s.store.HintFacts(ctx, now)
	if err != nil {
		return fmt.Errorf("find hints: %w", err)
	}
	var holding []hint.MonitorHint
	for _, f := range facts {
		for _, h := range f.Hints(now) {
			holding = append(holding, hint.MonitorHint{MonitorID: f.MonitorID, Hint: h})
		}
	}
	c := hint.Compare(stored, holding)
	if c.Empty() {
		return nil
	}
	if err := s.store.ChangeHints(ctx, c); err != nil {
		return fmt.Errorf("store hints: %w", err)
	}
	return nil
}
