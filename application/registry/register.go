package registry

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Request is a registration (section 3.1).
type Request struct {
	StreamURL   string
	CallbackURL string
	Config      monitor.Config  // start from monitor.DefaultConfig
	Metadata    json.RawMessage // a JSON object of at most monitor.MaxMetadata bytes; empty: {}

	// Unreadable lists the fields that could not be read at all. They refuse the
	// request, together with every other wrong field.
	Unreadable []FieldError
}

// FieldError says what is wrong with one field of a request.
type FieldError struct {
	Field string // its name in the request, such as stream_url
	Err   error  // *monitor.Error InvalidURL or InvalidConfig
}

func (r Request) readable(field string) bool {
	return !slices.ContainsFunc(r.Unreadable, func(e FieldError) bool { return e.Field == field })
}

// startWithin is how long only the gateway that registers a monitor may start its
// worker. The monitor is a reservation until then. Afterwards it is due like any
// other reservation, and the leader promotes it. So no monitor is forgotten when
// the answer of the insert is lost or the gateway dies. A gateway that is later
// than that finds the monitor promoted.
const startWithin = 10 * time.Second

// Register stores a new monitor, starts its worker and returns without waiting for
// it. A monitor whose scheduled start is further away than Config.ScheduleLead is a
// reservation (decision A10) and gets no worker yet. Errors: *monitor.Error InvalidURL, InvalidConfig,
// Duplicate, MaxMonitorsExceeded.
func (s *Service) Register(ctx context.Context, r Request) (monitor.Monitor, error) {
	m, err := s.draft(ctx, r)
	if err != nil {
		return monitor.Monitor{}, err
	}
	_, err = s.insert(ctx, m, func(ctx context.Context) (*IdempotencyRecord, error) {
		return nil, s.store.Insert(ctx, m, s.cfg.MaxMonitors)
	})
	if err != nil {
		return monitor.Monitor{}, err
	}
	return m, nil
}

// draft makes the monitor that a request asks for. Errors: one that names every
// wrong field (decision A3). Times are kept to the millisecond, as answers show
// them (decision A11).
func (s *Service) draft(ctx context.Context, r Request) (monitor.Monitor, error) {
	var refused []error
	for _, e := range r.Unreadable {
		refused = append(refused, e.Err)
	}
	stream, err := monitor.ParseStreamURL(r.StreamURL)
	if err != nil && r.readable("stream_url") {
		refused = append(refused, err)
	}
	callback, callbackErr := monitor.ParseCallbackURL(r.CallbackURL)
	if callbackErr != nil && r.readable("callback_url") {
		refused = append(refused, callbackErr)
	}
	metadata, err := checkMetadata(r.Metadata)
	refused = append(refused, r.Config.Valid(), err)
	if err := monitor.Join(refused...); err != nil {
		// The policy may have to resolve a host. If it cannot, the other wrong fields
		// are the answer.
		if callbackErr == nil {
			if policyErr := s.callbacks.Check(ctx, callback); isRefusal(policyErr) {
				err = monitor.Join(err, policyErr)
			}
		}
		return monitor.Monitor{}, err
	}
	now := s.cfg.Now().Truncate(time.Millisecond)
	m := monitor.Monitor{
		ID:           monitor.NewID(s.cfg.NewUUID()),
		StreamURL:    stream,
		CallbackURL:  callback,
		Config:       r.Config,
		Metadata:     metadata,
		Status:       monitor.Initializing,
		StreamStatus: monitor.StreamUnknown,
		Health:       monitor.Health{Video: monitor.Unknown, Audio: monitor.Unknown},
		Generation:   1,
		CreatedAt:    now,
		UpdatedAt:    now,

		ReservedUntil: now.Add(startWithin),
	}
	if start := r.Config.ScheduledStartTime; start != nil {
		if until := start.Add(-s.cfg.ScheduleLead); until.After(now) {
			m.Status, m.StreamStatus, m.ReservedUntil = monitor.Waiting, monitor.StreamUpcoming, until
		}
	}
	return m, nil
}

// insert stores a new monitor with store and starts its worker, unless store
// returns the record of an earlier registration.
func (s *Service) insert(ctx context.Context, m monitor.Monitor, store func(context.Context) (*IdempotencyRecord, error)) (first *IdempotencyRecord, err error) {
	var passed error
	if end := m.Config.ScheduledEndTime; end != nil && !end.Add(time.Duration(m.Config.StartDelayToleranceSec)*time.Second).After(m.CreatedAt) {
		passed = monitor.Errorf(monitor.InvalidConfig, "config.scheduled_end_time is %s, which has passed; "+
			"accepted is a time to come, or none", end.Format(time.RFC3339))
	}
	if err := monitor.Join(passed, s.callbacks.Check(ctx, m.CallbackURL)); err != nil {
		return nil, err
	}
	err = settle(ctx, "register a monitor", func(ctx context.Context) (err error) {
		first, err = store(ctx)
		return err
	})
	if err != nil || first != nil {
		return first, err
	}
	if m.Status == monitor.Waiting {
		s.log.Info("monitor reserved", "monitor_id", string(m.ID), "stream_url", string(m.StreamURL), "until", m.ReservedUntil)
		return nil, nil
	}
	s.workers.Start(m)
	s.log.Info("monitor registered", "monitor_id", string(m.ID), "stream_url", string(m.StreamURL))
	return nil, nil
}

// Stop ends a monitor and asks for its worker to be ended. A monitor that has
// ended is returned as it is (decision A6), and nothing is logged. Errors:
// *monitor.Error NotFound.
func (s *Service) Stop(ctx context.Context, id monitor.ID) (monitor.Monitor, error) {
	now := s.cfg.Now()
	var m monitor.Monitor
	active := false
	err := settle(ctx, "stop a monitor", func(ctx context.Context) (err error) {
		if m, err = s.store.Get(ctx, id); err != nil || !m.Status.Active() {
			return err
		}
		active = true
		m, err = s.store.End(ctx, id, monitor.Stopped, "", nil, now)
		return err
	})
	if err != nil {
		return monitor.Monitor{}, err
	}
	// Asked again for an ended monitor: the gateway may have died before its first
	// request to end the worker was carried out.
	s.workers.Stop(id)
	if active {
		s.log.Info("monitor stopped", "monitor_id", string(id), "status", string(m.Status))
	}
	return m, nil
}

// isRefusal reports whether err says that a request is wrong, rather than that
// it could not be examined.
func isRefusal(err error) bool {
	coded, is := errors.AsType[*monitor.Error](err)
	return is && coded.Code != monitor.Internal
}
