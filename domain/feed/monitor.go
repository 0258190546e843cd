package feed

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/ingest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// Monitor is the data of monitor.updated, and the answer of GET
// /api/v1/monitors/{monitor_id} (section 3.3). In the feed, statistics and last_check_at
// are as of the entry; they change more often than entries are made.
type Monitor struct {
	MonitorID    monitor.ID           `json:"monitor_id"`
	Number       int                  `json:"number"` // of the stream; after EndedShown since the end another one may have it
	StreamURL    monitor.StreamURL    `json:"stream_url"`
	Status       monitor.Status       `json:"status"`
	Reason       string               `json:"reason,omitempty"`
	StreamStatus monitor.StreamStatus `json:"stream_status"`
	Health       Health               `json:"health"`
	LastError    *string              `json:"last_error"`
	BlindSince   *time.Time           `json:"blind_since"`
	PausedUntil  *time.Time           `json:"paused_until"` // null: it is not paused
	PausedBy     *string              `json:"paused_by"`    // null: it is not paused, or nobody knows
	LastObserved *time.Time           `json:"last_observed_at"`
	Statistics   monitor.Statistics   `json:"statistics"`
	Config       monitor.Config       `json:"config"`
	Metadata     json.RawMessage      `json:"metadata"`
	Labels       monitor.Labels       `json:"labels"`
	Revision     int                  `json:"revision"` // how often config, callback_url, metadata or labels were changed
	CreatedAt    time.Time            `json:"created_at"`
	EndedAt      *time.Time           `json:"ended_at,omitempty"`

	RecordParkedSince *time.Time `json:"record_parked_since,omitempty"` // since when its incidents and its history cannot be stored

	Hints []monitor.Hint `json:"hints,omitempty"` // that hold (section 16.7)

	Ingest *Ingest `json:"ingest,omitempty"` // nil: nothing is known of the encoder's signal

	NoCallback wire.NoCallback `json:"callback_url,omitempty"`
	Untold     bool            `json:"untold,omitempty"` // it has none, and no route leads its alerts to anybody

	ChannelID string `json:"channel_id,omitempty"` // of the channel that has found or adopted it
	Owner     string `json:"owner,omitempty"`      // the file that keeps it (section 19.8)
}

// Health is the condition of the newest analysed media.
type Health struct {
	Video       monitor.TrackHealth `json:"video"`
	Audio       monitor.TrackHealth `json:"audio"`
	LastCheckAt *time.Time          `json:"last_check_at"`
	Conditions  []Condition         `json:"conditions,omitempty"` // none unless an optional detector runs
	Renditions  []Rendition         `json:"renditions,omitempty"` // of the stream beside the watched one; none unless a detector judges them
}

// Rendition is what the newest look at a rendition has found that is not the watched one.
type Rendition struct {
	Height    int                     `json:"height"`
	Bandwidth int                     `json:"bandwidth"`
	State     detector.RenditionState `json:"state"`
	LookedAt  *time.Time              `json:"looked_at"`
}

// Condition is what one detector makes of the newest analysed media.
type Condition struct {
	Detector  detector.Name       `json:"detector"`
	Condition trouble.Name        `json:"condition"`
	Track     detector.Track      `json:"track"`
	State     monitor.TrackHealth `json:"state"`
	Since     *time.Time          `json:"since"`
	Alerted   bool                `json:"alerted"`
	Values    map[string]float64  `json:"values"`
}

// NewHealth returns the data of a monitor's health, with its times in a zone. It leaves out a detector
// that only another release knows.
func NewHealth(h monitor.Health, zone *time.Location) Health {
	health := Health{Video: h.Video, Audio: h.Audio, LastCheckAt: wire.TimeOrNull(h.LastCheckAt, zone)}
	for _, s := range h.Conditions {
		row := slices.IndexFunc(detector.Table, func(d detector.Detector) bool { return d.Name == s.Detector })
		if row < 0 {
			continue
		}
		if s.Values == nil {
			s.Values = map[string]float64{}
		}
		d := detector.Table[row]
		health.Conditions = append(health.Conditions, Condition{d.Name, d.Condition, d.Track, s.State, wire.TimeOrNull(s.Since, zone), s.Alerted, s.Values})
	}
	for _, r := range h.Renditions {
		health.Renditions = append(health.Renditions, Rendition{r.Height, r.Bandwidth, r.State, wire.TimeOrNull(r.LookedAt, zone)})
	}
	return health
}

