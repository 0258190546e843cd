package evidencetest

import (
	"context"
	"slices"
	"sync"
	"time"

	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var _ evidences.ThumbnailStore = (*ThumbnailStore)(nil)

// ThumbnailStore is an evidences.ThumbnailStore in memory. Every id is that of an active
// monitor of generation 1, but Unknown. Its methods may be called concurrently.
type ThumbnailStore struct {
	// Fail, if set, is called first by every method; its error is the method's.
	Fail func(ctx context.Context, op string) error

	Unknown monitor.ID

	mu     sync.Mutex
	leased []monitor.ID
	stored map[monitor.ID]evidences.Thumbnail
}

func (s *ThumbnailStore) begin(ctx context.Context, op string, id monitor.ID) (end func(), err error) {
	if s.Fail != nil {
		if err := s.Fail(ctx, op); err != nil {
			return nil, err
		}
	}
	if id != "" && id == s.Unknown {
		return nil, monitor.Errorf(monitor.NotFound, "no monitor has the id %s", id)
	}
	s.mu.Lock()
	return s.mu.Unlock, nil
}

// Leased lists the monitors of all leases, which never expire.
func (s *ThumbnailStore) Leased() []monitor.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.leased)
}

// LeaseThumbnails implements evidences.ThumbnailStore.
func (s *ThumbnailStore) LeaseThumbnails(ctx context.Context, ids []monitor.ID, _ time.Duration) error {
	end, err := s.begin(ctx, "LeaseThumbnails", "")
	if err != nil {
		return err
	}
	defer end()
	s.leased = append(s.leased, ids...)
	return nil
}

// PutThumbnail implements evidences.ThumbnailStore.
func (s *ThumbnailStore) PutThumbnail(ctx context.Context, t evidences.Thumbnail, generation int) (bool, error) {
	end, err := s.begin(ctx, "PutThumbnail", t.MonitorID)
	if err != nil {
		return false, err
	}
	defer end()
	if generation != 1 {
		return false, monitor.ErrSuperseded
	}
	if !slices.Contains(s.leased, t.MonitorID) {
		return false, nil
	}
	if s.stored == nil {
		s.stored = map[monitor.ID]evidences.Thumbnail{}
	}
	s.stored[t.MonitorID] = t
	return true, nil
}

// GetThumbnail implements evidences.ThumbnailStore.
func (s *ThumbnailStore) GetThumbnail(ctx context.Context, id monitor.ID) (evidences.Thumbnail, error) {
	end, err := s.begin(ctx, "GetThumbnail", id)
	if err != nil {
		return evidences.Thumbnail{}, err
	}
	defer end()
	if t, is := s.stored[id]; is {
		return t, nil
	}
	return evidences.Thumbnail{}, monitor.Errorf(monitor.NotFound, "monitor %s has no thumbnail", id)
}

// DeleteThumbnails implements evidences.ThumbnailStore.
func (s *ThumbnailStore) DeleteThumbnails(ctx context.Context, _ time.Duration) error {
	end, err := s.begin(ctx, "DeleteThumbnails", "")
	if err == nil {
		end()
	}
	return err
}
