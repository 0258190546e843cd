package monitors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Request is a registration (section 3.1).
type Request struct {
	StreamURL   string
	CallbackURL *string         // empty: routes alone tell somebody; nil: it is missing
	Config      monitor.Config  // start from monitor.DefaultConfig
	Metadata    json.RawMessage // a JSON object of at most monitor.MaxMetadata bytes; empty: {}
	Labels      monitor.Labels
	Headers     map[string]*string
	TokenURL    *string // as of monitor.StreamSecret.SetTokenURL; nil: left out
	ChannelID   string  // of the channel that registers it; empty: a person does
	Owner       string  // of the file that keeps it, as checked; empty: none

	// Update is what the request changes of a batch's stream that is watched already; nil: that is refused.
	Update *Change

	// Unreadable has a *monitor.Error for each field that could not be decoded, or one without a
	// field for the whole. The refusal names them together with all other wrong fields.
	Unreadable []error
}

func (r Request) readable(field string) bool {
	return !slices.ContainsFunc(r.Unreadable, func(err error) bool { return monitor.FieldOf(err) == field })
}

// claimTerm is how long only the registering gateway may start a new monitor's worker. The
// monitor is a reservation meanwhile. Afterwards it is due like any other reservation, and
// the leader promotes it. So a monitor gets its worker even if the registering gateway
// dies, or does not learn that the insertion succeeded.
const claimTerm = 10 * time.Second

// admission decides whether a registration is accepted. Registrations, batches and previews
// ask it, so that all of them refuse the same in the same words.
type admission struct {
	reader       AdmissionReader
	callbacks    CallbackPolicy
	jars         CookieJars // nil: there are none
	newUUID      func() [16]byte
	maxMonitors  int
	scheduleLead time.Duration
	now          func() time.Time
}

// read returns the monitor of a request, not stored yet, and an error for each wrong field
// (decision A3). It asks neither the time nor the network, so that a repeated request gets its
// first answer. Times are in whole milliseconds, as in the answers (decision A11).
func (a *admission) read(r Request) (m monitor.Monitor, wrong []error) {
	stream, streamErr := monitor.ParseStreamURL(r.StreamURL)
	callback, callbackErr := readCallback(r.CallbackURL)
	metadata, metadataErr := monitor.CheckMetadata(r.Metadata)
	checked := append([]error{streamErr, callbackErr, metadataErr}, r.Config.Check()...)
	wrong = monitor.NamedOnce(r.Unreadable, append(checked, r.Labels.Check("labels")...))
	now := a.now().Truncate(time.Millisecond)
	m = monitor.Monitor{
		ID:           monitor.NewID(a.newUUID()),
		StreamURL:    stream,
		StreamSecret: monitor.StreamSecret{Query: monitor.SecretQueryOf(r.StreamURL)},
		CallbackURL:  callback,
		Config:       r.Config,
		Metadata:     metadata,
		Labels:       r.Labels,
		Status:       monitor.Initializing,
		StreamStatus: monitor.StreamUnknown,
		Health:       monitor.Health{Video: monitor.Unknown, Audio: monitor.Unknown},
		Generation:   1,
		ChannelID:    r.ChannelID,
		Owner:        r.Owner,
		CreatedAt:    now,
		UpdatedAt:    now,

		ReservedUntil: now.Add(claimTerm),
	}
	wrong = append(wrong, setCredentials(&m, r.Headers, r.TokenURL)...)
	if monitor.SourceOf(stream).AudioOnly {
		m.Health.Video = monitor.NoTrack
	}
	if until, reserved := reservedUntil(r.Config, a.scheduleLead, now); reserved {
		m.Status, m.StreamStatus, m.ReservedUntil = monitor.Waiting, monitor.StreamUpcoming, until
	}
	return m, wrong
}

// readCallback reads a callback, which may be empty but not missing. Errors: those of monitor.ParseCallbackURL.
func readCallback(given *string) (monitor.CallbackURL, error) {
	switch {
	case given == nil:
		return monitor.ParseCallbackURL("")
	case *given == "":
		return "", nil
	}
	return monitor.ParseCallbackURL(*given)
}

