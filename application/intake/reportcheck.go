package intake

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// checkReport validates a report. Errors: *monitor.Error InvalidConfig, which names
// the first wrong field.
func checkReport(r monitor.Report) error {
	if err := checkStates(r); err != nil {
		return err
	}
	if err := checkVisibilityAndTimes(r); err != nil {
		return err
	}
	for field, n := range r.Statistics.Fields() {
		if n < 0 || n > math.MaxInt32 {
			return monitor.Errorf(monitor.InvalidConfig, "statistics.%s is %d; accepted is 0 to %d", field, n, math.MaxInt32)
		}
	}
	if n := len(r.Broadcast); n > monitor.MaxBroadcast {
		return monitor.Errorf(monitor.InvalidConfig, "broadcast is %d bytes long; accepted is at most %d", n, monitor.MaxBroadcast)
	}
	if len(r.Snapshot) > MaxSnapshot {
		return monitor.Errorf(monitor.InvalidConfig, "snapshot is %d bytes long; accepted is at most %d", len(r.Snapshot), MaxSnapshot)
	}
	if len(r.Snapshot) > 0 && !json.Valid(r.Snapshot) {
		return monitor.Errorf(monitor.InvalidConfig, "snapshot is not valid JSON")
	}
	return checkEvents(r.Events)
}

// checkStates validates the generation, the statuses and the conditions.
func checkStates(r monitor.Report) error {
	if r.Generation < 1 || r.Generation > math.MaxInt32 {
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
	if err := oneOf("health.video", r.Health.Video, monitor.TrackHealthValues(detector.Video)...); err != nil {
		return err
	}
	return oneOf("health.audio", r.Health.Audio, monitor.TrackHealthValues(detector.Audio)...)
}

func checkVisibilityAndTimes(r monitor.Report) error {
	var visibility monitor.Visibility
	if r.Visibility != nil {
		visibility = *r.Visibility
	}
	if n := len(visibility.LastError); n > MaxLastError {
		return monitor.Errorf(monitor.InvalidConfig, "visibility.last_error is %d bytes long; accepted is at most %d", n, MaxLastError)
	}
	if err := checkUnseen(visibility.Unseen); err != nil {
		return err
	}
	for _, field := range []struct {
		name string
		at   time.Time
	}{
		{"at", r.At},
		{"sent_at", r.SentAt},
		{"health.last_check_at", r.Health.LastCheckAt},
		{"visibility.blind_since", visibility.BlindSince},
		{"visibility.last_observed_at", visibility.LastObservedAt},
		{"visibility.unseen.since", visibility.Unseen.Since},
	} {
		if field.at.IsZero() {
			continue
		}
		if err := monitor.ValidTime(field.name, field.at); err != nil {
			return err
		}
	}
	return nil
}

func checkUnseen(u monitor.Unseen) error {
	if u == (monitor.Unseen{}) {
		return nil
	}
	if u.Since.IsZero() {
		return monitor.Errorf(monitor.InvalidConfig, "visibility.unseen.since is missing; accepted is a time")
	}
	if !slices.Contains(monitor.UnseenClasses, u.Class) {
		return monitor.Errorf(monitor.InvalidConfig, "visibility.unseen.class is %.60q; accepted is one of %v", u.Class, monitor.UnseenClasses)
	}
	if n := len(u.Egress); n > MaxLastError {
		return monitor.Errorf(monitor.InvalidConfig, "visibility.unseen.egress is %d bytes long; accepted is at most %d", n, MaxLastError)
	}
	return nil
}

func checkEvents(events []event.Event) error {
	if len(events) > MaxReportEvents {
		return monitor.Errorf(monitor.InvalidConfig, "events has %d entries; accepted is at most %d", len(events), MaxReportEvents)
	}
	for i, e := range events {
		if err := e.Valid(); err != nil {
			return monitor.Errorf(monitor.InvalidConfig, "events[%d]: %v", i, err)
		}
		if err := monitor.ValidTime(fmt.Sprintf("events[%d].timestamp", i), e.At); err != nil {
			return err
		}
		if !monitor.IsUUID(e.ID) {
			return monitor.Errorf(monitor.InvalidConfig, "events[%d].event_id is %.60q; accepted is a UUID", i, e.ID)
		}
	}
	return nil
}

// oneOf accepts an empty value, which a report may leave out.
func oneOf[S ~string](name string, value S, accepted ...S) error {
	if value == "" || slices.Contains(accepted, value) {
		return nil
	}
	return monitor.Errorf(monitor.InvalidConfig, "%s is %.40q; accepted is one of %v", name, value, accepted)
}
