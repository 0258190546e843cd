package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of one report.
const (
	MaxReportEvents = 1000
	MaxSnapshot     = 256 << 10 // bytes
	MaxLastError    = 4 << 10   // bytes
)

// Assign returns the assignment of a worker (decision O1). Generation 0 means the
// newest. Errors: monitor.ErrSuperseded when the generation is not the newest;
// *monitor.Error NotFound when there is no such monitor or it has ended: the
// worker then exits with status 0.
func (s *Service) Assign(ctx context.Context, id monitor.ID, generation int) (monitor.Assignment, error) {
	m, err := s.store.Get(ctx, id)
	if err != nil {
		return monitor.Assignment{}, fmt.Errorf("assign a monitor: %w", err)
	}
	if !m.Status.Active() {
		return monitor.Assignment{}, monitor.Errorf(monitor.NotFound, "monitor %s has ended (%s): there is nothing to watch", id, m.Status)
	}
	if generation != 0 && generation != m.Generation {
		return monitor.Assignment{}, fmt.Errorf("generation %d asks, %d is the newest: %w", generation, m.Generation, monitor.ErrSuperseded)
	}
	return monitor.Assignment{
		ID:         m.ID,
		Generation: m.Generation,
		StreamURL:  m.StreamURL,
		Config:     m.Config,
		Snapshot:   m.Snapshot,
	}, nil
}

// Report stores the report of a worker and returns the order for it. A field that the
// report leaves out keeps its stored value (section 8.6). Left out are generation 0, an
// empty status or condition, a zero time, a nil visibility and an empty snapshot.
// Errors: *monitor.Error InvalidConfig, NotFound; monitor.ErrSuperseded.
func (s *Service) Report(ctx context.Context, id monitor.ID, r monitor.Report) (monitor.Order, error) {
	if err := checkReport(r); err != nil {
		return "", err
	}
	s.workers.RenewLease(id, r.Generation)
	if r.At.IsZero() {
		r.At = s.cfg.Now()
	}
	if incomplete(r) {
		m, err := s.store.Get(ctx, id)
		if err != nil {
			return "", fmt.Errorf("complete a report: %w", err)
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
		return "", err
	}
	r.Events = events

	var order monitor.Order
	err = settle(ctx, "accept a report", func(ctx context.Context) (err error) {
		order, err = s.store.Accept(ctx, id, r)
		return err
	})
	return order, err
}

// incomplete reports whether completing r needs the stored monitor. A worker that has
// analysed no segment yet has no time of a last check: its heartbeats are complete
// without one.
func incomplete(r monitor.Report) bool {
	return r.Generation == 0 || r.Status == "" || r.StreamStatus == "" || r.Health.Video == "" ||
		r.Health.Audio == "" || len(r.Snapshot) == 0 ||
		r.Health.LastCheckAt.IsZero() && r.Statistics.TotalSegmentsAnalyzed > 0
}

// complete fills the fields that r leaves out from the stored monitor.
func complete(r monitor.Report, m monitor.Monitor) monitor.Report {
	if r.Generation == 0 {
		r.Generation = m.Generation
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
	if len(r.Snapshot) == 0 {
		r.Snapshot = m.Snapshot
	}
	return r
}

// sanitizeEvents returns events without invalid escapes. Their texts come from
// tools and servers, and an event must not be lost for a NUL in its details.
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

// singleLine makes one line of text that a tool or a server wrote: NUL becomes
// the replacement character, all white space a single blank.
func singleLine(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
	return strings.Join(strings.Fields(text), " ")
}
