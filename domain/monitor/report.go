package monitor

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// Assignment is the work of a starting worker (decision O1). Its JSON is what the gateway answers.
type Assignment struct {
	ID         ID              `json:"monitor_id"`
	Generation int             `json:"generation"`         // of the worker that asks; its reports carry it
	Revision   int             `json:"revision,omitempty"` // of Config, PausedUntil and References, see Monitor.Revision
	StreamURL  StreamURL       `json:"stream_url"`
	Config     Config          `json:"config"`
	Snapshot   json.RawMessage `json:"snapshot"` // the newest of an accepted report; nil at the first start

	PausedUntil time.Time `json:"paused_until,omitzero"` // see Monitor.Pause

	References []detector.Reference `json:"references,omitempty"`   // of the monitor and its channel, for its detectors
	Cookies    *cookie.Jar          `json:"cookies,omitempty"`      // of Config.CookieJar; kept in memory only. nil: it has none
	Secret     StreamSecret         `json:"stream_secret,omitzero"` // kept in memory only
}

// Report is the report of a worker to the gateway (section 8.6, decision O1). The
// gateway stores it in one transaction, its events in order. It skips an event
// whose ID is stored already. Its JSON is what the worker sends.
type Report struct {
	Generation   int             `json:"generation,omitempty"`
	At           time.Time       `json:"at,omitzero"`        // when the worker made it
	Revision     int             `json:"revision,omitempty"` // of the newest assignment that the worker had then
	Paused       bool            `json:"paused,omitempty"`   // the worker does not look (section 16.9)
	SentAt       time.Time       `json:"sent_at,omitzero"`   // when this attempt was sent, by the same clock; zero: the gateway's clock is the worker's
	Status       Status          `json:"status,omitempty"`
	StreamStatus StreamStatus    `json:"stream_status,omitempty"`
	Broadcast    string          `json:"broadcast,omitempty"` // which of those that come and go under the URL is watched; empty: not known, and stays as it is
	Health       Health          `json:"health,omitzero"`
	Visibility   *Visibility     `json:"visibility,omitempty"` // nil: not reported, and stays as it is
	Statistics   Statistics      `json:"statistics,omitzero"`
	Events       []event.Event   `json:"events,omitempty"`
	Signals      []Signal        `json:"signals,omitempty"`  // in the order in which they were found
	Minutes      []Minute        `json:"minutes,omitempty"`  // measured since the last accepted report; one may be reported again as it grows
	Snapshot     json.RawMessage `json:"snapshot,omitempty"` // empty: not reported, and stays as it is
}

// Signal says that a condition has begun or ended whose end has no event of its own.
// It is for the record only; receivers of webhooks never see it. The worker repeats it
// until the gateway has stored it, so it may come twice.
type Signal struct {
	Condition trouble.Name `json:"condition"`         // no_media, blind, or late, whose start was moved (section 16.6)
	StartedAt time.Time    `json:"started_at"`        // onset; it identifies the episode, and does not move when a clock is set
	EndedAt   time.Time    `json:"ended_at,omitzero"` // zero: the condition has begun
}

// Valid reports an unknown condition or a time that ValidTime refuses.
func (s Signal) Valid() error {
	if s.Condition != trouble.NoMedia && s.Condition != trouble.Blind && s.Condition != trouble.Late {
		return Errorf(InvalidConfig, "the signal's condition is %.40q; accepted are %s, %s and %s", s.Condition, trouble.NoMedia, trouble.Blind, trouble.Late)
	}
	if err := ValidTime("started_at", s.StartedAt); err != nil || s.EndedAt.IsZero() {
		return err
	}
	return ValidTime("ended_at", s.EndedAt)
}

// MaxOvertaken limits how much older than the newest report an overtaken report is.
// A report that is older still is accepted: its worker's clock has been set back.
const MaxOvertaken = 30 * time.Minute

// Overtaken reports whether a newer report of the same worker, made at newest, was
// stored before this one, which was delayed on its way. Only the events of an
// overtaken report are stored. A report that ends the monitor is never overtaken. A
// zero newest means that no other report is stored.
func (r Report) Overtaken(newest time.Time, status Status) bool {
	late := newest.Sub(r.At)
	return late > 0 && late < MaxOvertaken && !r.Ends(status)
}

// ResolvedAt is when sight returned, according to a report of a worker that is not
// blind. Of a pause it is the report's time. ok is false if the worker is blind or the report has no visibility.
func (r Report) ResolvedAt() (at time.Time, ok bool) {
	if r.Visibility == nil || !r.Visibility.BlindSince.IsZero() {
		return time.Time{}, false
	}
	if r.Paused || r.Visibility.LastObservedAt.IsZero() {
		return r.At, true
	}
	return r.Visibility.LastObservedAt, true
}

// Ends reports whether the report ends a monitor that has this status.
func (r Report) Ends(status Status) bool { return status.MayBecome(r.Status) && !r.Status.Active() }

// Answer is the gateway's answer to a report, also as JSON.
type Answer struct {
	Order           Order `json:"order"`
	Revision        int   `json:"revision,omitempty"`         // the newest of the monitor; a worker with an older one requests its assignment again
	ThumbnailWanted bool  `json:"thumbnail_wanted,omitempty"` // a page shows this monitor: the worker uploads thumbnails until an answer says otherwise

	OfficialState *OfficialState `json:"official_state,omitempty"` // nil: none younger than OfficialStateLife is known
	IngestState   *IngestState   `json:"ingest_state,omitempty"`   // nil: none younger than ingest.Life is known
}

// Order says whether a worker goes on.
type Order string

// The orders of decision O1.
const (
	Run  Order = "run"  // go on
	Stop Order = "stop" // exit
)

// ErrSuperseded refuses a report or a request of an older generation. Another
// worker has the monitor, or the monitor was given up; the caller exits at once
// (decision O2).
var ErrSuperseded = errors.New("another worker has taken over this monitor")
