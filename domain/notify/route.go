package notify

import (
	"slices"
	"time"
)

// Route says which destinations get what it matches. Routes are looked at from the
// first to the last; the first that matches ends the search, unless it continues.
type Route struct {
	ID           string // a UUIDv7
	Name         string // unique, 1 to 100 characters
	Match        Match
	Destinations []string      // IDs
	Delay        time.Duration // from the opening of an incident; a delayed route leaves out what somebody has acknowledged
	Repeat       time.Duration // how often the message is repeated until somebody acknowledges the incident, at least PushInterval; 0: never
	Continue     bool          // the search goes on after this route
	Default      bool          // the last route, which matches everything and cannot be deleted
	Owner        string        // names the configuration file that manages it; empty: managed by hand
}

// The accepted delays and repetitions of a route.
const (
	MaxDelay  = 24 * time.Hour
	MinRepeat = time.Minute
	MaxRepeat = 24 * time.Hour
)

// Check returns what is wrong, as Destination.Check does. Whether the destinations exist
// is for the store to check.
func (r Route) Check() (problems []error) {
	problems = checkText(problems, "name", r.Name, 1, MaxName)
	problems = append(problems, r.Match.Check()...)
	if r.Default && !r.Match.isEmpty() {
		problems = addProblem(problems, "match of the default route must be empty")
	}
	if len(r.Destinations) > MaxListed {
		problems = addProblem(problems, "destinations has more than %d entries", MaxListed)
	}
	for n, id := range r.Destinations {
		if slices.Contains(r.Destinations[:n], id) {
			problems = addProblem(problems, "destinations has %.40q twice", id)
		}
	}
	if r.Delay < 0 || r.Delay > MaxDelay {
		problems = addProblem(problems, "delay_sec is %.0f; accepted is 0 to %.0f", r.Delay.Seconds(), MaxDelay.Seconds())
	}
	if r.Repeat != 0 && (r.Repeat < MinRepeat || r.Repeat > MaxRepeat) {
		problems = addProblem(problems, "repeat_sec is %.0f; accepted is 0, or %.0f to %.0f", r.Repeat.Seconds(), MinRepeat.Seconds(), MaxRepeat.Seconds())
	}
	return checkOwner(problems, r.Owner)
}
