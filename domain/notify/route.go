package notify

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Match selects events and incidents. An empty field selects all; the others must all hold.
type Match struct {
	Events      []event.Type      `json:"events,omitempty"`
	Conditions  []incident.Name   `json:"conditions,omitempty"`   // at least one of them
	MinSeverity int               `json:"min_severity,omitempty"` // 0 to incident.MaxSeverity
	Monitors    []monitor.ID      `json:"monitors,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"` // by path, such as channel_name or labels.team; values are compared as text
}

// Subject is an event or an incident that a Match is compared with.
type Subject struct {
	EventType  event.Type // empty: an incident
	Conditions []incident.Name
	Severity   int
	MonitorID  monitor.ID
	Metadata   map[string]string // by path, as in Match
}

// Route says which destinations get what it matches. Routes are looked at from the
// first to the last; the first that matches ends the search, unless it continues.
type Route struct {
	ID           string // a UUIDv7
	Name         string // unique, 1 to 100 characters
	Match        Match
	Destinations []string      // IDs
	Delay        time.Duration // from the opening of an incident; a delayed route leaves out what somebody has acknowledged
	Repeat       time.Duration // how often the message is repeated until somebody acknowledges the incident; 0: never
	Continue     bool          // the search goes on after this route
	Default      bool          // the last route, which matches everything and cannot be deleted
	Owner        string        // of the file that the route is kept in; empty: none
}
