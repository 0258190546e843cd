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

	// Unreadable lists the fields that could not be decoded. The refusal of the request
	// names them together with all other wrong fields.
	Unreadable []FieldError
}

// FieldError is the error of one field of a request.
type FieldError struct {
	Field string // its name in the request, such as stream_url
	Err   error  // *monitor.Error InvalidURL or InvalidConfig
}

func (r Request) readable(field string) bool {
	return !slices.ContainsFunc(r.Unreadable, func(e FieldError) bool { return e.Field == field })
}

// claimTerm is how long only the registering gateway may start a new monitor's worker. The
// monitor is a reservation meanwhile. Afterwards it is due like any other reservation, and
// the leader promotes it. So a monitor gets its worker even if the registering gateway
// dies, or does not learn that the insertion succeeded.
const claimTerm = 10 * time.Second

// Register stores a new monitor, starts its worker and returns without waiting for
// it. A monitor whose scheduled start is further away than Config.ScheduleLead is a
// reservation (decision A10) and gets no worker yet. Errors: *monitor.Error InvalidURL,
// InvalidConfig, Duplicate, MaxMonitorsExceeded.
func (s *Service) Register(ctx context.Context, r Request) (monitor.Monitor, error) {
	m, err := s.newMonitor(ctx, r)
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

// newMonitor returns the monitor for a request, not stored yet. Its error names every wrong
// field (decision A3). Times are in whole milliseconds, as in the answers (decision A11).
func (s *Service) newMonitor(ctx context.Context, r Request) (monitor.Monitor, error) {
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
		// The policy may have to resolve a host. If it cannot, the answer names the other
		// wrong fields only.
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

		ReservedUntil: now.Add(claimTerm),
	}
	if until, reserved := s.reservedUntil(r.Config, now); reserved {
		m.Status, m.StreamStatus, m.ReservedUntil = monitor.Waiting, monitor.StreamUpcoming, until
	}
	return m, nil
}

// reservedUntil returns when a monitor is promoted whose scheduled start is further away
// than Config.ScheduleLead. reserved is false for any other.
func (s *Service) reservedUntil(c monitor.Config, now time.Time) (until time.Time, reserved bool) {
	if c.ScheduledStartTime == nil {
		return until, false
	}
	until = c.ScheduledStartTime.Add(-s.cfg.ScheduleLead)
	return until, until.After(now)
}

// insert calls store to insert a new monitor, and starts its worker. If store returns the
// record of an earlier registration, insert returns that record and starts no worker.
func (s *Service) insert(ctx context.Context, m monitor.Monitor, store func(context.Context) (*IdempotencyRecord, error)) (first *IdempotencyRecord, err error) {
	if err := s.checkPolicies(ctx, m); err != nil {
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

// checkPolicies refuses a draft whose scheduled end has passed, or whose webhooks may
// not go to its callback URL. A repeated registration is not checked again.
func (s *Service) checkPolicies(ctx context.Context, m monitor.Monitor) error {
	return monitor.Join(checkExpiry(m.Config, m.CreatedAt), s.callbacks.Check(ctx, m.CallbackURL))
}

// checkExpiry refuses a scheduled end that has passed with its tolerance.
func checkExpiry(c monitor.Config, now time.Time) error {
	if at := expiry(c); at != nil && !at.After(now) {
		return monitor.Errorf(monitor.InvalidConfig, "config.scheduled_end_time is %s, which has passed; "+
			"accepted is a future time, or none", c.ScheduledEndTime.Format(time.RFC3339))
	}
	return nil
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
	// This is repeated for an ended monitor: the gateway may have died after the monitor
	// ended and before it stopped the worker.
	s.workers.Stop(id)
	if active {
		s.log.Info("monitor stopped", "monitor_id", string(id), "status", string(m.Status))
	}
	return m, nil
}

// isRefusal reports whether err is about a wrong request, and not about a failed check.
func isRefusal(err error) bool {
	coded, is := errors.AsType[*monitor.Error](err)
	return is && coded.Code != monitor.Internal
}