// NewMonitor returns the data of a monitor, with times in UTC.
func NewMonitor(m monitor.Monitor) Monitor { return NewMonitorIn(m, time.UTC) }

// NewMonitorIn returns the data of a monitor, with times in a zone. It leaves out the
// callback URL, because receivers keep tokens there.
func NewMonitorIn(m monitor.Monitor, zone *time.Location) Monitor {
	for _, scheduled := range []**time.Time{&m.Config.ScheduledStartTime, &m.Config.ScheduledEndTime} {
		if *scheduled != nil {
			*scheduled = wire.TimeOrNull(**scheduled, zone)
		}
	}
	if len(m.Metadata) == 0 {
		m.Metadata = json.RawMessage(`{}`)
	}
	return Monitor{
		MonitorID:    m.ID,
		Number:       m.Number,
		StreamURL:    m.StreamURL,
		Status:       m.Status,
		Reason:       m.Reason,
		StreamStatus: m.StreamStatus,
		Health:       NewHealth(m.Health, zone),
		LastError:    wire.OrNull(m.Visibility.LastError),
		BlindSince:   wire.TimeOrNull(m.Visibility.BlindSince, zone),
		PausedUntil:  wire.TimeOrNull(m.Pause.Until, zone),
		PausedBy:     wire.OrNull(m.Pause.By),
		LastObserved: wire.TimeOrNull(m.Visibility.LastObservedAt, zone),
		Statistics:   m.Statistics,
		Config:       m.Config,
		Metadata:     m.Metadata,
		Labels:       m.Labels,
		Revision:     m.Revision,
		CreatedAt:    wire.Time(m.CreatedAt, zone),
		EndedAt:      wire.TimeOrNull(m.EndedAt, zone),

		RecordParkedSince: wire.TimeOrNull(m.RecordParkedSince, zone),
		Hints:             NewHints(m.Hints, zone),
		Ingest:            newIngest(m.Ingest, zone),
		NoCallback:        m.CallbackURL == "",
		Untold:            m.Untold,
		ChannelID:         m.ChannelID,
		Owner:             m.Owner,
	}
}

// Ingest is what the source thinks of the encoder's signal (decision S24).
type Ingest struct {
	Broadcast string     `json:"broadcast"`
	Stream    string     `json:"stream"`
	Signal    string     `json:"signal"`
	NoData    bool       `json:"no_data"`
	Issues    []Issue    `json:"issues"` // the worst first; with no_data, that comes first
	JudgedAt  *time.Time `json:"judged_at"`
	AskedAt   time.Time  `json:"asked_at"`
}

func newIngest(h *ingest.Health, zone *time.Location) *Ingest {
	if h == nil {
		return nil
	}
	data := &Ingest{h.Broadcast, h.Stream, h.Signal, h.NoData(), []Issue{}, wire.TimeOrNull(h.JudgedAt, zone), wire.Time(h.AskedAt, zone)}
	for _, i := range h.Shown() {
		data.Issues = append(data.Issues, *newCause(&i))
	}
	return data
}

// NewHints returns the data of hints, with their times in a zone.
func NewHints(all []monitor.Hint, zone *time.Location) []monitor.Hint {
	all = slices.Clone(all)
	for n := range all {
		all[n].Since = wire.Time(all[n].Since, zone)
	}
	return all
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
	Conditions   string // the states of detectors, without what they measured; see Conditions
	Renditions   string // the states of renditions, without when they were looked at; see Renditions
}

// Conditions returns the states of detectors as one text, so that Visible can be compared with ==.
func Conditions(list []monitor.DetectorState) (text string) {
	for _, s := range list {
		text += fmt.Sprintln(s.Detector, s.State, s.Alerted, s.Since.UnixMilli())
	}
	return text
}

// Renditions returns the states of renditions as one text, so that Visible can be compared with ==.
func Renditions(list []monitor.RenditionState) (text string) {
	for _, r := range list {
		text += fmt.Sprintln(r.Height, r.Bandwidth, r.State)
	}
	return text
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
	if r.Health.Reported() {
		v.Conditions, v.Renditions = Conditions(r.Health.Conditions), Renditions(r.Health.Renditions)
	}
	if r.Visibility != nil {
		v.LastError, v.Blind = r.Visibility.LastError, !r.Visibility.BlindSince.IsZero()
	}
	if !v.Status.Active() {
		v.Blind = false // nobody tries to see any more
	}
	return v
}
