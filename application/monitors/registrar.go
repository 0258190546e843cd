package monitors

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Registrar registers monitors and starts their workers. It may be used concurrently.
type Registrar struct {
	admission

	store   RegistrationStore
	workers WorkerManager
	editor  *Editor
	log     *slog.Logger
}

// Register stores a new monitor, starts its worker and returns without waiting for
// it. A monitor whose scheduled start is further away than Config.ScheduleLead is a
// reservation (decision A10) and gets no worker yet. Errors: *monitor.Error InvalidURL,
// InvalidConfig, Duplicate, MaxMonitorsExceeded.
func (reg *Registrar) Register(ctx context.Context, r Request) (monitor.Monitor, error) {
	m, wrong := reg.read(r)
	_, err := reg.insert(ctx, m, wrong, func(ctx context.Context) (*IdempotencyRecord, error) {
		return nil, reg.store.Insert(ctx, m, reg.maxMonitors)
	})
	if err != nil {
		return monitor.Monitor{}, err
	}
	return m, nil
}

// RegisterIdempotent registers a monitor for a caller that may repeat the request
// because it got no answer (decision A9). A repeat with the same key within
// IdempotencyRetention registers nothing and returns the first answer, even if that
// monitor has ended; replayed is then true. Refusals are not recorded.
// Errors: those of Register; ErrKeyReused if the key came with another request.
func (reg *Registrar) RegisterIdempotent(ctx context.Context, r Request, key Digest) (m monitor.Monitor, replayed bool, err error) {
	m, wrong := reg.read(r)
	request, err := requestDigest(m)
	if err != nil {
		return monitor.Monitor{}, false, err
	}
	var first *IdempotencyRecord
	if len(wrong) == 0 {
		// A repeat gets its first answer even if a new registration would now be
		// refused, for example because the DNS does not resolve the callback's host.
		if first, err = reg.store.FindIdempotent(ctx, key); err != nil {
			return monitor.Monitor{}, false, fmt.Errorf("look for an earlier registration with this key: %w", err)
		}
	}
	if first == nil {
		first, err = reg.insert(ctx, m, wrong, func(ctx context.Context) (*IdempotencyRecord, error) {
			return reg.store.InsertIdempotent(ctx, m, reg.maxMonitors, IdempotencyKey{Key: key, Request: request})
		})
	}
	switch {
	case err != nil:
		return monitor.Monitor{}, false, err
	case first == nil:
		return m, false, nil
	case first.Request != request:
		return monitor.Monitor{}, false, ErrKeyReused
	}
	reg.log.Info("registration repeated", "monitor_id", string(first.Monitor.ID))
	return first.Monitor, true, nil
}

// insert calls store to insert a new monitor that is not refused, and starts its worker. If store
// returns the record of an earlier registration, insert returns that record and starts no worker.
func (reg *Registrar) insert(ctx context.Context, m monitor.Monitor, wrong []error, store func(context.Context) (*IdempotencyRecord, error)) (first *IdempotencyRecord, err error) {
	if err := reg.refusal(ctx, m, wrong); err != nil {
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
