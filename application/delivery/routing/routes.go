package routing

import (
	"context"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// RouteChange has the fields of a route to create or to change. A nil field is left out.
type RouteChange struct {
	Name         *string
	Match        *notify.Match    // as a whole
	Windows      *[]notify.Window // as a whole
	Destinations *[]string
	OnDuty       *bool
	DelaySec     *int64
	RepeatSec    *int64
	Continue     *bool
	Owner        *string // empty: none

	Unreadable []error // *monitor.Error of fields that could not be decoded
}

func (c RouteChange) apply(r *notify.Route) {
	set(&r.Name, c.Name)
	set(&r.Match, c.Match)
	if c.Windows != nil {
		r.Windows = *c.Windows
		notify.LoadZones(r.Windows, time.LoadLocation) // Check refuses a window without a zone
	}
	set(&r.Destinations, c.Destinations)
	set(&r.OnDuty, c.OnDuty)
	set(&r.DelaySec, c.DelaySec)
	set(&r.RepeatSec, c.RepeatSec)
	set(&r.Continue, c.Continue)
	set(&r.Owner, c.Owner)
}

// RouteService answers questions about routes, and changes them.
type RouteService struct {
	RouteReader
	RouteOrderer

	store        RouteWriter
	destinations DestinationReader
	newID        func() string
}

// Create creates a route, just before the default route. Errors: *monitor.Error
// NameTaken; InvalidConfig that names every wrong field.
func (s *RouteService) Create(ctx context.Context, c RouteChange) (notify.Route, error) {
	r := notify.Route{ID: s.newID(), Windows: []notify.Window{}, Destinations: []string{}}
	c.apply(&r)
	if err := s.checkRoute(ctx, r, c.Unreadable); err != nil {
		return notify.Route{}, err
	}
	return s.store.CreateRoute(ctx, r)
}

// checkRoute returns one error that names every wrong field, or nil.
func (s *RouteService) checkRoute(ctx context.Context, r notify.Route, unreadable []error) error {
	known, err := s.destinations.Destinations(ctx)
	if err != nil {
		return err
	}
	checked := r.Check()
	for _, id := range r.Destinations {
		at := slices.IndexFunc(known, func(d DestinationRecord) bool { return d.ID == id })
		switch {
		case at < 0:
			checked = append(checked, monitor.FieldErrorf("destinations", "has %.60q, but no destination has that id", id))
		case len(r.Match.Hints) > 0 && !known[at].GetsHints():
			checked = append(checked, monitor.FieldErrorf("destinations", "has the %s %.60q, which gets no hints", known[at].Kind, known[at].Name))
		}
	}
	return joinProblems(unreadable, checked)
}

// Change changes a route, and stores it even if nothing differs. Errors: *monitor.Error RouteNotFound, NameTaken;
// InvalidConfig that names every wrong field.
func (s *RouteService) Change(ctx context.Context, id string, c RouteChange) (notify.Route, error) {
	before, err := s.Route(ctx, id)
	if err != nil {
		return notify.Route{}, err
	}
	draft := before
	c.apply(&draft)
	if before.Default {
		c.Unreadable = append(c.Unreadable, c.ofDefault(before)...)
	}
	if err := s.checkRoute(ctx, draft, c.Unreadable); err != nil {
		return notify.Route{}, err
	}
	return s.store.ChangeRoute(ctx, id, func(r *notify.Route) error {
		c.apply(r)
		return joinProblems(nil, r.Check())
	})
}

// ofDefault refuses changes that the default route does not take.
func (c RouteChange) ofDefault(r notify.Route) (refused []error) {
	refuse := func(field string, changed bool) {
		if changed {
			refused = append(refused, monitor.FieldErrorf(field, "of the default route cannot be changed"))
		}
	}
	refuse("name", c.Name != nil && *c.Name != r.Name)
	refuse("continue", c.Continue != nil && *c.Continue)
	return refused
}

// Delete deletes a route. Errors: *monitor.Error RouteNotFound; InvalidConfig for the
// default route.
func (s *RouteService) Delete(ctx context.Context, id string) error {
	if _, err := s.Route(ctx, id); hasCode(err, RouteNotFound) {
		return err // another error: one that cannot be read can be deleted
	}
	return s.store.DeleteRoute(ctx, id)
}
