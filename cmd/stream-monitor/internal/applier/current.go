package applier

import (
	"context"
	"net/http"
	"slices"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// currentState is what the gateway has.
type currentState struct {
	destinations []destination
	routes       []notify.Route
	silences     []routing.SilenceWithState
	duty         notify.Duty

	watched map[string][]watched // monitors and channels of the owner, by the name of their list

	ids map[string]string // of destinations by name; those that are created are added
}

// destination is a destination as the gateway answers.
type destination struct {
	notify.Destination

	Secrets []string `json:"secrets"` // names
	Changed []string `json:"changed"` // by a change
}

// read reads everything, but of monitors those of owner alone; empty: all.
func (s *currentState) read(ctx context.Context, gateway Gateway, owner string) error {
	var answer struct {
		Destinations []destination
		Routes       []notify.Route
		Silences     []routing.SilenceWithState
	}
	for _, path := range []string{destinationsPath, routesPath, silencesPath} {
		if err := gateway.Call(ctx, http.MethodGet, path, nil, &answer); err != nil {
			return err
		}
	}
	var duty notify.Duty
	if err := gateway.Call(ctx, http.MethodGet, dutyPath, nil, &duty); err != nil {
		return err
	}
	*s = currentState{answer.Destinations, answer.Routes, answer.Silences, duty, map[string][]watched{}, map[string]string{}}
	for _, list := range watchedLists {
		var err error
		if s.watched[list.name], err = readWatched(ctx, gateway, list, owner); err != nil {
			return err
		}
	}
	for _, d := range s.destinations {
		s.ids[d.Name] = d.ID
	}
	return nil
}

// destination returns the destination of a name; nil: there is none.
func (s *currentState) destination(name string) *destination {
	return find(s.destinations, func(d destination) bool { return d.Name == name })
}

// route returns the route that a route of the file is; nil: it is new.
func (s *currentState) route(r notify.Route) *notify.Route {
	return find(s.routes, func(stored notify.Route) bool {
		return r.Default && stored.Default || !r.Default && stored.Name == r.Name
	})
}

// silence returns the silence that a silence of a file is, among those that it owns: the one that has not
// ended, else the newest; nil: it is new.
func (s *currentState) silence(of notify.Silence, owns func(owner string) bool) *routing.SilenceWithState {
	is := func(stored routing.SilenceWithState) bool {
		return owns(stored.Owner) && stored.Comment == of.Comment
	}
	if lasting := find(s.silences, func(stored routing.SilenceWithState) bool { return is(stored) && stored.State != ended }); lasting != nil {
		return lasting
	}
	return find(s.silences, is)
}

func find[T any](all []T, is func(T) bool) *T {
	if n := slices.IndexFunc(all, is); n >= 0 {
		return &all[n]
	}
	return nil
}
