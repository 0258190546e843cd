package watch

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// Opening is the first line of a recording: with what a watcher began.
type RecordingHeader struct {
	Rules    Rules           `json:"rules"`
	At       time.Time       `json:"at"`
	Snapshot json.RawMessage `json:"snapshot,omitempty"`
}

// Watcher makes the watcher that the recording is of.
func (o RecordingHeader) Watcher() (*Watcher, error) { return Restore(o.Rules, o.Snapshot, o.At) }

// Moment is a later line of a recording: one observation, and what followed
// from it. Replayed in order on the watcher of the Opening, the same
// observations give the same effects.
type RecordedStep struct {
	At          time.Time
	Observation Observation
	Effects     []Effect
}

type momentWire struct {
	At          time.Time       `json:"at"`
	Kind        TaskKind        `json:"kind"`
	Observation json.RawMessage `json:"observation"`
	Effects     []effectWire    `json:"effects,omitempty"`
}

type effectWire struct {
	Emit   *event.Event   `json:"emit,omitempty"`
	Become *StatusChanged `json:"become,omitempty"`
	Health *HealthChanged `json:"health,omitempty"`
	Note   *LogEntry      `json:"note,omitempty"`
	Finish bool           `json:"finish,omitempty"`
}

// MarshalJSON writes the moment as {at, kind, observation, effects}.
func (m RecordedStep) MarshalJSON() ([]byte, error) {
	raw, err := json.Marshal(m.Observation)
	if err != nil {
		return nil, fmt.Errorf("observation: %w", err)
	}
	w := momentWire{At: m.At, Kind: m.Observation.kind(), Observation: raw}
	for _, e := range m.Effects {
		var ew effectWire
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
func (m *RecordedStep) UnmarshalJSON(b []byte) error {
	var w momentWire
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	o, err := decodeObservation(w.Kind, w.Observation)
	if err != nil {
		return err
	}
	*m = RecordedStep{At: w.At, Observation: o}
	for _, ew := range w.Effects {
		switch {
		case ew.Emit != nil:
			m.Effects = append(m.Effects, EventEmitted{*ew.Emit})
		case ew.Become != nil:
			m.Effects = append(m.Effects, *ew.Become)
		case ew.Health != nil:
			m.Effects = append(m.Effects, *ew.Health)
		case ew.Note != nil:
			m.Effects = append(m.Effects, *ew.Note)
		case ew.Finish:
			m.Effects = append(m.Effects, Finished{})
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

func decodeAs[O Observation](raw json.RawMessage) (Observation, error) {
	var o O
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, fmt.Errorf("recording: %T: %w", o, err)
	}
	return o, nil
}
