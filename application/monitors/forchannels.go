package monitors

import (
	"context"
	"errors"
	"fmt"

	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Recorder keeps the audit list (section 12.4). Record stores that by does something, does it, and stores what it concerned. If do
// fails, nothing of it stays.
type Recorder interface {
	Record(ctx context.Context, by, action string, do func(context.Context) (object string, err error)) error
}

// ForChannels registers, changes and stops the monitors of channels, by the rules for callers. It may be used concurrently.
type ForChannels struct {
	services *Services
	audit    Recorder
}

// NewForChannels makes a ForChannels.
func NewForChannels(s *Services, audit Recorder) *ForChannels { return &ForChannels{s, audit} }

// by is how the audit list names a channel.
func by(id string) string { return "channel " + id }

// RegisterStream registers a stream for a channel as Registrar.Register does. An active monitor that watches the stream
// already is given to the channel. adopted says that somebody else had registered it. Errors: those of Register.
func (fc *ForChannels) RegisterStream(ctx context.Context, r channel.Registration) (m monitor.Monitor, adopted bool, err error) {
	reg := fc.services.Registrar
	watched, active, err := reg.store.ActiveStreams(ctx, []monitor.StreamURL{r.StreamURL})
	if err != nil {
		return m, false, fmt.Errorf("read what is watched: %w", err)
	}
	if id, is := watched[r.StreamURL]; is {
		err = fc.audit.Record(ctx, by(r.ChannelID), "monitor.adopt", func(ctx context.Context) (string, error) {
			return string(id), settle(ctx, "adopt a monitor", func(ctx context.Context) (err error) {
				m, adopted, err = reg.store.Adopt(ctx, id, r.ChannelID)
				return err
			})
		})
		return m, adopted, err
	}
	if err := reg.room(r.StreamURL, watched, active); err != nil {
		return m, false, err // it is asked often, and nothing of it belongs in the audit list
	}
	err = fc.audit.Record(ctx, by(r.ChannelID), "monitor.register", func(ctx context.Context) (string, error) {
		m, err = reg.Register(ctx, Request{
			StreamURL: string(r.StreamURL), CallbackURL: new(string(r.CallbackURL)), Config: r.Config, Metadata: r.Metadata, Labels: r.Labels, ChannelID: r.ChannelID,
		})
		return string(m.ID), err
	})
	return m, false, err
}

// CheckCallback refuses a callback of the streams of a channel as Register does.
func (fc *ForChannels) CheckCallback(ctx context.Context, t channel.Template) error {
	return fc.services.Registrar.checkCallback(ctx, monitor.Monitor{CallbackURL: t.CallbackURL, Labels: t.Labels, Metadata: t.Metadata})
}

// ChangeStream gives the monitor of a stream the title and the start that the source has moved it to, as Editor.ChangeMonitor
// does (section 16.6). A reservation whose stream has begun gets a worker. Values that a person has set stay.
func (fc *ForChannels) ChangeStream(ctx context.Context, c channel.Channel, f channel.Found) error {
	id := f.Monitor.ID
	m, err := fc.services.Monitors.Get(ctx, id)
	if err != nil {
		return fmt.Errorf("read a monitor: %w", err)
	}
	changes := channel.ChangesOf(f, m)
	change := Change{Metadata: changes.Metadata}
	change.Config.ScheduledStartTime.Given = changes.Start != nil
	if changes.Start != nil && !changes.Start.IsZero() {
		change.Config.ScheduledStartTime.To = changes.Start
	}
	if !m.Status.Active() || changes.Metadata == nil && changes.Start == nil {
		return nil
	}
	return unlessEnded(fc.audit.Record(ctx, by(c.ID), "monitor.change", func(ctx context.Context) (string, error) {
		_, err := fc.services.Editor.ChangeMonitor(ctx, id, change)
		return string(id), err
	}))
}

// StopStream stops a monitor of a channel.
func (fc *ForChannels) StopStream(ctx context.Context, c channel.Channel, id monitor.ID) error {
	return unlessEnded(fc.audit.Record(ctx, by(c.ID), "monitor.stop", func(ctx context.Context) (string, error) {
		_, err := fc.services.Editor.Stop(ctx, id)
		return string(id), err
	}))
}

// unlessEnded returns an error, unless it says that the monitor has ended or is there no longer.
func unlessEnded(err error) error {
	if refusal, is := errors.AsType[*monitor.Error](err); is && (refusal.Code == monitor.Ended || refusal.Code == monitor.NotFound) {
		return nil
	}
	return err
}
