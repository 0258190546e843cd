package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Event is one thing that happened to one stream.
type Event struct {
	ID   string    // UUIDv7, given once and never changed (decision W2)
	Type Type      // one of Types
	At   time.Time // when the watcher or the gateway decided it; timestamp of the payload
	Data Data      // matches Type
}

// eventJSON is the JSON of an Event in reports and recordings.
type eventJSON struct {
	ID   string          `json:"event_id,omitempty"`
	Type Type            `json:"event_type"`
	At   time.Time       `json:"timestamp"`
	Data json.RawMessage `json:"data"`
}

// MarshalJSON writes the event as {event_id, event_type, timestamp, data}.
func (e Event) MarshalJSON() ([]byte, error) {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return nil, fmt.Errorf("event %s: data: %w", e.Type, err)
	}
	return json.Marshal(eventJSON{e.ID, e.Type, e.At, data})
}

// UnmarshalJSON reads the JSON of MarshalJSON. It refuses an unknown type, and data
// of another type.
func (e *Event) UnmarshalJSON(b []byte) error {
	var read eventJSON
	if err := json.Unmarshal(b, &read); err != nil {
		return err
	}
	data, err := decode(read.Type, read.Data)
	if err != nil {
		return err
	}
	*e = Event{read.ID, read.Type, read.At, data}
	return nil
}

// Valid reports an unknown type, data of another type, a missing time, or a duration below 0 or
// above a century. It does
// not check the ID, because the worker adds the ID later.
func (e Event) Valid() error {
	switch {
	case !slices.Contains(Types(), e.Type):
		return fmt.Errorf("event: unknown type %q", e.Type)
	case e.Data == nil:
		return fmt.Errorf("event %s: no data", e.Type)
	case !slices.Contains(e.Data.types(), e.Type):
		return fmt.Errorf("event %s: data is %T", e.Type, e.Data)
	case e.At.IsZero():
		return errors.New("event: no timestamp")
	}
	for _, seconds := range e.Data.durations() {
		if seconds < 0 || seconds > maxDurationSec {
			return fmt.Errorf("event %s: a duration is %d s; accepted is 0 to %d", e.Type, seconds, int64(maxDurationSec))
		}
	}
	return nil
}

// maxDurationSec is a century.
const maxDurationSec = 36525 * 24 * 3600

// IsBlindness reports whether the event says that the watchdog is blind
// (decision S15).
func (e Event) IsBlindness() bool {
	failure, is := e.Data.(MonitorFailure)
	return is && failure.Reason == ReasonBlind
}

func decode(t Type, raw json.RawMessage) (Data, error) {
	switch t {
	case StreamStarted:
		return decodeAs[Started](raw)
	case StreamEnded:
		return decodeAs[Ended](raw)
	case StreamDelayed:
		return decodeAs[Delayed](raw)
	case SegmentError:
		return decodeAs[Outage](raw)
	case MonitorError:
		return decodeAs[MonitorFailure](raw)
	}
	switch {
	case slices.Contains(alerts(), t):
		return decodeAs[Alert](raw)
	case slices.Contains(recoveries(), t):
		return decodeAs[Recovered](raw)
	}
	return nil, fmt.Errorf("event: unknown type %q", t)
}

func decodeAs[D Data](raw json.RawMessage) (Data, error) {
	var d D
	if string(raw) == "null" {
		return nil, fmt.Errorf("event data %T: null", d)
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("event data %T: %w", d, err)
	}
	return d, nil
}
