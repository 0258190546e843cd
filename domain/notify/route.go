package notify

import "slices"

// Route says which destinations get what it matches. Routes are looked at from the
// first to the last; the first that matches ends the search, unless it continues.
type Route struct {
	ID           string   `json:"route_id"` // a UUIDv7
	Name         string   `json:"name"`     // unique, 1 to 100 characters
	Match        Match    `json:"match"`
	Windows      []Window `json:"windows"`      // while one of them is open, the route may match; empty: at any time
	Destinations []string `json:"destinations"` // IDs
	OnDuty       bool     `json:"on_duty"`      // it also leads to the destinations of the people on duty; of nobody: to those of the default route
	DelaySec     int64    `json:"delay_sec"`    // from the opening of an incident; a delayed route leaves out what somebody has acknowledged
	RepeatSec    int64    `json:"repeat_sec"`   // how often the message is repeated until somebody acknowledges the incident, at least PushInterval; 0: never
	Continue     bool     `json:"continue"`     // the search goes on after this route
	Default      bool     `json:"default"`      // the last route, which matches everything but hints and cannot be deleted
	Owner        string   `json:"owner"`        // names the configuration file that manages it; empty: managed by hand
}

// The accepted delays and repetitions of a route.
const (
	maxDelaySec  = 24 * 60 * 60
	minRepeatSec = 60
	maxRepeatSec = 24 * 60 * 60
)

// Check returns what is wrong, as Destination.Check does. Whether the destinations exist
// is for the store to check.
func (r Route) Check() (problems []error) {
	problems = checkText(problems, "name", r.Name, 1, MaxName)
	problems = append(problems, r.Match.Check()...)
	if r.Default && !r.Match.isEmpty() {
		problems = addProblem(problems, "match", "of the default route must be empty")
	}
	if r.Match.MaxSeverity != nil {
		problems = addProblem(problems, "match.max_severity", "is for silences: an incident that gets worse would leave the route")
	}
	if problems = checkWindows(problems, "windows", r.Windows); r.Default && len(r.Windows) > 0 {
		problems = addProblem(problems, "windows", "of the default route must be empty")
	}
	if len(r.Destinations) > MaxListed {
		problems = addProblem(problems, "destinations", "has more than %d entries", MaxListed)
	}
	for n, id := range r.Destinations {
		if slices.Contains(r.Destinations[:n], id) {
			problems = addProblem(problems, "destinations", "has %.40q twice", id)
		}
	}
	if r.DelaySec < 0 || r.DelaySec > maxDelaySec {
		problems = addProblem(problems, "delay_sec", "is %d; accepted is 0 to %d", r.DelaySec, maxDelaySec)
	}
	if r.RepeatSec != 0 && (r.RepeatSec < minRepeatSec || r.RepeatSec > maxRepeatSec) {
		problems = addProblem(problems, "repeat_sec", "is %d; accepted is 0, or %d to %d", r.RepeatSec, minRepeatSec, maxRepeatSec)
	}
	return checkOwner(problems, r.Owner)
}
