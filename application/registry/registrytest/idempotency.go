package registrytest

import (
	"context"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// InsertOnce is control.Registry's. Its clock stands still: a key is remembered
// for ever.
func (s *Store) InsertOnce(ctx context.Context, m monitor.Monitor, limit int, once registry.Once) (*registry.First, error) {
	end, err := s.begin(ctx, "InsertOnce")
	if err != nil {
		return nil, err
	}
	defer end()
	if first, known := s.firsts[once.Key]; known {
		return &first, nil
	}
	if err := s.insert(m, limit); err != nil {
		return nil, err
	}
	if s.firsts == nil {
		s.firsts = map[registry.Digest]registry.First{}
	}
	s.firsts[once.Key] = registry.First{Request: once.Request, Monitor: m}
	return nil, nil
}

// Recall is control.Registry's.
func (s *Store) Recall(ctx context.Context, key registry.Digest) (*registry.First, error) {
	end, err := s.begin(ctx, "Recall")
	if err != nil {
		return nil, err
	}
	defer end()
	if first, known := s.firsts[key]; known {
		return &first, nil
	}
	return nil, nil
}
