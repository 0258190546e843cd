package monitors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Change changes an active monitor (section 16.6). A field that is left out stays as it
// is.
type Change struct {
	StreamURL   *string // the same stream, with another secret; nil: left out
	CallbackURL *string // empty: routes alone tell somebody; nil: left out
	Config      ConfigChange
	Metadata    json.RawMessage    // a JSON object, which replaces the old one; empty: left out
	Labels      map[string]*string // those to set; a nil value removes one, the others stay
	Owner       *string            // the file that keeps it; empty: none. nil: left out
	PausedUntil TimeChange         // the end of the pause (section 16.9)
	By          string             // who changes it; empty: unknown
	Unreadable  []error            // as in a Request

	// File says that the change is all that this file has of the monitor: what is left out gets its default, but for
	// secrets, which stay. The monitor is refused if it belongs to another owner. nil: no file makes the change.
	File *monitor.Owner
}

// ConfigChange changes a configuration. A field that is left out stays as it is.
type ConfigChange struct {
	Preset             *monitor.Preset                      // before all other fields; without a name: only the name is removed. nil: left out
	KeepSamePreset     bool                                 // a Preset that the configuration has already changes nothing
	Settings           map[string]float64                   // monitor.Settings by their fields
	Detectors          map[detector.Name]map[string]float64 // optional detectors with their settings by field, others default; nil: off
	ScheduledStartTime TimeChange
	ScheduledEndTime   TimeChange
	OnCallbackFailure  *monitor.CallbackFailure // nil: left out
	CookieJar          *string                  // a name; empty: none. nil: left out
	Headers            map[string]*string       // all header fields; a nil value stays as it is. nil: left out
	TokenURL           *string                  // as of monitor.StreamSecret.SetTokenURL. nil: left out
	CopyQuery          *bool                    // nil: left out
}

// Apply changes a configuration.
func (c ConfigChange) Apply(to *monitor.Config) {
	switch {
	case c.Preset == nil, c.KeepSamePreset && c.Preset.Name == to.Preset:
	case c.Preset.Name == "":
		to.Preset = ""
	default:
		c.Preset.Apply(to)
	}
	for name, settings := range c.Detectors {
		to.SwitchOff(name)
		if settings != nil {
			to.SwitchOn(name)
		}
		for field, v := range settings {
			to.Set(field, v)
		}
	}
	for field, v := range c.Settings {
		to.Set(field, v)
	}
	c.ScheduledStartTime.apply(&to.ScheduledStartTime)
	c.ScheduledEndTime.apply(&to.ScheduledEndTime)
	if c.OnCallbackFailure != nil {
		to.OnCallbackFailure = *c.OnCallbackFailure
	}
	if c.CookieJar != nil {
		to.CookieJar = *c.CookieJar
	}
	if c.Headers != nil {
		to.HeaderNames = strings.ToLower(strings.Join(slices.Sorted(maps.Keys(c.Headers)), ","))
	}
	if c.TokenURL != nil {
		to.HasTokenURL = *c.TokenURL != ""
	}
	if c.CopyQuery != nil {
		to.CopyQuery = *c.CopyQuery
	}
}

// TimeChange changes a time that a monitor need not have.
type TimeChange struct {
	Given bool       // false: left out
	To    *time.Time // nil: none
}

func (c TimeChange) apply(t **time.Time) {
	if c.Given {
		*t = c.To
	}
}

// ErrRevisionConflict refuses an update of a monitor that has been changed since it was
// read.
var ErrRevisionConflict = errors.New("the monitor has been changed meanwhile")

// Editor changes and stops active monitors. It may be used concurrently.
type Editor struct {
	admission

	store   SettingsStore
	workers WorkerManager
	log     *slog.Logger
}

// ChangeMonitor changes an active monitor and returns it (section 16.6). It applies the
// rules of a registration. Its worker adopts the change with the answer to its next
// report. A change that is repeated, or changes nothing, stores nothing. Errors:
// *monitor.Error NotFound, Ended, InvalidURL, InvalidConfig.
func (ed *Editor) ChangeMonitor(ctx context.Context, id monitor.ID, c Change) (changed monitor.Monitor, err error) {
	return ed.change(ctx, id, c, func(before, after monitor.Monitor) (bool, error) {
		same, err := sameSettings(before, after)
		return same && before.Pause.Until.Equal(after.Pause.Until), err
	})
}

