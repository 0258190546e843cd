package registrytest

import (
	"context"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// InsertIdempotent implements registry.MonitorStore. Its clock stands still: a key is remembered
// for ever.
func (s *Store) InsertIdempotent(ctx context.Context, m monitor.Monitor, limit int, once registry.IdempotencyKey) (*registry.IdempotencyRecord, error) {
	end, err := s.begin(ctx, "InsertIdempotent")
	if err != nil {
		return nil, err
	}
	defer end()
	if first, known := s.idempotency[once.Key]; known {
		return &first, nil
	}
	if err := s.insert(m, limit); err != nil {
		return nil, err
	}
	if s.idempotency == nil {
		s.idempotency = map[registry.Digest]registry.IdempotencyRecord{}
	}
	s.idempotency[once.Key] = registry.IdempotencyRecord{Request: once.Request, Monitor: m}
	return nil, nil
}

// FindIdempotent implements registry.MonitorStore.
func (s *Store) FindIdempotent(ctx context.Context, key registry.Digest) (*registry.IdempotencyRecord, error) {
	end, err := s.begin(ctx, "FindIdempotent")
	if err != nil {
		return nil, err
	}
	defer end()
	if first, known := s.idempotency[key]; known {
		return &first, nil
	}
	return nil, nil
}
