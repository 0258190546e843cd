package watch

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// RecordingHeader is the first line of a recording. It holds the watcher's rules
// and first state.
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
	Emit   *event.Event    `json:"emit,omitempty"`
	Signal *monitor.Signal `json:"signal,omitempty"`
	Become *StatusChanged  `json:"become,omitempty"`
	Health *HealthChanged  `json:"health,omitempty"`
	Note   *LogEntry       `json:"note,omitempty"`
	Finish bool            `json:"finish,omitempty"`
}

// MarshalJSON writes the step as {at, kind, observation, effects}.
func (r RecordedStep) MarshalJSON() ([]byte, error) {
	raw, err := json.Marshal(r.Observation)
	if err != nil {
		return nil, fmt.Errorf("observation: %w", err)
	}
	line := stepJSON{At: r.At, Kind: r.Observation.kind(), Observation: raw}
	for _, e := range r.Effects {
		var effect effectJSON
		switch e := e.(type) {
		case EventEmitted:
			effect.Emit = &e.Event
		case SignalEmitted:
			effect.Signal = &e.Signal
		case StatusChanged:
			effect.Become = &e
		case HealthChanged:
			effect.Health = &e
		case LogEntry:
			effect.Note = &e
		case Finished:
			effect.Finish = true
		}
		line.Effects = append(line.Effects, effect)
	}
	return json.Marshal(line)
}

// UnmarshalJSON reads the JSON of MarshalJSON.
func (r *RecordedStep) UnmarshalJSON(b []byte) error {
	var line stepJSON
	if err := json.Unmarshal(b, &line); err != nil {
		return err
	}
	o, err := decodeObservation(line.Kind, line.Observation)
	if err != nil {
		return err
	}
	*r = RecordedStep{At: line.At, Observation: o}
	for _, effect := range line.Effects {
		switch {
		case effect.Emit != nil:
			r.Effects = append(r.Effects, EventEmitted{*effect.Emit})
		case effect.Signal != nil:
			r.Effects = append(r.Effects, SignalEmitted{*effect.Signal})
		case effect.Become != nil:
			r.Effects = append(r.Effects, *effect.Become)
		case effect.Health != nil:
			r.Effects = append(r.Effects, *effect.Health)
		case effect.Note != nil:
			r.Effects = append(r.Effects, *effect.Note)
		case effect.Finish:
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
	case TaskRendition:
		return decodeAs[RenditionLook](raw)
	case TaskWake:
		return Tick{}, nil
	case clockStep:
		return decodeAs[ClockStep](raw)
	case rulesChanged:
		return decodeAs[RulesChanged](raw)
	case officialState:
		return decodeAs[OfficialState](raw)
	case ingestState:
		return decodeAs[IngestState](raw)
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
