package monitorstest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Store is a monitors.Store and an intake.ReportStore in memory. Its methods may be used
// concurrently, its fields while no method runs.
type Store struct {
	database

	Reports   []monitor.Report // that were accepted, in order
	Records   eventRecords
	Incidents map[monitor.ID]*incident.Incident // that are open

	idempotency map[monitors.Digest]monitors.IdempotencyRecord
	counted     map[clientLimit]int
}

// Insert implements monitors.RegistrationStore.
func (s *Store) Insert(ctx context.Context, m monitor.Monitor, limit int) error {
	return s.transaction(ctx, "Insert", func() error { return s.monitors.insert(m, limit) })
}

// ActiveStreams implements monitors.AdmissionReader.
func (s *Store) ActiveStreams(ctx context.Context, streams []monitor.StreamURL) (watched map[monitor.StreamURL]monitor.ID, active int, err error) {
	watched = map[monitor.StreamURL]monitor.ID{}
	err = s.transaction(ctx, "ActiveStreams", func() error {
		for _, m := range s.monitors {
			if !m.Status.Active() {
				continue
			}
			active++
			if slices.Contains(streams, m.StreamURL) {
				watched[m.StreamURL] = m.ID
			}
		}
		return nil
	})
	return watched, active, err
}

// Get implements monitors.MonitorGetter.
func (s *Store) Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error) {
	return s.onMonitor(ctx, "Get", id, func(*monitor.Monitor) error { return nil })
}

// List implements monitors.MonitorStore.
func (s *Store) List(ctx context.Context, q monitors.MonitorQuery) (matching []monitors.ListedMonitor, total int, err error) {
	err = s.transaction(ctx, "List", func() error {
		for i, m := range slices.Backward(s.monitors) {
			listed := monitors.ListedMonitor{Monitor: m, Seq: int64(i + 1), Incident: s.Incidents[m.ID]}
			if !matches(listed, q) {
				continue
			}
			total++
			if q.Before == 0 || listed.Seq < q.Before {
				matching = append(matching, listed)
			}
		}
		return nil
	})
	return page(matching, q.Limit, q.Offset), total, err
}

// End implements monitors.SettingsStore.
func (s *Store) End(ctx context.Context, id monitor.ID, to monitor.Status, reason string, last *event.Event, at time.Time) (monitor.Monitor, error) {
	return s.onMonitor(ctx, "End", id, func(m *monitor.Monitor) error {
		if m.Status.Active() {
			m.Status, m.Reason, m.EndedAt, m.UpdatedAt, m.ReservedUntil = to, reason, at, at, time.Time{}
			if last != nil {
				s.Records.add(*m, *last)
			}
		}
		return nil
	})
}

// UpdateSettings implements monitors.SettingsStore.
func (s *Store) UpdateSettings(ctx context.Context, changed monitor.Monitor, promoteAt time.Time) (monitor.Monitor, error) {
	return s.onMonitor(ctx, "UpdateSettings", changed.ID, func(m *monitor.Monitor) error {
		switch {
		case !m.Status.Active():
			return monitor.EndedAlready(m.ID, m.Status)
		case m.Revision != changed.Revision:
			return monitors.ErrRevisionConflict
		}
		m.Config, m.CallbackURL, m.Metadata = changed.Config, changed.CallbackURL, changed.Metadata
		m.Revision++
		if !promoteAt.IsZero() && !m.ReservedUntil.IsZero() {
			m.ReservedUntil = promoteAt
		}
		return nil
	})
}

// Accept implements intake.ReportStore.
func (s *Store) Accept(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Answer, error) {
	m, err := s.onMonitor(ctx, "Accept", id, func(m *monitor.Monitor) error {
		if r.Generation != m.Generation {
			return monitor.ErrSuperseded
		}
		s.Reports = append(s.Reports, r)
		if m.Status.MayBecome(r.Status) {
			m.Status = r.Status
			if !m.Status.Active() {
				m.EndedAt = r.At
			}
		}
		if r.Health.LastCheckAt.Before(m.Health.LastCheckAt) {
			r.Health.LastCheckAt = m.Health.LastCheckAt
		}
		m.StreamStatus, m.Health, m.UpdatedAt = r.StreamStatus, r.Health, r.At
		if len(r.Snapshot) > 0 {
			m.Snapshot = r.Snapshot
		}
		m.Statistics = m.Statistics.Max(r.Statistics)
		if r.Visibility != nil {
			m.Visibility = *r.Visibility
		}
		for _, e := range r.Events {
			s.Records.add(*m, e)
		}
		if at, resolved := r.ResolvedAt(); resolved {
			for i := range s.Records[id] {
				if e := &s.Records[id][i]; e.ResolvedAt == nil && strings.Contains(string(e.Payload), `"reason":"blind"`) {
					e.ResolvedAt = &at
				}
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return monitor.Answer{}, err
	case m.Status.Active():
		return monitor.Answer{Order: monitor.Run, Revision: m.Revision}, nil
	}
	return monitor.Answer{Order: monitor.Stop, Revision: m.Revision}, nil
}

// Events implements monitors.EventStore.
func (s *Store) Events(ctx context.Context, id monitor.ID, limit, offset int) (records []monitors.EventRecord, total int, err error) {
	_, err = s.onMonitor(ctx, "Events", id, func(*monitor.Monitor) error {
		records = slices.Clone(s.Records[id])
		slices.Reverse(records)
		return nil
	})
	return page(records, limit, offset), len(records), err
}

// Redeliver implements monitors.EventStore.
func (s *Store) Redeliver(ctx context.Context, id monitor.ID, eventID string) error {
	return s.transaction(ctx, "Redeliver", func() error {
		for i := range s.Records[id] {
			if r := &s.Records[id][i]; r.EventID == eventID {
				r.Status, r.SentAt = "pending", nil
				return nil
			}
		}
		return monitor.Errorf(monitor.NotFound, "monitor %s has no event %s", id, eventID)
	})
}

func page[T any](all []T, limit, offset int) []T {
	from := min(offset, len(all))
	return all[from:min(from+limit, len(all))]
}
