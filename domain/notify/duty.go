package notify

import (
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// Limits of what Duty holds.
const (
	MaxPeople    = 50
	MaxOverrides = 100 // that are not over
)

// Duty says who is on duty: a plan that is the same each week, and overrides. Routes lead to the destinations of these people.
type Duty struct {
	People    []Person   `json:"people"`
	Overrides []Override `json:"overrides"`
	Owner     string     `json:"owner"` // names the configuration file that keeps the people; empty: kept by hand
}

// Person is somebody who is on duty at times.
type Person struct {
	Name          string   `json:"name"`           // unique, 1 to 100 characters
	DestinationID string   `json:"destination_id"` // where the person is told; empty: it was deleted, and nobody is on duty in the person's time
	Windows       []Window `json:"windows"`        // in which the person is on duty; empty: by overrides alone
}

// Override puts somebody on duty in place of the weekly plan.
type Override struct {
	ID        string    `json:"override_id"` // a UUIDv7
	Person    string    `json:"person"`      // the name
	StartsAt  time.Time `json:"from"`
	EndsAt    time.Time `json:"to"`
	CreatedBy string    `json:"by"` // 1 to 100 characters
}

// At returns who is on duty at a time, in the order of People. Overrides that last go before the weekly plan. They count only for
// people who are still in it.
func (d Duty) At(at time.Time) []Person {
	overridden := d.who(func(p Person) bool {
		return slices.ContainsFunc(d.Overrides, func(o Override) bool {
			return o.Person == p.Name && !at.Before(o.StartsAt) && at.Before(o.EndsAt)
		})
	})
	if len(overridden) > 0 {
		return overridden
	}
	return d.who(func(p Person) bool { return anyOpen(p.Windows, at) })
}

func (d Duty) who(is func(Person) bool) (all []Person) {
	for _, p := range d.People {
		if is(p) {
			all = append(all, p)
		}
	}
	return all
}

// nextChange returns the next time at which a window or an override begins or ends. Zero: none does.
func (d Duty) nextChange(after time.Time) (at time.Time) {
	for _, p := range d.People {
		at = instant.Earliest(at, nextChange(p.Windows, after))
	}
	for _, o := range d.Overrides {
		for _, change := range []time.Time{o.StartsAt, o.EndsAt} {
			if change.After(after) {
				at = instant.Earliest(at, change)
			}
		}
	}
	return at
}

// NextHandover returns when others are on duty than at a time, and who. Zero: not within eight days.
func (d Duty) NextHandover(after time.Time) (at time.Time, people []Person) {
	names := func(all []Person) (names []string) {
		for _, p := range all {
			names = append(names, p.Name)
		}
		return names
	}
	now := names(d.At(after))
	for at = d.nextChange(after); !at.IsZero() && at.Sub(after) <= 8*24*time.Hour; at = d.nextChange(at) {
		if people = d.At(at); !slices.Equal(names(people), now) {
			return at, people
		}
	}
	return time.Time{}, nil
}

// CheckPeople returns what is wrong with the people, as Destination.Check does. The zones of their windows are loaded. Whether their destinations
// exist and get messages is for the caller to check.
func (d Duty) CheckPeople() (problems []error) {
	if len(d.People) > MaxPeople {
		return addProblem(problems, "people", "has %d entries; accepted are up to %d", len(d.People), MaxPeople)
	}
	for n, p := range d.People {
		field := fmt.Sprintf("people[%d]", n)
		problems = checkText(problems, field+".name", p.Name, 1, MaxName)
		if slices.ContainsFunc(d.People[:n], func(other Person) bool { return other.Name == p.Name }) {
			problems = addProblem(problems, field+".name", "is %.40q, which is there twice", p.Name)
		}
		problems = checkWindows(problems, field+".windows", p.Windows)
	}
	return checkOwner(problems, d.Owner)
}

// CheckOverride returns what is wrong with a new override, as Destination.Check does.
func (d Duty) CheckOverride(o Override, now time.Time) (problems []error) {
	if !slices.ContainsFunc(d.People, func(p Person) bool { return p.Name == o.Person }) {
		problems = addProblem(problems, "person", "is %.60q, but the plan has nobody of that name", o.Person)
	}
	problems = checkTime(problems, "from", o.StartsAt)
	switch {
	case !o.EndsAt.After(o.StartsAt):
		problems = addProblem(problems, "to", "must be after from")
	case !o.EndsAt.After(now):
		problems = addProblem(problems, "to", "is over already")
	default:
		problems = checkTime(problems, "to", o.EndsAt)
	}
	return checkText(problems, "by", o.CreatedBy, 1, MaxName)
}

// WithOverride returns the duty with another override, without those that are over.
func (d Duty) WithOverride(o Override, now time.Time) Duty {
	d.Overrides = append(slices.DeleteFunc(slices.Clone(d.Overrides), func(other Override) bool { return !other.EndsAt.After(now) }), o)
	return d
}
