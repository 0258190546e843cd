package control

import (
	"context"
	"encoding/json"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Request is what a caller asks to have watched (section 3.1).
type Request struct {
	StreamURL   string
	CallbackURL string
	Config      monitor.Config  // start from monitor.DefaultConfig
	Metadata    json.RawMessage // a JSON object of at most monitor.MaxMetadata bytes; empty: {}
}

// Register stores a new monitor, asks for its worker and returns without
// waiting for it. Errors: *monitor.Error InvalidURL, InvalidConfig, Duplicate,
// MaxMonitorsExceeded.
func (s *Service) Register(ctx context.Context, r Request) (monitor.Monitor, error) {
	stream, err := monitor.ParseStreamURL(r.StreamURL)
	if err != nil {
		return monitor.Monitor{}, err
	}
	callback, err := monitor.ParseCallbackURL(r.CallbackURL)
	if err != nil {
		return monitor.Monitor{}, err
	}
	if err := r.Config.Valid(); err != nil {
		return monitor.Monitor{}, err
	}
	metadata, err := checkMetadata(r.Metadata)
	if err != nil {
		return monitor.Monitor{}, err
	}
	if err := s.callbacks.Check(ctx, callback); err != nil {
		return monitor.Monitor{}, err
	}

	now := s.cfg.Now()
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
	}
	err = settle(ctx, "register a monitor", func(ctx context.Context) error {
		return s.store.Insert(ctx, m, s.cfg.MaxMonitors)
	})
	if err != nil {
		return monitor.Monitor{}, err
	}
	s.crew.Start(m)
	s.log.Info("monitor registered", "monitor_id", string(m.ID), "stream_url", string(m.StreamURL))
	return m, nil
}

// Stop ends a monitor and asks for its worker to be ended. A monitor that has
// ended is returned as it is (decision A6). Errors: *monitor.Error NotFound.
func (s *Service) Stop(ctx context.Context, id monitor.ID) (monitor.Monitor, error) {
	now := s.cfg.Now()
	var m monitor.Monitor
	err := settle(ctx, "stop a monitor", func(ctx context.Context) (err error) {
		m, err = s.store.End(ctx, id, monitor.Stopped, "", nil, now)
		return err
	})
	if err != nil {
		return monitor.Monitor{}, err
	}
	// Also for one that had ended: a repeated request mends a lost order.
	s.crew.Stop(id)
	s.log.Info("monitor stopped", "monitor_id", string(id), "status", string(m.Status))
	return m, nil
}
