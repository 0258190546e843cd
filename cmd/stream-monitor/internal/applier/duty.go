package applier

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const dutyPath = "/api/v1/duty"

// readPeople reads the weekly plan of duty.
func readPeople(p *Problems, all []json.RawMessage) *[]notify.Person {
	people := []notify.Person{}
	for n, raw := range all {
		var person notify.Person
		var windows []json.RawMessage
		name := nameOf("duty", "name", n, raw) + ": "
		readObject(p, name, raw, knownFields{"name": (*text)(&person.Name), "destination": (*text)(&person.DestinationID), "windows": &windows})
		if person.DestinationID == "" {
			*p = append(*p, name+"destination is missing: it says where the person is told")
		}
		person.Windows = readWindows(p, name, windows)
		people = append(people, person)
	}
	return &people
}

// checkDuty finds names of destinations that nobody has, and a plan that the file does not keep.
func (p *plan) checkDuty(known map[string]bool, refuse func(format string, args ...any)) {
	if p.file.Duty == nil {
		return
	}
	for n, person := range *p.file.Duty {
		if !known[person.DestinationID] {
			refuse("%s: destination is %q, but no destination has that name", label("duty", person.Name, n), person.DestinationID)
		}
	}
	if stored := p.current.duty; len(stored.People) > 0 && !p.owns(stored.Owner) {
		refuse("duty: another file, or nobody, keeps the plan that is there (owner %q); remove its people, leave duty out, or keep it from now on with --adopt", stored.Owner)
	}
}

func (p *plan) compareDuty() {
	stored := p.current.duty
	if p.file.Duty == nil {
		if len(stored.People) > 0 && !p.isSpared(stored.Owner) {
			p.changes = append(p.changes, change{sign: '-', name: "duty", do: func(ctx context.Context) error { return p.changeDuty(ctx, nil, nil) }})
		}
		return
	}
	differing := p.peopleDiffering(*p.file.Duty, stored.People)
	if len(differing) == 0 && stored.Owner == p.file.Owner {
		return
	}
	sign := byte('~')
	if len(stored.People) == 0 {
		sign = '+'
	}
	p.changes = append(p.changes, change{sign: sign, name: "duty", differing: differing, do: func(ctx context.Context) error {
		people := []map[string]any{}
		for _, person := range *p.file.Duty {
			people = append(people, map[string]any{"name": person.Name, "destination_id": p.current.ids[person.DestinationID], "windows": append([]notify.Window{}, person.Windows...)})
		}
		return p.changeDuty(ctx, people, p.file.Owner)
	}})
}

func (p *plan) changeDuty(ctx context.Context, people []map[string]any, owner any) error {
	return p.gateway.Call(ctx, http.MethodPatch, dutyPath, map[string]any{"people": append([]map[string]any{}, people...), "owner": owner}, nil)
}

// peopleDiffering names the people who differ, are new or are gone, and "order" if that alone differs.
func (p *plan) peopleDiffering(people, stored []notify.Person) (names []string) {
	missing := func(all []notify.Person, from []notify.Person) {
		for _, person := range all {
			if !slices.ContainsFunc(from, func(other notify.Person) bool { return p.samePerson(person, other) || p.samePerson(other, person) }) && !slices.Contains(names, person.Name) {
				names = append(names, person.Name)
			}
		}
	}
	missing(people, stored)
	missing(stored, people)
	if len(names) == 0 && !slices.EqualFunc(people, stored, p.samePerson) {
		return []string{"order"}
	}
	return names
}

// samePerson compares a person of the file with a stored one.
func (p *plan) samePerson(person, stored notify.Person) bool {
	return person.Name == stored.Name && p.current.ids[person.DestinationID] == stored.DestinationID && sameWindows(person.Windows, stored.Windows)
}

func sameWindows(a, b []notify.Window) bool {
	return slices.EqualFunc(a, b, func(a, b notify.Window) bool { return sameWindow(&a, &b) })
}
