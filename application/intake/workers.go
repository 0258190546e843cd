package intake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of one report.
const (
	MaxReportEvents  = 1000
	MaxReportSignals = 1000      // the gateway ignores those beyond
	MaxSnapshot      = 256 << 10 // bytes
	MaxLastError     = 4 << 10   // bytes
)

// storeTimeout is how long the store may take for one report.
const storeTimeout = 10 * time.Second

// ReportStore stores the reports of workers. Each method blocks for one exchange with the
// store and may be called concurrently, by several gateways.
type ReportStore interface {
	// Get reads a monitor. Errors: *monitor.Error NotFound.
	Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error)

	// References reads the references of a monitor and those of its channel, each in the order of their upload.
	References(ctx context.Context, id monitor.ID) (own, ofChannel []detector.Reference, err error)

	// Accept stores a whole report in one transaction. It stores the events as pending
	// webhooks, in order, and skips those that are already stored. It stores the state if
	// the stored status may change to the reported one. Statistics and the time of the
	// last check never decrease; a zero time, a nil visibility and an empty snapshot keep
	// the stored value. It answers Stop if the monitor has ended, by this report or before,
	// and the monitor's revision. Errors: *monitor.Error NotFound; monitor.ErrSuperseded when
	// the report's generation is not the newest. After an error nothing is stored.
	Accept(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Answer, error)
}

// CookieJars lends cookie jars to workers; cookiejars.Service is one. Its methods block for one exchange with a store
// and may be called concurrently.
type CookieJars interface {
	// Jar returns the jar with a name; nil without a name.
	Jar(ctx context.Context, name string) (*cookie.Jar, error)

	// Return stores what a question about a stream of a source has learned of a jar, and returns the newest version.
	Return(ctx context.Context, source monitor.SourceName, u cookie.Use) (cookie.Jar, error)
}

// LeaseRenewer learns which workers are alive; supervisor.Supervisor is one.
type LeaseRenewer interface {
	// RenewLease records that a worker of this generation has reported. It is called
	// before the report is stored: workers must not look lost while the store fails.
	// It returns at once.
	RenewLease(id monitor.ID, generation int)
}

// WorkerService answers workers. It may be used concurrently.
type WorkerService struct {
	store  ReportStore
	jars   CookieJars
	leases LeaseRenewer
	now    func() time.Time
	log    *slog.Logger
}

// NewWorkerService makes a WorkerService. A nil now is time.Now, a nil log slog.Default.
func NewWorkerService(store ReportStore, jars CookieJars, leases LeaseRenewer, now func() time.Time, log *slog.Logger) *WorkerService {
	if now == nil {
		now = time.Now
	}
	if log == nil {
		log = slog.Default()
	}
	return &WorkerService{store, jars, leases, now, log.With("component", "intake")}
}

// Assignment returns the assignment of a worker (decision O1). Errors: monitor.ErrSuperseded
// when the generation is not the newest; *monitor.Error NotFound when the monitor does not
// exist or has ended. The worker then exits with status 0.
func (s *WorkerService) Assignment(ctx context.Context, id monitor.ID, generation int) (monitor.Assignment, error) {
	m, err := s.assigned(ctx, id, generation)
	if err != nil {
		return monitor.Assignment{}, fmt.Errorf("assign a monitor: %w", err)
	}
	if m.SecretLost {
		return monitor.Assignment{}, fmt.Errorf("assign %s: no key of SECRETS_KEY decrypts the secret of its stream", id)
	}
	own, ofChannel, err := s.store.References(ctx, id) // after the revision: a change between the two is assigned again
	if err != nil {
		return monitor.Assignment{}, fmt.Errorf("assign a monitor: %w", err)
	}
	var jar *cookie.Jar
	if m.Config.CookieJar != "" {
		if jar, err = s.jars.Jar(ctx, m.Config.CookieJar); err != nil {
			return monitor.Assignment{}, fmt.Errorf("assign a monitor: %w", err)
		}
	}
	return monitor.Assignment{
		ID:         m.ID,
		Generation: m.Generation,
		Revision:   m.Revision,
		StreamURL:  m.StreamURL,
		Config:     m.Config,

		PausedUntil: m.Pause.Until,

		Snapshot:   m.Snapshot,
		References: detector.JoinReferences(own, ofChannel),
		Cookies:    jar,
		Secret:     m.StreamSecret,
	}, nil
}

// assigned returns the active monitor of a worker. Errors: those of Assignment.
func (s *WorkerService) assigned(ctx context.Context, id monitor.ID, generation int) (monitor.Monitor, error) {
	m, err := s.store.Get(ctx, id)
	switch {
	case err != nil:
		return m, err
	case !m.Status.Active():
		return m, monitor.Errorf(monitor.NotFound, "monitor %s has ended (%s): there is nothing to watch", id, m.Status)
	case generation != m.Generation:
		return m, fmt.Errorf("generation %d is not the newest, which is %d: %w", generation, m.Generation, monitor.ErrSuperseded)
	}
	return m, nil
}

// ReturnCookies stores what a question of a worker has learned of the cookie jar of its monitor, and returns the newest
// version of the jar. Errors: those of Assignment; *monitor.Error InvalidConfig for another jar.
func (s *WorkerService) ReturnCookies(ctx context.Context, id monitor.ID, generation int, u cookie.Use) (cookie.Jar, error) {
	m, err := s.assigned(ctx, id, generation)
	if err != nil {
		return cookie.Jar{}, fmt.Errorf("return cookies: %w", err)
	}
	if u.Name == "" || u.Name != m.Config.CookieJar {
		return cookie.Jar{}, monitor.Errorf(monitor.InvalidConfig, "name is not that of the monitor's cookie jar, which was changed meanwhile")
	}
	return s.jars.Return(ctx, m.StreamURL.Source(), u)
}

