package routing

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// DutyNow is who is on duty, and who will be.
type DutyNow struct {
	notify.Duty

	OnDuty     []notify.Person
	HandoverAt time.Time // when others are on duty; zero: not within eight days
	Next       []notify.Person
}

// DutyChange has the fields of the duty to change. A nil field is left out.
type DutyChange struct {
	People *[]notify.Person // as a whole
	Owner  *string          // empty: none

	Unreadable []error // *monitor.Error of fields that could not be decoded
}

// DutyService answers who is on duty, and changes it (section 19.10).
type DutyService struct {
	store        DutyStore
	destinations DestinationReader
	newID        func() string
	now          func() time.Time
}

// Get returns who is on duty.
func (s *DutyService) Get(ctx context.Context) (DutyNow, error) {
	d, err := s.store.Duty(ctx)
	return s.atPresent(d, err)
}

func (s *DutyService) atPresent(d notify.Duty, err error) (DutyNow, error) {
	if err != nil {
		return DutyNow{}, err
	}
	now := s.now()
	at, next := d.NextHandover(now)
	return DutyNow{d, d.At(now), at, next}, nil
}

// Change changes the weekly plan. Overrides of people that it has no more are dropped. Errors: *monitor.Error InvalidConfig that names
// every wrong field.
func (s *DutyService) Change(ctx context.Context, c DutyChange) (DutyNow, error) {
	known, err := s.destinations.Destinations(ctx)
	if err != nil {
		return DutyNow{}, err
	}
	return s.atPresent(s.store.ChangeDuty(ctx, func(d *notify.Duty, _ time.Time) error {
		set(&d.People, c.People)
		set(&d.Owner, c.Owner)
		for _, p := range d.People {
			notify.LoadZones(p.Windows, time.LoadLocation) // CheckPeople refuses a window without a zone
		}
		d.Overrides = slices.DeleteFunc(d.Overrides, func(o notify.Override) bool {
			return !slices.ContainsFunc(d.People, func(p notify.Person) bool { return p.Name == o.Person })
		})
		return joinProblems(c.Unreadable, append(d.CheckPeople(), checkDestinations(d.People, known)...))
	}))
}

// checkDestinations refuses people who are told nowhere, or by a webhook.
func checkDestinations(people []notify.Person, known []DestinationRecord) (wrong []error) {
	for n, p := range people {
		field := fmt.Sprintf("people[%d].destination_id", n)
		at := slices.IndexFunc(known, func(d DestinationRecord) bool { return d.ID == p.DestinationID })
		switch {
		case p.DestinationID == "":
			wrong = append(wrong, monitor.FieldErrorf(field, "is missing: choose where %.60s is told", p.Name))
		case at < 0:
			wrong = append(wrong, monitor.FieldErrorf(field, "is %.60q, but no destination has that id", p.DestinationID))
		case known[at].GetsEvents():
			wrong = append(wrong, monitor.FieldErrorf(field, "is the webhook %.60q, which gets no messages", known[at].Name))
		}
	}
	return wrong
}

// Override puts somebody on duty for a time. Without StartsAt it begins now, by the clock of the store; those that are over are dropped. Errors:
// *monitor.Error InvalidConfig that names every wrong field, or when there are MaxOverrides.
func (s *DutyService) Override(ctx context.Context, o notify.Override, unreadable []error) (DutyNow, string, error) {
	o.ID = s.newID()
	d, err := s.atPresent(s.store.ChangeDuty(ctx, func(d *notify.Duty, now time.Time) error {
		added := o
		if added.StartsAt.IsZero() {
			added.StartsAt = now.Truncate(time.Millisecond)
		}
		checked := d.CheckOverride(added, now)
		if *d = d.WithOverride(added, now); len(d.Overrides) > notify.MaxOverrides {
			checked = append(checked, refusef("there are %d overrides already; end one first", notify.MaxOverrides))
		}
		return joinProblems(unreadable, checked)
	}))
	return d, o.ID, err
}

// EndOverride removes an override. Errors: *monitor.Error OverrideNotFound.
func (s *DutyService) EndOverride(ctx context.Context, id string) error {
	_, err := s.store.ChangeDuty(ctx, func(d *notify.Duty, _ time.Time) error {
		before := len(d.Overrides)
		if d.Overrides = slices.DeleteFunc(d.Overrides, func(o notify.Override) bool { return o.ID == id }); len(d.Overrides) == before {
			return monitor.Errorf(OverrideNotFound, "no override has the id %.60q; it may be over", id)
		}
		return nil
	})
	return err
}
