package monitorstest

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Store is a monitors.Store and an intake.ReportStore that calls another one.
type Store struct {
	Next interface {
		monitors.Store
		References(ctx context.Context, id monitor.ID) (own, ofChannel []detector.Reference, err error)
		Accept(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Answer, error)
	}

	// Fail, if set, is called first by every method. Its error is the method's; it may also panic or
	// block. op is the method's name.
	Fail func(ctx context.Context, op string) error
}

// call calls a method of the next store, unless Fail returns an error.
func call[T any](ctx context.Context, s *Store, op string, next func() (T, error)) (result T, err error) {
	if s.Fail != nil {
		if err := s.Fail(ctx, op); err != nil {
			return result, err
		}
	}
	return next()
}

// Insert implements monitors.RegistrationStore.
func (s *Store) Insert(ctx context.Context, m monitor.Monitor, limit int) error {
	_, err := call(ctx, s, "Insert", func() (any, error) { return nil, s.Next.Insert(ctx, m, limit) })
	return err
}

// InsertIdempotent implements monitors.RegistrationStore.
func (s *Store) InsertIdempotent(ctx context.Context, m monitor.Monitor, limit int, key monitors.IdempotencyKey) (*monitors.IdempotencyRecord, error) {
	return call(ctx, s, "InsertIdempotent", func() (*monitors.IdempotencyRecord, error) { return s.Next.InsertIdempotent(ctx, m, limit, key) })
}

// Adopt implements monitors.RegistrationStore.
func (s *Store) Adopt(ctx context.Context, id monitor.ID, channelID string) (m monitor.Monitor, adopted bool, err error) {
	m, err = call(ctx, s, "Adopt", func() (m monitor.Monitor, err error) {
		m, adopted, err = s.Next.Adopt(ctx, id, channelID)
		return m, err
	})
	return m, adopted, err
}

// Routing implements monitors.AdmissionReader.
func (s *Store) Routing(ctx context.Context) (notify.Routing, error) {
	return call(ctx, s, "Routing", func() (notify.Routing, error) { return s.Next.Routing(ctx) })
}

// FindIdempotent implements monitors.RegistrationStore.
func (s *Store) FindIdempotent(ctx context.Context, key monitors.Digest) (*monitors.IdempotencyRecord, error) {
	return call(ctx, s, "FindIdempotent", func() (*monitors.IdempotencyRecord, error) { return s.Next.FindIdempotent(ctx, key) })
}

// EndedOf implements monitors.RegistrationStore.
func (s *Store) EndedOf(ctx context.Context, owner string, streams []monitor.StreamURL) (map[monitor.StreamURL]monitor.Monitor, error) {
	return call(ctx, s, "EndedOf", func() (map[monitor.StreamURL]monitor.Monitor, error) {
		return s.Next.EndedOf(ctx, owner, streams)
	})
}

// ActiveStreams implements monitors.AdmissionReader.
func (s *Store) ActiveStreams(ctx context.Context, streams []monitor.StreamURL) (watched map[monitor.StreamURL]monitor.ID, active int, err error) {
	active, err = call(ctx, s, "ActiveStreams", func() (n int, err error) {
		watched, n, err = s.Next.ActiveStreams(ctx, streams)
		return n, err
	})
	return watched, active, err
}

// Get implements monitors.MonitorGetter.
func (s *Store) Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error) {
	return call(ctx, s, "Get", func() (monitor.Monitor, error) { return s.Next.Get(ctx, id) })
}

// List implements monitors.MonitorStore.
func (s *Store) List(ctx context.Context, q monitors.MonitorQuery) (page []monitors.ListedMonitor, total int, err error) {
	total, err = call(ctx, s, "List", func() (n int, err error) {
		page, n, err = s.Next.List(ctx, q)
		return n, err
	})
	return page, total, err
}

// UpdateSettings implements monitors.SettingsStore.
func (s *Store) UpdateSettings(ctx context.Context, m monitor.Monitor, promoteAt time.Time) (monitor.Monitor, error) {
	return call(ctx, s, "UpdateSettings", func() (monitor.Monitor, error) { return s.Next.UpdateSettings(ctx, m, promoteAt) })
}

// End implements monitors.SettingsStore.
func (s *Store) End(ctx context.Context, id monitor.ID, to monitor.Status, reason string, last *event.Event, at time.Time) (monitor.Monitor, error) {
	return call(ctx, s, "End", func() (monitor.Monitor, error) { return s.Next.End(ctx, id, to, reason, last, at) })
}

// RemoveOwner implements monitors.SettingsStore.
func (s *Store) RemoveOwner(ctx context.Context, id monitor.ID) error {
	_, err := call(ctx, s, "RemoveOwner", func() (struct{}, error) { return struct{}{}, s.Next.RemoveOwner(ctx, id) })
	return err
}

// References implements intake.ReportStore.
func (s *Store) References(ctx context.Context, id monitor.ID) (own, ofChannel []detector.Reference, err error) {
	ofChannel, err = call(ctx, s, "References", func() (list []detector.Reference, err error) {
		own, list, err = s.Next.References(ctx, id)
		return list, err
	})
	return own, ofChannel, err
}

// Accept implements intake.ReportStore.
func (s *Store) Accept(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Answer, error) {
	return call(ctx, s, "Accept", func() (monitor.Answer, error) { return s.Next.Accept(ctx, id, r) })
}

// Events implements monitors.EventStore.
func (s *Store) Events(ctx context.Context, id monitor.ID, limit, offset int) (page []monitors.EventRecord, total int, err error) {
	total, err = call(ctx, s, "Events", func() (n int, err error) {
		page, n, err = s.Next.Events(ctx, id, limit, offset)
		return n, err
	})
	return page, total, err
}

// Redeliver implements monitors.EventStore.
func (s *Store) Redeliver(ctx context.Context, id monitor.ID, eventID string) error {
	_, err := call(ctx, s, "Redeliver", func() (any, error) { return nil, s.Next.Redeliver(ctx, id, eventID) })
	return err
}

// Deliveries implements monitors.EventStore.
func (s *Store) Deliveries(ctx context.Context, q monitors.DeliveryQuery) ([]monitors.DeliveryRecord, error) {
	return call(ctx, s, "Deliveries", func() ([]monitors.DeliveryRecord, error) { return s.Next.Deliveries(ctx, q) })
}

// Allow implements monitors.RateLimitStore.
func (s *Store) Allow(ctx context.Context, client monitors.Client, limit monitors.RateLimit, perMin int) (time.Duration, error) {
	return call(ctx, s, "Allow", func() (time.Duration, error) { return s.Next.Allow(ctx, client, limit, perMin) })
}

// Refund implements monitors.RateLimitStore.
func (s *Store) Refund(ctx context.Context, client monitors.Client, limit monitors.RateLimit, perMin int) error {
	_, err := call(ctx, s, "Refund", func() (any, error) { return nil, s.Next.Refund(ctx, client, limit, perMin) })
	return err
}
