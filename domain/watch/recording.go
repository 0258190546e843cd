package watch

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
)

// RecordingHeader is the first line of a recording: what the watcher began with.
type RecordingHeader struct {
	Rules    Rules           `json:"rules"`
	At       time.Time       `json:"at"`
	Snapshot json.RawMessage `json:"snapshot,omitempty"`
}

// Watcher makes a watcher that begins as the recorded one did.
func (h RecordingHeader) Watcher() (*Watcher, error) { return Restore(h.Rules, h.Snapshot, h.At) }

// RecordedStep is a later line of a recording: an observation and its effects.
// Replayed in order on the watcher of the header, the same observations give the
// same effects.
type RecordedStep struct {
	At          time.Time
	Observation Observation
	Effects     []Effect
}

type stepJSON struct {
	At          time.Time       `json:"at"`
	Kind        TaskKind        `json:"kind"`
	Observation json.RawMessage `json:"observation"`
	Effects     []effectJSON    `json:"effects,omitempty"`
}

type effectJSON struct {
	Emit   *event.Event   `json:"emit,omitempty"`
	Become *StatusChanged `json:"become,omitempty"`
	Health *HealthChanged `json:"health,omitempty"`
	Note   *LogEntry      `json:"note,omitempty"`
	Finish bool           `json:"finish,omitempty"`
}

// MarshalJSON writes the step as {at, kind, observation, effects}.
func (r RecordedStep) MarshalJSON() ([]byte, error) {
	raw, err := json.Marshal(r.Observation)
	if err != nil {
		return nil, fmt.Errorf("observation: %w", err)
	}
	w := stepJSON{At: r.At, Kind: r.Observation.kind(), Observation: raw}
	for _, e := range r.Effects {
		var ew effectJSON
		switch e := e.(type) {
		case EventEmitted:
			ew.Emit = &e.Event
		case StatusChanged:
			ew.Become = &e
		case HealthChanged:
			ew.Health = &e
		case LogEntry:
			ew.Note = &e
		case Finished:
			ew.Finish = true
		}
		w.Effects = append(w.Effects, ew)
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *RecordedStep) UnmarshalJSON(b []byte) error {
	var w stepJSON
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	o, err := decodeObservation(w.Kind, w.Observation)
	if err != nil {
		return err
	}
	*r = RecordedStep{At: w.At, Observation: o}
	for _, ew := range w.Effects {
		switch {
		case ew.Emit != nil:
			r.Effects = append(r.Effects, EventEmitted{*ew.Emit})
		case ew.Become != nil:
			r.Effects = append(r.Effects, *ew.Become)
		case ew.Health != nil:
			r.Effects = append(r.Effects, *ew.Health)
		case ew.Note != nil:
			r.Effects = append(r.Effects, *ew.Note)
		case ew.Finish:
			r.Effects = append(r.Effects, Finished{})
		}
	}
	return nil
}

func decodeObservation(k TaskKind, raw json.RawMessage) (Observation, error) {
	switch k {
	case TaskResolve:
		return decodeAs[Resolution](raw)
	case TaskProbe:
		return decodeAs[ProbeResult](raw)
	case TaskPlaylist:
		return decodeAs[Playlist](raw)
	case TaskSegment:
		return decodeAs[Analysis](raw)
	case TaskWake:
		return Tick{}, nil
	case clockStep:
		return decodeAs[ClockStep](raw)
	}
	return nil, fmt.Errorf("recording: unknown kind of observation %q", k)
}

// UnmarshalJSON reads an analysis, also of a recording that keeps black picture
// and silence with their tracks.
func (a *Analysis) UnmarshalJSON(b []byte) error {
	type plain Analysis
	if err := json.Unmarshal(b, (*plain)(a)); err != nil {
		return err
	}
	if a.Intervals != nil {
		return nil
	}
	type track struct {
		Bad []Interval `json:"bad"`
	}
	var read struct{ Video, Audio track }
	if err := json.Unmarshal(b, &read); err != nil {
		return err
	}
	for name, bad := range map[detector.Name][]Interval{detector.Blackout: read.Video.Bad, detector.Silence: read.Audio.Bad} {
		if bad == nil {
			continue
		}
		if a.Intervals == nil {
			a.Intervals = map[detector.Name][]Interval{}
		}
		a.Intervals[name] = bad
	}
	return nil
}

func decodeAs[O Observation](raw json.RawMessage) (Observation, error) {
	var o O
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, fmt.Errorf("recording: %T: %w", o, err)
	}
	return o, nil
}