// checkCallback refuses a callback that may not be called, and none if nobody would be told of the monitor. Errors:
// *monitor.Error; the policy or the routes could not be asked.
func (a *admission) checkCallback(ctx context.Context, m monitor.Monitor) error {
	if m.CallbackURL != "" {
		return monitor.OfField("callback_url", a.callbacks.Check(ctx, m.CallbackURL))
	}
	routing, err := a.reader.Routing(ctx)
	if err != nil {
		return fmt.Errorf("read who is told of a monitor: %w", err)
	}
	if !routing.TellsOf(m.ID, m.Labels, m.Metadata) {
		return monitor.OfField("callback_url", monitor.Errorf(monitor.NobodyTold,
			"callback_url is null, and no route leads alerts of this stream to anybody: give a callback_url, or first add a destination to a route that matches it"))
	}
	return nil
}

// setCredentials sets what requests for the stream of a monitor carry beside its query; nil leaves it as it is. Config then
// says what there is. Errors: the fields that are refused.
func setCredentials(m *monitor.Monitor, headers map[string]*string, tokenURL *string) (refused []error) {
	source := monitor.SourceOf(m.StreamURL)
	if headers != nil {
		refused = m.StreamSecret.SetHeaders(headers, source)
	}
	if tokenURL != nil {
		refused = append(refused, m.StreamSecret.SetTokenURL(*tokenURL, source))
	}
	refused = append(refused, m.StreamSecret.SetCopyQuery(m.Config.CopyQuery, source))
	refused = slices.DeleteFunc(refused, func(err error) bool { return err == nil })
	m.Config.HeaderNames, m.Config.HasTokenURL = m.StreamSecret.HeaderNames(), m.StreamSecret.TokenURL != ""
	return refused
}

// checkJar refuses a cookie jar that the monitor's stream cannot use. Errors: *monitor.Error; the store's.
func (a *admission) checkJar(ctx context.Context, m monitor.Monitor) error {
	if a.jars == nil || m.Config.CookieJar == "" {
		return nil
	}
	return a.jars.Check(ctx, m.Config.CookieJar, m.StreamURL)
}

// refusedNow returns why a monitor is refused at this time. Its scheduled end may have passed, its cookie jar may be missing,
// its callback URL may be forbidden, or nobody would be told of it. refused has the fields that are wrong already. Errors:
// the policy, the routes or the jar could not be asked.
func (a *admission) refusedNow(ctx context.Context, m monitor.Monitor, refused []error) (wrong []error, err error) {
	if err := checkExpiry(m.Config, a.now()); err != nil {
		wrong = append(wrong, err)
	}
	switch err := a.checkJar(ctx, m); {
	case isRefusal(err):
		wrong = append(wrong, err)
	case err != nil:
		return wrong, err
	}
	if !monitor.CallbackKnown(m.CallbackURL, refused) {
		return wrong, nil
	}
	err = a.checkCallback(ctx, m)
	if isRefusal(err) {
		return append(wrong, err), nil
	}
	return wrong, err
}

// refusal returns one error that names every wrong field, or nil. If the policy cannot check, it
// names the other wrong fields only.
func (a *admission) refusal(ctx context.Context, m monitor.Monitor, wrong []error) error {
	now, err := a.refusedNow(ctx, m, wrong)
	if len(wrong) == 0 && err != nil {
		return err
	}
	return monitor.Join(append(wrong, now...)...)
}

// room refuses a stream that is watched already, and one too many.
func (a *admission) room(stream monitor.StreamURL, watched map[monitor.StreamURL]monitor.ID, active int) error {
	if same, duplicate := watched[stream]; duplicate {
		return monitor.OfField("stream_url", monitor.DuplicateOf(stream, same))
	}
	if active >= a.maxMonitors {
		return monitor.TooMany(active, a.maxMonitors)
	}
	return nil
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

// expiry returns when a stream that has not started is given up (decision A10); nil: never.
func expiry(c monitor.Config) *time.Time {
	if c.ScheduledEndTime == nil {
		return nil
	}
	return new(c.ScheduledEndTime.Add(time.Duration(c.StartDelayToleranceSec) * time.Second))
}

// checkExpiry refuses a scheduled end that has passed with its tolerance.
func checkExpiry(c monitor.Config, now time.Time) error {
	if at := expiry(c); at != nil && !at.After(now) {
		return monitor.FieldErrorf("config.scheduled_end_time", "is %s, which has passed; accepted is a future time, or none", c.ScheduledEndTime.Format(time.RFC3339))
	}
	return nil
}

// isRefusal reports whether err is about a wrong request, and not about a failed check.
func isRefusal(err error) bool {
	coded, is := errors.AsType[*monitor.Error](err)
	return is && coded.Code != monitor.Internal
}