// Report stores the report of a worker and returns the answer to it. A field that the
// report leaves out keeps its stored value (section 8.6). Left out are an empty status or
// condition, a zero time, a nil visibility and an empty snapshot.
// Errors: *monitor.Error InvalidConfig, NotFound; monitor.ErrSuperseded.
func (s *WorkerService) Report(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Answer, error) {
	if err := checkReport(r); err != nil {
		return monitor.Answer{}, err
	}
	s.leases.RenewLease(id, r.Generation)
	if r.At.IsZero() {
		r.At = s.now()
	}
	if incomplete(r) {
		m, err := s.store.Get(ctx, id)
		if err != nil {
			return monitor.Answer{}, fmt.Errorf("complete a report: %w", err)
		}
		r = complete(r, m)
	}
	if r.Visibility != nil {
		v := *r.Visibility
		v.LastError = singleLine(v.LastError)
		r.Visibility = &v
	}
	r.Snapshot = monitor.SanitizeJSON(r.Snapshot)
	events, err := sanitizeEvents(r.Events)
	if err != nil {
		return monitor.Answer{}, err
	}
	r.Events = events
	r.Health.Conditions, r.Health.Renditions = monitor.KnownStates(r.Health.Conditions), monitor.KnownRenditions(r.Health.Renditions)
	r.Signals = s.knownSignals(id, r.Signals)
	r.Minutes = s.acceptableMinutes(id, r.Minutes)

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	answer, err := s.store.Accept(ctx, id, r)
	if err != nil {
		// The error of a database driver may not mention that the deadline has passed.
		return monitor.Answer{}, fmt.Errorf("accept a report: %w", errors.Join(err, ctx.Err()))
	}
	return answer, nil
}

// incomplete reports whether r leaves out fields that only the stored monitor has. Before
// its first analysed segment, a worker has no time of the last check. Such a report counts
// as complete. So does one without a snapshot, as most are: the store keeps the stored one.
func incomplete(r monitor.Report) bool {
	return r.Status == "" || r.StreamStatus == "" || r.Health.Video == "" || r.Health.Audio == "" ||
		r.Health.LastCheckAt.IsZero() && r.Statistics.TotalSegmentsAnalyzed > 0
}

// complete returns r with missing fields copied from the stored monitor m.
func complete(r monitor.Report, m monitor.Monitor) monitor.Report {
	if !r.Health.Reported() {
		r.Health.Conditions, r.Health.Renditions = m.Health.Conditions, m.Health.Renditions
	}
	if r.Status == "" {
		r.Status = m.Status
	}
	if r.StreamStatus == "" {
		r.StreamStatus = m.StreamStatus
	}
	if r.Health.Video == "" {
		r.Health.Video = m.Health.Video
	}
	if r.Health.Audio == "" {
		r.Health.Audio = m.Health.Audio
	}
	if r.Health.LastCheckAt.IsZero() {
		r.Health.LastCheckAt = m.Health.LastCheckAt
		if r.Statistics.TotalSegmentsAnalyzed > m.Statistics.TotalSegmentsAnalyzed {
			r.Health.LastCheckAt = r.At // something was analysed since
		}
	}
	return r
}

// knownSignals returns the signals that this release knows. The others are left out: a
// wrong signal must not cause a report to be refused, with its alerts.
func (s *WorkerService) knownSignals(id monitor.ID, signals []monitor.Signal) (known []monitor.Signal) {
	for n, signal := range signals {
		err := signal.Valid()
		if n >= MaxReportSignals {
			err = monitor.Errorf(monitor.InvalidConfig, "the report has more than %d signals", MaxReportSignals)
		}
		if err != nil {
			s.log.Warn("a signal of a worker is left out, its incident may stay open until the monitor ends", "monitor_id", string(id), "error", err.Error())
			continue
		}
		known = append(known, signal)
	}
	return known
}

// acceptableMinutes returns the minutes that can be stored. The timestamps of a hostile
// stream may claim minutes of the future, which no retention would delete.
func (s *WorkerService) acceptableMinutes(id monitor.ID, minutes []monitor.Minute) (accepted []monitor.Minute) {
	var refused error
	for n, m := range minutes {
		err := history.Acceptable(m, s.now())
		if n >= history.MaxReported {
			err = fmt.Errorf("the report has more than %d minutes", history.MaxReported)
		}
		if err != nil {
			refused = err
			continue
		}
		accepted = append(accepted, m)
	}
	if refused != nil {
		s.log.Warn("luma and level of a worker are left out, its report is stored: check the clocks of worker and gateway", "monitor_id", string(id),
			"minutes", len(minutes)-len(accepted), "error", refused.Error())
	}
	return accepted
}

// sanitizeEvents returns events without invalid escapes. Event texts may come from tools
// and servers. The gateway must not refuse an event because its text contains a NUL.
func sanitizeEvents(events []event.Event) ([]event.Event, error) {
	events = slices.Clone(events)
	for i := range events {
		events[i].ID = strings.ToLower(events[i].ID)
		raw, err := json.Marshal(events[i])
		if err != nil {
			return nil, monitor.Errorf(monitor.InvalidConfig, "events[%d]: %v", i, err)
		}
		clean := monitor.SanitizeJSON(raw)
		if bytes.Equal(clean, raw) {
			continue
		}
		if err := json.Unmarshal(clean, &events[i]); err != nil {
			return nil, fmt.Errorf("sanitize event %d: %w", i, err)
		}
	}
	return events, nil
}

// singleLine returns a tool's or server's text as one line. It replaces NUL and invalid
// UTF-8 with U+FFFD, and each run of white space with one space.
func singleLine(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
	return strings.Join(strings.Fields(text), " ")
}
