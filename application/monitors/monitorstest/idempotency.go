package monitorstest

import (
	"context"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// InsertIdempotent implements monitors.RegistrationStore. A key never expires.
func (s *Store) InsertIdempotent(ctx context.Context, m monitor.Monitor, limit int, key monitors.IdempotencyKey) (*monitors.IdempotencyRecord, error) {
	end, err := s.begin(ctx, "InsertIdempotent")
	if err != nil {
		return nil, err
	}
	defer end()
	if record, known := s.idempotency[key.Key]; known {
		return &record, nil
	}
	if err := s.monitors.insert(m, limit); err != nil {
		return nil, err
	}
	if s.idempotency == nil {
		s.idempotency = map[monitors.Digest]monitors.IdempotencyRecord{}
	}
	s.idempotency[key.Key] = monitors.IdempotencyRecord{Request: key.Request, Monitor: m}
	return nil, nil
}

// FindIdempotent implements monitors.RegistrationStore.
func (s *Store) FindIdempotent(ctx context.Context, key monitors.Digest) (*monitors.IdempotencyRecord, error) {
	end, err := s.begin(ctx, "FindIdempotent")
	if err != nil {
		return nil, err
	}
	defer end()
	if record, known := s.idempotency[key]; known {
		return &record, nil
	}
	return nil, nil
}
