package monitorstest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Store is a monitors.Store in memory. It may be used concurrently.
type Store struct {
	mu          sync.Mutex
	monitors    monitorList
	records     eventRecords
	idempotency map[monitors.Digest]monitors.IdempotencyRecord
	counted     map[clientLimit]int
	signals     []monitor.Signal
	sentAt      time.Time // of the newest report
	minutes     []monitor.Minute
	incidents   map[monitor.ID]*incident.Incident

	// Fail, if set, is called first by every method of a port. Its error is the
	// method's; it may also panic or block. op is the method's name.
	Fail func(ctx context.Context, op string) error
}

func (s *Store) begin(ctx context.Context, op string) (func(), error) {
	if s.Fail != nil {
		if err := s.Fail(ctx, op); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	return s.mu.Unlock, nil
}

// SentAt returns when the newest report was sent.
func (s *Store) SentAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sentAt
}

// Signals returns the signals of all reports, in order.
func (s *Store) Signals() []monitor.Signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.signals)
}

// Minutes returns the minutes of all reports, in order.
func (s *Store) Minutes() []monitor.Minute {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.minutes)
}

// Insert implements monitors.RegistrationStore.
func (s *Store) Insert(ctx context.Context, m monitor.Monitor, limit int) error {
	end, err := s.begin(ctx, "Insert")
	if err != nil {
		return err
	}
	defer end()
	return s.monitors.insert(m, limit)
}

// ActiveStreams implements monitors.AdmissionReader.
func (s *Store) ActiveStreams(ctx context.Context, streams []monitor.StreamURL) (map[monitor.StreamURL]monitor.ID, int, error) {
	end, err := s.begin(ctx, "ActiveStreams")
	if err != nil {
		return nil, 0, err
	}
	defer end()
	watched, active := map[monitor.StreamURL]monitor.ID{}, 0
	for _, m := range s.monitors {
		if !m.Status.Active() {
			continue
		}
		active++
		if slices.Contains(streams, m.StreamURL) {
			watched[m.StreamURL] = m.ID
		}
	}
	return watched, active, nil
}

// Get implements monitors.MonitorGetter.
func (s *Store) Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error) {
	end, err := s.begin(ctx, "Get")
	if err != nil {
		return monitor.Monitor{}, err
	}
	defer end()
	m, err := s.monitors.find(id)
	if err != nil {
		return monitor.Monitor{}, err
	}
	return *m, nil
}

// List implements monitors.MonitorStore.
func (s *Store) List(ctx context.Context, q monitors.MonitorQuery) ([]monitors.ListedMonitor, int, error) {
	end, err := s.begin(ctx, "List")
	if err != nil {
		return nil, 0, err
	}
	defer end()
	var matching []monitors.ListedMonitor
	total := 0
	for i, m := range slices.Backward(s.monitors) {
		listed := monitors.ListedMonitor{Monitor: m, Seq: int64(i + 1), Incident: s.incidents[m.ID]}
		if !matches(listed, q) {
			continue
		}
		total++
		if q.Before == 0 || listed.Seq < q.Before {
			matching = append(matching, listed)
		}
	}
	return page(matching, q.Limit, q.Offset), total, nil
}

// End implements monitors.SettingsStore.
func (s *Store) End(ctx context.Context, id monitor.ID, to monitor.Status, reason string, last *event.Event, at time.Time) (monitor.Monitor, error) {
	end, err := s.begin(ctx, "End")
	if err != nil {
		return monitor.Monitor{}, err
	}
	defer end()
	m, err := s.monitors.find(id)
	if err != nil {
		return monitor.Monitor{}, err
	}
	if m.Status.Active() {
		m.Status, m.Reason, m.EndedAt, m.UpdatedAt, m.ReservedUntil = to, reason, at, at, time.Time{}
		if last != nil {
			s.records.add(*m, *last)
		}
	}
	return *m, nil
}

