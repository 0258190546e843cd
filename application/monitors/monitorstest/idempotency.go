package monitorstest

import (
	"context"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// InsertIdempotent implements monitors.RegistrationStore. A key never expires.
func (s *Store) InsertIdempotent(ctx context.Context, m monitor.Monitor, limit int, key monitors.IdempotencyKey) (stored *monitors.IdempotencyRecord, err error) {
	err = s.transaction(ctx, "InsertIdempotent", func() error {
		if record, known := s.idempotency[key.Key]; known {
			stored = &record
			return nil
		}
		if s.idempotency == nil {
			s.idempotency = map[monitors.Digest]monitors.IdempotencyRecord{}
		}
		err := s.monitors.insert(m, limit)
		if err == nil {
			s.idempotency[key.Key] = monitors.IdempotencyRecord{Request: key.Request, Monitor: m}
		}
		return err
	})
	return stored, err
}

// FindIdempotent implements monitors.RegistrationStore.
func (s *Store) FindIdempotent(ctx context.Context, key monitors.Digest) (stored *monitors.IdempotencyRecord, err error) {
	err = s.transaction(ctx, "FindIdempotent", func() error {
		if record, known := s.idempotency[key]; known {
			stored = &record
		}
		return nil
	})
	return stored, err
}
