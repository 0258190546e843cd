package incident

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/ingest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// maxDetail limits Alert.Detail, in bytes.
const maxDetail = 500

// Alert has the numbers that made the event of an episode. Zero fields are unknown.
type Alert struct {
	EventID      string             `json:"event_id,omitempty"` // empty: there was no event
	At           time.Time          `json:"at"`                 // when it was decided
	DurationSec  int64              `json:"duration_sec,omitempty"`
	ThresholdSec int64              `json:"threshold_sec,omitempty"` // how long is too long
	Criteria     map[string]float64 `json:"criteria,omitempty"`      // of the detector: what counted as bad, by detector.Criterion.Name
	Reason       string             `json:"reason,omitempty"`        // of no_media, blind and error
	Detail       string             `json:"detail,omitempty"`        // for people, at most maxDetail bytes

	StoredAt time.Time     `json:"stored_at,omitzero"` // when a Tracker took it in
	Cause    *ingest.Issue `json:"cause,omitempty"`    // the likely one, by the signal of the encoder (decision S24); nil: nothing explains it
	Opinion  *Opinion      `json:"opinion,omitempty"`  // the second one; nil: nobody was asked
}

// newAlert returns the numbers of an event that begins an episode; nil: it has none.
func newAlert(e event.Event) *Alert {
	a := &Alert{EventID: e.ID, At: e.At}
	switch data := e.Data.(type) {
	case event.Delayed:
		a.DurationSec, a.ThresholdSec = data.DelaySec, data.ToleranceSec
	case event.Alert:
		a.DurationSec, a.ThresholdSec, a.Detail = data.DurationSec, data.ThresholdSec, detail(data.Reference)
	case event.Outage:
		a.DurationSec, a.ThresholdSec, a.Reason = data.DurationSec, data.ThresholdSec, data.Failure
		a.Detail = detail(data.LastError)
	case event.MonitorFailure:
		a.Reason, a.Detail = data.Reason, detail(data.ErrorDetails)
	default:
		return nil
	}
	return a
}

// AddCriteria adds to the alerts of detectors what counted as bad. setting returns a
// field of the monitor's config object.
func AddCriteria(inputs []Found, setting func(field string) float64) {
	for _, in := range inputs {
		began, is := in.Input.(Began)
		if !is || began.Alert == nil {
			continue
		}
		for _, d := range detector.Table {
			if d.Condition != began.Condition || len(d.Criteria) == 0 {
				continue
			}
			began.Alert.Criteria = make(map[string]float64, len(d.Criteria))
			for _, c := range d.Criteria {
				began.Alert.Criteria[c.Name] = c.ValueOf(setting)
			}
		}
	}
}

// Explained says what the source thinks of the encoder's signal at present.
type Explained struct{ Health ingest.Health }

func (Explained) input() {}

// explain adds to the alerts that last the likely cause, if the signal tells one. A cause stays when the signal is good again: it was
// the cause.
func (c *Change) explain(in Explained) {
	for n := range c.Conditions {
		one := &c.Conditions[n]
		if !one.Lasts() || one.Alert == nil {
			continue
		}
		if cause := in.Health.Cause(one.Name, c.now); cause != nil && (one.Alert.Cause == nil || *one.Alert.Cause != *cause) {
			alert := *one.Alert
			alert.Cause, one.Alert = cause, &alert
		}
	}
}

// AddCause adds to new alerts the likely cause, by what the source thinks of the signal at a time.
func AddCause(inputs []Found, h ingest.Health, at time.Time) {
	for _, in := range inputs {
		if began, is := in.Input.(Began); is && began.Alert != nil {
			began.Alert.Cause = h.Cause(began.Condition, at)
		}
	}
}

// detail cuts a text that tools and servers may have written.
func detail(text string) string { return monitor.StorableText(text, maxDetail) }
