package apiclient

import "time"

// Match is the match of a route or a silence, as the API shows it (section 19.2).
type Match struct {
	Events      []string          `json:"events"`
	Conditions  []string          `json:"conditions"`
	MinSeverity int               `json:"min_severity"`
	Monitors    []string          `json:"monitors"`
	Metadata    map[string]string `json:"metadata"`
}

// Destination is a destination as the API shows it (section 19.1), without its health.
type Destination struct {
	ID       string            `json:"destination_id"`
	Name     string            `json:"name"`
	Kind     string            `json:"kind"`
	Config   map[string]string `json:"config"`
	Secrets  []string          `json:"secrets"` // names
	Fallback string            `json:"fallback"`
	Owner    string            `json:"owner"`
	Changed  []string          `json:"changed"` // by a change
}

// Route is a route as the API shows it (section 19.2).
type Route struct {
	ID           string   `json:"route_id"`
	Name         string   `json:"name"`
	Match        Match    `json:"match"`
	Destinations []string `json:"destinations"` // IDs
	DelaySec     int64    `json:"delay_sec"`
	RepeatSec    int64    `json:"repeat_sec"`
	Continue     bool     `json:"continue"`
	Default      bool     `json:"default"`
	Owner        string   `json:"owner"`
}

// Window is the window of a silence.
type Window struct {
	Weekdays []string `json:"weekdays"`
	Start    string   `json:"start"`
	End      string   `json:"end"`
	Timezone string   `json:"timezone"`
}

// Silence is a silence as the API shows it (section 19.6).
type Silence struct {
	ID      string     `json:"silence_id"`
	Match   Match      `json:"match"`
	From    time.Time  `json:"from"`
	To      *time.Time `json:"to"`
	Window  *Window    `json:"window"`
	By      string     `json:"by"`
	Comment string     `json:"comment"`
	State   string     `json:"state"`
	Owner   string     `json:"owner"`
}
