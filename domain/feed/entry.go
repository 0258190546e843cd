package feed

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// Type names what an entry is about.
type Type string

// The types of the entries.
const (
	MonitorUpdated  Type = "monitor.updated"
	IncidentUpdated Type = "incident.updated"
	DeliveryUpdated Type = "delivery.updated"
	EvidenceAdded   Type = "evidence.added"
)

// The types of the messages that are sent to readers and not stored.
const (
	StateReplace  Type = "state.replace"
	HeartbeatType Type = "heartbeat"
	ByeType       Type = "bye"
)

// Data is the data of an entry or a message. The structs Monitor, Incident, Delivery,
// Evidence, State, Heartbeat and Bye are its implementations.
type Data interface {
	// Type returns the type of the entries or messages that carry this data.
	Type() Type
}

// Entry is one stored change.
type Entry struct {
	Version int64           // its number, from 1
	Type    Type            // one of the types above
	At      time.Time       // when it was stored, by the clock of the database
	Data    json.RawMessage // what Encode made of the Data
}

// Encode writes data as one line of JSON, characters unescaped.
func Encode(data Data) (json.RawMessage, error) {
	line, err := wire.Encode(data)
	if err != nil {
		return nil, fmt.Errorf("feed data of %s: %w", data.Type(), err)
	}
	return line, nil
}