// update is ChangeMonitor for a batch: what means the same is no change. With dryRun nothing is stored.
func (ed *Editor) update(ctx context.Context, id monitor.ID, c Change, dryRun bool) (r BatchResult) {
	r.Watched = true
	r.Monitor, r.Err = ed.change(ctx, id, c, func(before, after monitor.Monitor) (keep bool, err error) {
		r.Changed = monitor.Differences(before, after)
		return dryRun || len(r.Changed) == 0, nil
	})
	r.Monitor.ID = id
	return r
}

// change changes a monitor, unless keep decides that what is stored stays.
func (ed *Editor) change(ctx context.Context, id monitor.ID, c Change, keep func(before, after monitor.Monitor) (bool, error)) (changed monitor.Monitor, err error) {
	for {
		m, err := ed.store.Get(ctx, id)
		if err != nil {
			return monitor.Monitor{}, fmt.Errorf("read a monitor: %w", err)
		}
		draft, err := ed.draft(ctx, m, c)
		if err != nil {
			return monitor.Monitor{}, err
		}
		kept, err := keep(m, draft)
		if err != nil || kept {
			return m, err
		}
		err = settle(ctx, "change a monitor", func(ctx context.Context) (err error) {
			changed, err = ed.store.UpdateSettings(ctx, draft, ed.movedPromotion(m, draft))
			return err
		})
		switch {
		case errors.Is(err, ErrRevisionConflict) && ctx.Err() == nil:
			continue // another change came first: apply this one to its result
		case err != nil:
			return monitor.Monitor{}, err
		}
		ed.log.Info("monitor changed", "monitor_id", string(id), "revision", changed.Revision)
		return changed, nil
	}
}

// Stop ends a monitor and asks for its worker to be ended. A monitor that has
// ended is returned as it is (decision A6), and nothing is logged. Errors:
// *monitor.Error NotFound.
func (ed *Editor) Stop(ctx context.Context, id monitor.ID) (monitor.Monitor, error) {
	now := ed.now()
	var m monitor.Monitor
	active := false
	err := settle(ctx, "stop a monitor", func(ctx context.Context) (err error) {
		if m, err = ed.store.Get(ctx, id); err != nil || !m.Status.Active() {
			return err
		}
		active = true
		m, err = ed.store.End(ctx, id, monitor.Stopped, "", nil, now)
		return err
	})
	if err != nil {
		return monitor.Monitor{}, err
	}
	// This is repeated for an ended monitor: the gateway may have died after the monitor
	// ended and before it stopped the worker.
	ed.workers.Stop(id)
	if active {
		ed.log.Info("monitor stopped", "monitor_id", string(id), "status", string(m.Status))
	}
	return m, nil
}

// Release stops a monitor as Stop does, and then takes its owner away: the file may register the stream anew. A repetition does what
// is left. Errors: those of Stop.
func (ed *Editor) Release(ctx context.Context, id monitor.ID) (monitor.Monitor, error) {
	m, err := ed.Stop(ctx, id)
	if err != nil {
		return m, err
	}
	return m, settle(ctx, "release a monitor", func(ctx context.Context) error { return ed.store.RemoveOwner(ctx, id) })
}

