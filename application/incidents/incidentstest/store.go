package incidentstest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/domain/incident"
)

// Store is an incidents.Store in memory. It may be used concurrently.
type Store struct {
	// Fail, if set, is called first by every method; its error is the method's. op is
	// the method's name.
	Fail func(ctx context.Context, op string) error

	// Now is the time of actions and sweeps.
	Now time.Time

	// Asked are the filters of ListIncidents.
	Asked []incidents.Filter

	mu        sync.Mutex
	incidents []incidents.Incident // oldest first
	logs      map[string][]incident.Entry
	done      map[string]map[string]incident.Entry // by incident and op_id
}

var _ incidents.Store = (*Store)(nil)

func (s *Store) begin(ctx context.Context, op string) (end func(), err error) {
	if s.Fail != nil {
		if err := s.Fail(ctx, op); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	return s.mu.Unlock, nil
}

// Add stores an incident, as the newest.
func (s *Store) Add(i incidents.Incident, log ...incident.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i.Seq = int64(len(s.incidents) + 1)
	s.incidents = append(s.incidents, i)
	if s.logs == nil {
		s.logs, s.done = map[string][]incident.Entry{}, map[string]map[string]incident.Entry{}
	}
	s.logs[i.ID], s.done[i.ID] = log, map[string]incident.Entry{}
}

// Reopen opens a stored incident again, so that nobody has acknowledged it.
func (s *Store) Reopen(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, err := s.find(id); err == nil {
		i.AcknowledgedBy, i.AcknowledgedAt, i.AcknowledgedSeverity = "", time.Time{}, 0
		i.State, i.Reopened = incident.Open, i.Reopened+1
	}
}

// ListIncidents implements incidents.Store. Of the filters it knows State, Before
// and Limit.
func (s *Store) ListIncidents(ctx context.Context, f incidents.Filter) (page []incidents.Incident, err error) {
	end, err := s.begin(ctx, "ListIncidents")
	if err != nil {
		return nil, err
	}
	defer end()
	s.Asked = append(s.Asked, f)
	for _, i := range slices.Backward(s.incidents) {
		if len(page) < f.Limit && (f.State == "" || f.State == i.State) && (f.Before == 0 || i.Seq < f.Before) {
			page = append(page, i)
		}
	}
	return page, nil
}

func (s *Store) find(id string) (*incidents.Incident, error) {
	for n := range s.incidents {
		if s.incidents[n].ID == id {
			return &s.incidents[n], nil
		}
	}
	return nil, incident.UnknownID(id)
}

// GetIncident implements incidents.Store.
func (s *Store) GetIncident(ctx context.Context, id string) (incidents.Incident, []incident.Entry, error) {
	end, err := s.begin(ctx, "GetIncident")
	if err != nil {
		return incidents.Incident{}, nil, err
	}
	defer end()
	i, err := s.find(id)
	if err != nil {
		return incidents.Incident{}, nil, err
	}
	return *i, slices.Clone(s.logs[id]), nil
}

// ActOnIncident implements incidents.Store.
func (s *Store) ActOnIncident(ctx context.Context, id string, a incidents.Action) (incident.Entry, error) {
	end, err := s.begin(ctx, "ActOnIncident")
	if err != nil {
		return incident.Entry{}, err
	}
	defer end()
	i, err := s.find(id)
	if err != nil {
		return incident.Entry{}, err
	}
	if before, is := s.done[id][a.OpID]; is {
		if !a.Matches(before) {
			return before, incidents.ErrOpReused
		}
		return before, nil
	}
	for _, c := range incident.NewTracker(&i.Incident).Step(s.Now, a.Input()) {
		s.logs[id] = append(s.logs[id], c.Log...)
		s.done[id][a.OpID] = c.Log[len(c.Log)-1]
	}
	return s.done[id][a.OpID], nil
}

// SweepIncidents implements incidents.Store.
func (s *Store) SweepIncidents(ctx context.Context, limit int) (more bool, err error) {
	end, err := s.begin(ctx, "SweepIncidents")
	if err != nil {
		return false, err
	}
	defer end()
	due := 0
	for n := range s.incidents {
		i := &s.incidents[n]
		if at := i.DueAt(); due < limit && !at.IsZero() && !at.After(s.Now) {
			incident.NewTracker(&i.Incident).Step(s.Now, incident.Tick{})
			due++
		}
	}
	return due == limit, nil
}
