package historytest

import (
	"context"
	"time"

	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Store is a histories.Store and a histories.ExpiryStore that returns its
// fields for every monitor except those in Unknown.
type Store struct {
	Unknown        map[monitor.ID]bool
	Life           histories.MonitorLife
	Spans          []history.Span // of each monitor, for a timeline
	Minutes        []monitor.Minute
	Counted        map[monitor.ID][]history.Span // for statistics
	Alerts         []history.Alert
	Incidents      map[monitor.ID]time.Time // when one was opened
	Started, Ended []time.Time
	Err            error  // of every method, if set
	Reading        func() // called by every method that reads, if set

	Unmerged int // how often MergeMinutes finds some

	Expired []int // spans, and as many minutes, that each DeleteHistory deletes
	Before  time.Time

	DeleteErr error // of every DeleteHistory, after it has deleted
}

var (
	_ histories.Store       = (*Store)(nil)
	_ histories.ExpiryStore = (*Store)(nil)
)

func (s *Store) check(id monitor.ID) error {
	if s.Reading != nil {
		s.Reading()
	}
	if s.Err != nil {
		return s.Err
	}
	if s.Unknown[id] {
		return monitor.Errorf(monitor.NotFound, "no monitor has the id %s", id)
	}
	return nil
}

// MonitorHistory implements histories.Store.
func (s *Store) MonitorHistory(_ context.Context, id monitor.ID, _, _ time.Time, _ time.Duration, v histories.Visitor) error {
	if err := s.check(id); err != nil {
		return err
	}
	v.Begin(s.Life)
	for _, span := range s.Spans {
		v.Span(span)
	}
	for _, m := range s.Minutes {
		v.Minute(m)
	}
	return nil
}

// SumHistory implements histories.Store.
func (s *Store) SumHistory(_ context.Context, id monitor.ID, _ time.Time, sum *history.Summary) error {
	if err := s.check(id); err != nil {
		return err
	}
	for id, spans := range s.Counted {
		for _, span := range spans {
			sum.AddSpan(id, span)
		}
	}
	for _, a := range s.Alerts {
		sum.AddAlert(a)
	}
	for id, openedAt := range s.Incidents {
		sum.AddIncident(id, openedAt)
	}
	return nil
}

// Broadcasts implements histories.Store.
func (s *Store) Broadcasts(_ context.Context, id monitor.ID) (histories.Broadcasts, error) {
	return histories.Broadcasts{MonitorLife: s.Life, Started: s.Started, Ended: s.Ended}, s.check(id)
}

// MergeMinutes implements histories.ExpiryStore.
func (s *Store) MergeMinutes(_ context.Context, before time.Time) (more bool, err error) {
	s.Before = before
	s.Unmerged--
	return s.Unmerged > 0, s.Err
}

// DeleteHistory implements histories.ExpiryStore.
func (s *Store) DeleteHistory(_ context.Context, before time.Time, _ int) (spans, minutes int, err error) {
	s.Before = before
	if len(s.Expired) == 0 {
		return 0, 0, s.DeleteErr
	}
	n := s.Expired[0]
	s.Expired = s.Expired[1:]
	return n, n, s.DeleteErr
}
