package registry

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
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
	Unreadable []monitor.FieldError
}

func (r Request) readable(field string) bool {
	return !slices.ContainsFunc(r.Unreadable, func(e monitor.FieldError) bool { return e.Field == field })
}

// claimTerm is how long only the registering gateway may start a new monitor's worker. The
// monitor is a reservation meanwhile. Afterwards it is due like any other reservation, and
// the leader promotes it. So a monitor gets its worker even if the registering gateway
// dies, or does not learn that the insertion succeeded.
const claimTerm = 10 * time.Second

// Registrar registers monitors and starts their workers. It may be used concurrently.
type Registrar struct {
	store        RegistrationStore
	workers      WorkerManager
	callbacks    CallbackPolicy
	newUUID      func() [16]byte
	maxMonitors  int
	scheduleLead time.Duration
	now          func() time.Time
	log          *slog.Logger
}

// Register stores a new monitor, starts its worker and returns without waiting for
// it. A monitor whose scheduled start is further away than Config.ScheduleLead is a
// reservation (decision A10) and gets no worker yet. Errors: *monitor.Error InvalidURL,
// InvalidConfig, Duplicate, MaxMonitorsExceeded.
func (reg *Registrar) Register(ctx context.Context, r Request) (monitor.Monitor, error) {
	m, err := reg.newMonitor(ctx, r)
	if err != nil {
		return monitor.Monitor{}, err
	}
	_, err = reg.insert(ctx, m, func(ctx context.Context) (*IdempotencyRecord, error) {
		return nil, reg.store.Insert(ctx, m, reg.maxMonitors)
	})
	if err != nil {
		return monitor.Monitor{}, err
	}
	return m, nil
}

// newMonitor returns the monitor for a request, not stored yet. Its error names every wrong
// field (decision A3). Times are in whole milliseconds, as in the answers (decision A11).
func (reg *Registrar) newMonitor(ctx context.Context, r Request) (monitor.Monitor, error) {
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
			if policyErr := reg.callbacks.Check(ctx, callback); isRefusal(policyErr) {
				err = monitor.Join(err, policyErr)
			}
		}
		return monitor.Monitor{}, err
	}
	now := reg.now().Truncate(time.Millisecond)
	m := monitor.Monitor{
		ID:           monitor.NewID(reg.newUUID()),
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
	if until, reserved := reservedUntil(r.Config, reg.scheduleLead, now); reserved {
		m.Status, m.StreamStatus, m.ReservedUntil = monitor.Waiting, monitor.StreamUpcoming, until
	}
	return m, nil
}

// reservedUntil returns when a monitor is promoted whose scheduled start is further away
// than lead. reserved is false for any other.
func reservedUntil(c monitor.Config, lead time.Duration, now time.Time) (until time.Time, reserved bool) {
	if c.ScheduledStartTime == nil {
		return until, false
	}
	until = c.ScheduledStartTime.Add(-lead)
	return until, until.After(now)
}

// insert calls store to insert a new monitor, and starts its worker. If store returns the
// record of an earlier registration, insert returns that record and starts no worker.
func (reg *Registrar) insert(ctx context.Context, m monitor.Monitor, store func(context.Context) (*IdempotencyRecord, error)) (first *IdempotencyRecord, err error) {
	if err := checkPolicies(ctx, reg.callbacks, m); err != nil {
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
		reg.log.Info("monitor reserved", "monitor_id", string(m.ID), "stream_url", string(m.StreamURL), "until", m.ReservedUntil)
		return nil, nil
	}
	reg.workers.Start(m)
	reg.log.Info("monitor registered", "monitor_id", string(m.ID), "stream_url", string(m.StreamURL))
	return nil, nil
}

// checkPolicies refuses a draft whose scheduled end has passed, or whose webhooks may
// not go to its callback URL. A repeated registration is not checked again.
func checkPolicies(ctx context.Context, callbacks CallbackPolicy, m monitor.Monitor) error {
	return monitor.Join(checkExpiry(m.Config, m.CreatedAt), callbacks.Check(ctx, m.CallbackURL))
}

// checkExpiry refuses a scheduled end that has passed with its tolerance.
func checkExpiry(c monitor.Config, now time.Time) error {
	if at := expiry(c); at != nil && !at.After(now) {
		return monitor.Errorf(monitor.InvalidConfig, "config.scheduled_end_time is %s, which has passed; "+
			"accepted is a future time, or none", c.ScheduledEndTime.Format(time.RFC3339))
	}
	return nil
}

// isRefusal reports whether err is about a wrong request, and not about a failed check.
func isRefusal(err error) bool {
	coded, is := errors.AsType[*monitor.Error](err)
	return is && coded.Code != monitor.Internal
}
