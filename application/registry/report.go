package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
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
// *monitor.Error NotFound when there is no such monitor or it has ended: there is
// nothing to watch, and the worker exits with status 0.
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

// Report stores the report of a worker and returns what the worker has to do. A
// field that the report leaves out stays as it is (section 8.6): generation 0, an
// empty status or condition, a zero time, no visibility, no snapshot. Errors: *monitor.Error InvalidConfig, NotFound;
// monitor.ErrSuperseded.
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

// incomplete reports whether completing r needs the stored monitor. A worker
// that has analysed nothing yet, as while it waits for a stream, has no time of
// a last check to send: its heartbeats are complete without one.
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

// checkReport validates a report. Errors: *monitor.Error InvalidConfig, which names
// the first wrong field.
func checkReport(r monitor.Report) error {
	if r.Generation < 0 || r.Generation > math.MaxInt32 {
		return monitor.Errorf(monitor.InvalidConfig, "generation is %d; accepted is 1 or more", r.Generation)
	}
	if r.Status != "" {
		if _, err := monitor.ParseStatus(string(r.Status)); err != nil {
			return err
		}
	}
	if err := oneOf("stream_status", r.StreamStatus, monitor.StreamUnknown, monitor.StreamUpcoming, monitor.StreamLive, monitor.StreamEnded); err != nil {
		return err
	}
	if err := oneOf("health.video", r.Health.Video, monitor.Conditions(detector.Video)...); err != nil {
		return err
	}
	if err := oneOf("health.audio", r.Health.Audio, monitor.Conditions(detector.Audio)...); err != nil {
		return err
	}
	var visibility monitor.Visibility
	if r.Visibility != nil {
		visibility = *r.Visibility
	}
	if n := len(visibility.LastError); n > MaxLastError {
		return monitor.Errorf(monitor.InvalidConfig, "visibility.last_error is %d bytes long; accepted is at most %d", n, MaxLastError)
	}
	for _, f := range []struct {
		name string
		t    time.Time
	}{
		{"at", r.At},
		{"health.last_check_at", r.Health.LastCheckAt},
		{"visibility.blind_since", visibility.BlindSince},
		{"visibility.last_observed_at", visibility.LastObservedAt},
	} {
		if f.t.IsZero() {
			continue
		}
		if err := monitor.ValidTime(f.name, f.t); err != nil {
			return err
		}
	}
	for field, n := range r.Statistics.Fields() {
		if n < 0 || n > math.MaxInt32 {
			return monitor.Errorf(monitor.InvalidConfig, "statistics.%s is %d; accepted is 0 to %d", field, n, math.MaxInt32)
		}
	}
	if len(r.Snapshot) > MaxSnapshot {
		return monitor.Errorf(monitor.InvalidConfig, "snapshot is %d bytes long; accepted is at most %d", len(r.Snapshot), MaxSnapshot)
	}
	if len(r.Snapshot) > 0 && !json.Valid(r.Snapshot) {
		return monitor.Errorf(monitor.InvalidConfig, "snapshot is not valid JSON")
	}
	if len(r.Events) > MaxReportEvents {
		return monitor.Errorf(monitor.InvalidConfig, "events has %d entries; accepted is at most %d", len(r.Events), MaxReportEvents)
	}
	for i, e := range r.Events {
		if err := e.Valid(); err != nil {
			return monitor.Errorf(monitor.InvalidConfig, "events[%d]: %v", i, err)
		}
		if err := monitor.ValidTime(fmt.Sprintf("events[%d].timestamp", i), e.At); err != nil {
			return err
		}
		if !uuidForm.MatchString(e.ID) {
			return monitor.Errorf(monitor.InvalidConfig, "events[%d].event_id is %.60q; accepted is a UUID", i, e.ID)
		}
	}
	return nil
}

func oneOf[S ~string](name string, value S, accepted ...S) error {
	if value == "" || slices.Contains(accepted, value) {
		return nil
	}
	return monitor.Errorf(monitor.InvalidConfig, "%s is %.40q; accepted is one of %v", name, value, accepted)
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
