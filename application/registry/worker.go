package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

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

// WorkerService answers workers. It may be used concurrently.
type WorkerService struct {
	store   ReportStore
	workers WorkerManager
	now     func() time.Time
	log     *slog.Logger
}

// Assign returns the assignment of a worker (decision O1). Errors: monitor.ErrSuperseded
// when the generation is not the newest; *monitor.Error NotFound when the monitor does not
// exist or has ended. The worker then exits with status 0.
func (s *WorkerService) Assign(ctx context.Context, id monitor.ID, generation int) (monitor.Assignment, error) {
	m, err := s.store.Get(ctx, id)
	if err != nil {
		return monitor.Assignment{}, fmt.Errorf("assign a monitor: %w", err)
	}
	if !m.Status.Active() {
		return monitor.Assignment{}, monitor.Errorf(monitor.NotFound, "monitor %s has ended (%s): there is nothing to watch", id, m.Status)
	}
	if generation != m.Generation {
		return monitor.Assignment{}, fmt.Errorf("generation %d is not the newest, which is %d: %w", generation, m.Generation, monitor.ErrSuperseded)
	}
	return monitor.Assignment{
		ID:         m.ID,
		Generation: m.Generation,
		Revision:   m.Revision,
		StreamURL:  m.StreamURL,
		Config:     m.Config,
		Snapshot:   m.Snapshot,
	}, nil
}

// Report stores the report of a worker and returns the answer to it. A field that the
// report leaves out keeps its stored value (section 8.6). Left out are an empty status or
// condition, a zero time, a nil visibility and an empty snapshot.
// Errors: *monitor.Error InvalidConfig, NotFound; monitor.ErrSuperseded.
func (s *WorkerService) Report(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Answer, error) {
	if err := checkReport(r); err != nil {
		return monitor.Answer{}, err
	}
	s.workers.RenewLease(id, r.Generation)
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
	r.Snapshot = sanitizeJSON(r.Snapshot)
	events, err := sanitizeEvents(r.Events)
	if err != nil {
		return monitor.Answer{}, err
	}
	r.Events = events
	r.Signals = s.knownSignals(id, r.Signals)
	r.Minutes = s.acceptableMinutes(id, r.Minutes)

	var answer monitor.Answer
	err = settle(ctx, "accept a report", func(ctx context.Context) (err error) {
		answer, err = s.store.Accept(ctx, id, r)
		return err
	})
	return answer, err
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
		if invalidEscape(raw) < 0 {
			continue
		}
		if err := json.Unmarshal(sanitizeJSON(raw), &events[i]); err != nil {
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
