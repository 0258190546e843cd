package monitor

import (
	"regexp"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Status is the state of a monitor (section 9.1).
type Status string

// The statuses of section 3.4.
const (
	Initializing Status = "initializing" // registered; its worker has not reported yet
	Waiting      Status = "waiting"      // the stream has not started
	Monitoring   Status = "monitoring"   // the stream is live and being watched
	Completed    Status = "completed"    // the stream ended
	Stopped      Status = "stopped"      // the caller stopped it
	Failed       Status = "error"        // watching is impossible; the last event says why
)

// Statuses lists every status in the order of a monitor's life.
func Statuses() []Status {
	return []Status{Initializing, Waiting, Monitoring, Completed, Stopped, Failed}
}

var next = map[Status][]Status{
	Initializing: {Initializing, Waiting, Monitoring, Completed, Stopped, Failed},
	Waiting:      {Waiting, Monitoring, Completed, Stopped, Failed},
	Monitoring:   {Monitoring, Completed, Stopped, Failed},
}

// ParseStatus accepts one of Statuses; anything else is InvalidConfig.
func ParseStatus(s string) (Status, error) {
	for _, status := range Statuses() {
		if string(status) == s {
			return status, nil
		}
	}
	return "", Errorf(InvalidConfig, "status is %.40q; accepted is one of %v", s, Statuses())
}

// Active reports whether the monitor is being watched. An active monitor prevents a
// second registration of its stream and counts against the maximum.
func (s Status) Active() bool { return s == Initializing || s == Waiting || s == Monitoring }

// MayBecome reports whether t may follow s. An active status may follow itself; no
// status follows a final one.
func (s Status) MayBecome(t Status) bool {
	return slices.Contains(next[s], t)
}

// StreamStatus is the state of the stream itself (decision S14).
type StreamStatus string

// The stream statuses of decision S14.
const (
	StreamUnknown  StreamStatus = "unknown"
	StreamUpcoming StreamStatus = "upcoming"
	StreamLive     StreamStatus = "live"
	StreamEnded    StreamStatus = "ended"
)

// TrackHealth is the state of picture or sound (decision S14).
type TrackHealth string

// The values of decision S14. Black and Silent are those of the table of
// detectors.
const (
	OK      TrackHealth = "ok"
	Black   TrackHealth = "black"  // video only
	Silent  TrackHealth = "silent" // audio only
	Unknown TrackHealth = "unknown"
	NoTrack TrackHealth = "none" // video only: no picture is expected
)

// Bad reports whether a detector finds trouble.
func (h TrackHealth) Bad() bool { return h != OK && h != Unknown && h != NoTrack && h != "" }

// TrackHealthValues lists the values that a track may have: OK, those of its
// detectors, Unknown; of the picture also NoTrack.
func TrackHealthValues(t detector.Track) []TrackHealth {
	list := []TrackHealth{OK}
	for _, word := range detector.Conditions(t) {
		list = append(list, TrackHealth(word))
	}
	list = append(list, Unknown)
	if t == detector.Video {
		list = append(list, NoTrack)
	}
	return list
}

// Visibility says whether the worker can observe the stream (decision S15).
type Visibility struct {
	LastError      string    `json:"last_error,omitempty"`      // the newest failure that no success has followed, one line; "": none
	BlindSince     time.Time `json:"blind_since,omitzero"`      // since when nothing could be learned; zero unless that was alerted
	LastObservedAt time.Time `json:"last_observed_at,omitzero"` // when the stream's state or its media were last learned; zero: never
	Unseen         Unseen    `json:"unseen,omitzero"`           // that nothing can be learned at present, and why; it comes long before BlindSince
}

// Health is the state of the newest analysed media (section 3.3).
type Health struct {
	Video       TrackHealth     `json:"video,omitempty"`
	Audio       TrackHealth     `json:"audio,omitempty"`
	LastCheckAt time.Time       `json:"last_check_at,omitzero"` // zero: nothing analysed yet
	Conditions  []DetectorState `json:"conditions,omitempty"`   // in the order of the table; none unless an optional detector runs

	Renditions []RenditionState `json:"renditions,omitempty"` // of the stream beside the watched one; none unless a detector judges them
}

// RenditionState says what the newest look has found at a rendition that is not the watched one.
type RenditionState struct {
	Height    int                     `json:"height"`    // lines of the picture; 0: unknown
	Bandwidth int                     `json:"bandwidth"` // bits per second; 0: unknown
	State     detector.RenditionState `json:"state"`
	LookedAt  time.Time               `json:"looked_at,omitzero"` // zero: not yet
}

// KnownRenditions returns the states that this release can show, at most maxRenditions. A worker of another
// release may know others; its report is accepted without them.
func KnownRenditions(all []RenditionState) (known []RenditionState) {
	for _, r := range all {
		if len(known) < maxRenditions && r.Height >= 0 && r.Bandwidth >= 0 && slices.Contains(detector.RenditionStates(), r.State) &&
			(r.LookedAt.IsZero() || ValidTime("looked_at", r.LookedAt) == nil) {
			known = append(known, r)
		}
	}
	return known
}

// maxRenditions limits the renditions of one stream.
const maxRenditions = 32

// DetectorState says what one detector makes of the newest analysed media. Of the detectors that
// always run, Health has those whose condition lasts.
type DetectorState struct {
	Detector detector.Name      `json:"detector"`
	State    TrackHealth        `json:"state"`             // OK, Unknown, or the detector's word of health
	Since    time.Time          `json:"since,omitzero"`    // first bad instant of the condition that lasts, on the media timeline; zero: none lasts
	Alerted  bool               `json:"alerted,omitempty"` // an alert was sent of the condition that lasts
	Values   map[string]float64 `json:"values,omitempty"`  // what the detector measured last, by the names of its row
}

// valueName matches the names of measured values.
var valueName = regexp.MustCompile(`^[a-z0-9_]{1,40}$`)

// KnownStates returns the states that this release can show, at most one of each detector. A worker of
// another release may know others; its report is accepted without them.
func KnownStates(states []DetectorState) (known []DetectorState) {
	seen := map[detector.Name]bool{}
	for _, s := range states {
		row := slices.IndexFunc(detector.Table, func(d detector.Detector) bool { return d.Name == s.Detector })
		if row < 0 || seen[s.Detector] || s.State != OK && s.State != Unknown && string(s.State) != detector.Table[row].Health ||
			!s.Since.IsZero() && ValidTime("since", s.Since) != nil {
			continue
		}
		seen[s.Detector] = true
		for name := range s.Values {
			if !valueName.MatchString(name) || len(s.Values) > maxValues {
				s.Values = nil
				break
			}
		}
		known = append(known, s)
	}
	return known
}

// maxValues limits the measured values of one detector.
const maxValues = 16

// Reported reports whether this is the health of a report that has it. A report may leave it out.
func (h Health) Reported() bool { return h.Video != "" || h.Audio != "" }

// Same reports whether two states differ at most in the measured values, which differ from segment to
// segment, and in when renditions were looked at.
func (h Health) Same(o Health) bool {
	return h.Video == o.Video && h.Audio == o.Audio && h.LastCheckAt.Equal(o.LastCheckAt) &&
		slices.EqualFunc(h.Conditions, o.Conditions, func(a, b DetectorState) bool {
			return a.Detector == b.Detector && a.State == b.State && a.Since.Equal(b.Since) && a.Alerted == b.Alerted
		}) &&
		slices.EqualFunc(h.Renditions, o.Renditions, func(a, b RenditionState) bool {
			return a.Height == b.Height && a.Bandwidth == b.Bandwidth && a.State == b.State
		})
}