// UpdateSettings implements monitors.SettingsStore.
func (s *Store) UpdateSettings(ctx context.Context, changed monitor.Monitor, promoteAt time.Time) (monitor.Monitor, error) {
	end, err := s.begin(ctx, "UpdateSettings")
	if err != nil {
		return monitor.Monitor{}, err
	}
	defer end()
	m, err := s.monitors.find(changed.ID)
	switch {
	case err != nil:
		return monitor.Monitor{}, err
	case !m.Status.Active():
		return monitor.Monitor{}, monitor.EndedAlready(m.ID, m.Status)
	case m.Revision != changed.Revision:
		return monitor.Monitor{}, monitors.ErrRevisionConflict
	}
	m.Config, m.CallbackURL, m.Metadata = changed.Config, changed.CallbackURL, changed.Metadata
	m.Revision++
	if !promoteAt.IsZero() && !m.ReservedUntil.IsZero() {
		m.ReservedUntil = promoteAt
	}
	return *m, nil
}

// Accept implements intake.ReportStore.
func (s *Store) Accept(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Answer, error) {
	end, err := s.begin(ctx, "Accept")
	if err != nil {
		return monitor.Answer{}, err
	}
	defer end()
	m, err := s.monitors.find(id)
	if err != nil {
		return monitor.Answer{}, err
	}
	if r.Generation != m.Generation {
		return monitor.Answer{}, monitor.ErrSuperseded
	}
	s.signals, s.sentAt = append(s.signals, r.Signals...), r.SentAt
	s.minutes = append(s.minutes, r.Minutes...)
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
		s.records.add(*m, e)
	}
	if at, resolved := r.ResolvedAt(); resolved {
		for i := range s.records[id] {
			if e := &s.records[id][i]; e.ResolvedAt.IsZero() && strings.Contains(string(e.Payload), `"reason":"blind"`) {
				e.ResolvedAt = at
			}
		}
	}
	if m.Status.Active() {
		return monitor.Answer{Order: monitor.Run, Revision: m.Revision}, nil
	}
	return monitor.Answer{Order: monitor.Stop, Revision: m.Revision}, nil
}

// Events implements monitors.EventStore.
func (s *Store) Events(ctx context.Context, id monitor.ID, limit, offset int) ([]monitors.EventRecord, int, error) {
	end, err := s.begin(ctx, "Events")
	if err != nil {
		return nil, 0, err
	}
	defer end()
	if _, err := s.monitors.find(id); err != nil {
		return nil, 0, err
	}
	records := slices.Clone(s.records[id])
	slices.Reverse(records)
	return page(records, limit, offset), len(records), nil
}

// Redeliver implements monitors.EventStore.
func (s *Store) Redeliver(ctx context.Context, id monitor.ID, eventID string) error {
	end, err := s.begin(ctx, "Redeliver")
	if err != nil {
		return err
	}
	defer end()
	for i := range s.records[id] {
		if r := &s.records[id][i]; r.EventID == eventID {
			r.Status, r.SentAt = "pending", time.Time{}
			return nil
		}
	}
	return monitor.Errorf(monitor.NotFound, "monitor %s has no event %s", id, eventID)
}

// OpenIncident gives a monitor an open incident.
func (s *Store) OpenIncident(id monitor.ID, i incident.Incident) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.incidents == nil {
		s.incidents = map[monitor.ID]*incident.Incident{}
	}
	s.incidents[id] = &i
}

// Update changes a stored monitor. It panics if the monitor is unknown.
func (s *Store) Update(id monitor.ID, change func(*monitor.Monitor)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.monitors.find(id)
	if err != nil {
		panic(err)
	}
	change(m)
}

// Settle sets the outcome of an event's delivery, as the dispatcher does.
func (s *Store) Settle(id monitor.ID, eventID, status, lastError string, at time.Time, attempts ...monitors.Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.records[id] {
		if r := &s.records[id][i]; r.EventID == eventID {
			r.Status, r.LastError, r.SentAt, r.Attempts = status, lastError, at, attempts
		}
	}
}

func page[T any](all []T, limit, offset int) []T {
	from := min(offset, len(all))
	return all[from:min(from+limit, len(all))]
}
