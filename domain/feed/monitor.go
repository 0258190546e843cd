package feed

import (
	"encoding/json"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Monitor is the data of monitor.updated: the fields of GET
// /api/v1/monitors/{monitor_id} (section 3.3), with times in UTC. Statistics and
// last_check_at are as of the entry; they change more often than entries are made.
type Monitor struct {
	MonitorID    monitor.ID           `json:"monitor_id"`
	StreamURL    monitor.StreamURL    `json:"stream_url"`
	Status       monitor.Status       `json:"status"`
	Reason       string               `json:"reason,omitempty"`
	StreamStatus monitor.StreamStatus `json:"stream_status"`
	Health       Health               `json:"health"`
	LastError    *string              `json:"last_error"`
	BlindSince   *time.Time           `json:"blind_since"`
	LastObserved *time.Time           `json:"last_observed_at"`
	Statistics   monitor.Statistics   `json:"statistics"`
	Config       monitor.Config       `json:"config"`
	Metadata     json.RawMessage      `json:"metadata"`
	Revision     int                  `json:"revision"` // how often config, callback_url or metadata were changed
	CreatedAt    time.Time            `json:"created_at"`
	EndedAt      *time.Time           `json:"ended_at,omitempty"`
}

// Health is the condition of the newest analysed media.
type Health struct {
	Video       monitor.TrackHealth `json:"video"`
	Audio       monitor.TrackHealth `json:"audio"`
	LastCheckAt *time.Time          `json:"last_check_at"`
}

// NewMonitor returns the data of a monitor. It leaves out the callback URL, because
// receivers keep tokens there.
func NewMonitor(m monitor.Monitor) Monitor {
	for _, scheduled := range []**time.Time{&m.Config.ScheduledStartTime, &m.Config.ScheduledEndTime} {
		if *scheduled != nil {
			*scheduled = utcOrNull(**scheduled)
		}
	}
	if len(m.Metadata) == 0 {
		m.Metadata = json.RawMessage(`{}`)
	}
	return Monitor{
		MonitorID:    m.ID,
		StreamURL:    m.StreamURL,
		Status:       m.Status,
		Reason:       m.Reason,
		StreamStatus: m.StreamStatus,
		Health:       Health{m.Health.Video, m.Health.Audio, utcOrNull(m.Health.LastCheckAt)},
		LastError:    orNull(m.Visibility.LastError),
		BlindSince:   utcOrNull(m.Visibility.BlindSince),
		LastObserved: utcOrNull(m.Visibility.LastObservedAt),
		Statistics:   m.Statistics,
		Config:       m.Config,
		Metadata:     m.Metadata,
		Revision:     m.Revision,
		CreatedAt:    utc(m.CreatedAt),
		EndedAt:      utcOrNull(m.EndedAt),
	}
}

// Type implements Data.
func (Monitor) Type() Type { return MonitorUpdated }

// Visible is the part of a monitor whose changes readers see at once. A report that
// leaves it as it is makes no entry.
type Visible struct {
	Status       monitor.Status
	StreamStatus monitor.StreamStatus
	Video        monitor.TrackHealth
	Audio        monitor.TrackHealth
	LastError    string
	Blind        bool
}

// After returns the visible part after an accepted report. A field that the report
// leaves out stays as it is.
func (v Visible) After(r monitor.Report) Visible {
	if v.Status.MayBecome(r.Status) {
		v.Status = r.Status
	}
	if r.StreamStatus != "" {
		v.StreamStatus = r.StreamStatus
	}
	if r.Health.Video != "" {
		v.Video = r.Health.Video
	}
	if r.Health.Audio != "" {
		v.Audio = r.Health.Audio
	}
	if r.Visibility != nil {
		v.LastError, v.Blind = r.Visibility.LastError, !r.Visibility.BlindSince.IsZero()
	}
	if !v.Status.Active() {
		v.Blind = false // nobody tries to see any more
	}
	return v
}