// draft returns an active monitor with the change applied. Its error names every wrong
// field (decision A3). The policies judge only what the change changes, so that a repeated
// change is not refused because time has passed or a name server fails.
func (ed *Editor) draft(ctx context.Context, m monitor.Monitor, c Change) (monitor.Monitor, error) {
	if !m.Status.Active() {
		return m, monitor.EndedAlready(m.ID, m.Status)
	}
	draft := m
	if c.File != nil {
		if err := c.File.Check(m.Owner, "monitor "+string(m.ID)); err != nil {
			return m, err
		}
		draft.Config, draft.Labels, draft.Metadata = monitor.DefaultConfig(), nil, json.RawMessage(`{}`)
		draft.Config.HeaderNames, draft.Config.HasTokenURL = m.Config.HeaderNames, m.Config.HasTokenURL
	}
	c.Config.Apply(&draft.Config)
	refused := draft.Config.Check()
	if c.File != nil {
		draft.Owner = c.File.Name
	} else if c.Owner != nil {
		draft.Owner, refused = *c.Owner, append(refused, monitor.CheckLine("owner", *c.Owner, 0, monitor.MaxOwner))
	}
	if !sameTime(expiry(draft.Config), expiry(m.Config)) {
		refused = append(refused, checkExpiry(draft.Config, ed.now()))
	}
	if until := c.PausedUntil.To; until != nil && !until.Equal(m.Pause.Until) {
		draft.Pause = monitor.Pause{Until: *until, By: c.By}
		refused = append(refused, monitor.CheckPause(*until, ed.now()))
	} else if c.PausedUntil.Given && until == nil {
		draft.Pause = monitor.Pause{}
	}
	refused = append(refused, changeSecret(&draft, c)...)
	if c.Metadata != nil {
		metadata, err := monitor.CheckMetadata(c.Metadata)
		draft.Metadata, refused = metadata, append(refused, err)
	}
	draft.Labels = draft.Labels.With(c.Labels)
	refused = append(refused, draft.Labels.Check("labels")...)
	var policyErr error
	if draft.Config.CookieJar != m.Config.CookieJar {
		err := ed.checkJar(ctx, draft)
		if err != nil && !isRefusal(err) {
			return draft, err
		}
		refused = append(refused, err)
	}
	if c.CallbackURL != nil {
		callback, err := readCallback(c.CallbackURL)
		draft.CallbackURL, refused = callback, append(refused, err)
		if err == nil && callback != m.CallbackURL {
			policyErr = ed.checkCallback(ctx, draft)
		}
	}
	err := monitor.Join(monitor.NamedOnce(c.Unreadable, refused)...)
	if err == nil || isRefusal(policyErr) {
		err = monitor.Join(err, policyErr)
	}
	return draft, err
}

// changeSecret changes what requests for the stream carry. Errors: the fields that are refused.
func changeSecret(m *monitor.Monitor, c Change) (refused []error) {
	if m.SecretLost {
		for _, given := range []struct {
			field string
			is    bool
		}{
			{"config.http_headers", c.Config.Headers != nil},
			{"config.token_url", c.Config.TokenURL != nil},
			{"config.copy_query", c.Config.CopyQuery != nil},
			{"stream_url", c.StreamURL != nil && monitor.SecretQueryOf(*c.StreamURL) != ""},
		} {
			if given.is {
				return []error{monitor.FieldErrorf(given.field, "cannot be changed, because the stored secret of the stream cannot be decrypted: add its key to SECRETS_KEY, or register the stream again")}
			}
		}
	}
	if c.StreamURL != nil {
		stream, err := monitor.ParseStreamURL(*c.StreamURL)
		query := monitor.SecretQueryOf(*c.StreamURL)
		switch {
		case err != nil:
			refused = append(refused, err)
		case stream != m.StreamURL:
			refused = append(refused, monitor.FieldErrorf("stream_url",
				"cannot be changed, because the events and statistics of a monitor belong to one stream; register the other stream"))
		case query != "": // without one, it is the URL as answers have it
			m.StreamSecret.Query = query
		}
	}
	if m.SecretLost {
		return refused
	}
	return append(refused, setCredentials(m, c.Config.Headers, c.Config.TokenURL)...)
}

// movedPromotion returns when a reservation is promoted after its scheduled start has
// changed, or zero if it has not. A start that is near or has been removed makes it due
// now.
func (ed *Editor) movedPromotion(before, after monitor.Monitor) time.Time {
	start := after.Config.ScheduledStartTime
	if before.Status != monitor.Waiting || before.ReservedUntil.IsZero() || sameTime(before.Config.ScheduledStartTime, start) {
		return time.Time{}
	}
	if until, reserved := reservedUntil(after.Config, ed.scheduleLead, ed.now()); reserved {
		return until
	}
	return ed.now()
}

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// sameSettings reports whether two states of a monitor have the same registration.
func sameSettings(a, b monitor.Monitor) (bool, error) {
	before, err := requestDigest(a)
	if err != nil {
		return false, err
	}
	after, err := requestDigest(b)
	if err != nil {
		return false, fmt.Errorf("compare a change: %w", err)
	}
	return before == after, nil
}
