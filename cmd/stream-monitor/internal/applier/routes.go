package applier

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const routesPath = "/api/v1/routes"

// storedRoute returns the route of the gateway that a route of the file is; nil: it is new.
func (p *plan) storedRoute(r notify.Route) *notify.Route {
	n := slices.IndexFunc(p.routes, func(stored notify.Route) bool {
		return r.Default && stored.Default || !r.Default && stored.Name == r.Name
	})
	if n < 0 {
		return nil
	}
	return &p.routes[n]
}

func (p *plan) compareRoutes() {
	for _, r := range p.file.Routes {
		stored := p.storedRoute(r)
		if stored == nil {
			p.changes = append(p.changes, change{'+', label("route", r.Name, 0), nil, func(ctx context.Context) error {
				var created notify.Route
				err := p.gateway.Call(ctx, http.MethodPost, routesPath, p.routeBody(r), &created)
				p.routes = append(p.routes, created)
				return err
			}})
			continue
		}
		name := label("route", r.Name, 0)
		if r.Default {
			name = defaultRoute
		}
		if differing := p.routeDifferences(r, *stored); len(differing) > 0 {
			p.changes = append(p.changes, change{'~', name, differing, func(ctx context.Context) error {
				return p.gateway.Call(ctx, http.MethodPatch, routesPath+"/"+stored.ID, p.routeBody(r), nil)
			}})
		}
	}
	pruned := p.pruneRoutes()
	p.compareOrder(slices.DeleteFunc(p.namesOfRoutes(), func(name string) bool { return slices.Contains(pruned, name) }))
}

// pruneRoutes deletes routes that are not in the file, and names them. The default route
// loses its destinations.
func (p *plan) pruneRoutes() (pruned []string) {
	for _, r := range p.routes {
		if p.keepsRoute(r) || p.isSpared(r.Owner) {
			continue
		}
		if r.Default {
			p.changes = append(p.changes, change{'-', defaultRoute, []string{"destinations"}, func(ctx context.Context) error {
				body := map[string]any{"destinations": []string{}, "delay_sec": 0, "repeat_sec": 0, "owner": nil}
				return p.gateway.Call(ctx, http.MethodPatch, routesPath+"/"+r.ID, body, nil)
			}})
			continue
		}
		pruned = append(pruned, r.Name)
		p.changes = append(p.changes, change{'-', label("route", r.Name, 0), nil, func(ctx context.Context) error {
			return p.gateway.Call(ctx, http.MethodDelete, routesPath+"/"+r.ID, nil, nil)
		}})
	}
	return pruned
}

func (p *plan) keepsRoute(r notify.Route) bool {
	return slices.ContainsFunc(p.file.Routes, func(kept notify.Route) bool {
		stored := p.storedRoute(kept)
		return stored != nil && stored.ID == r.ID
	})
}

// namesOfRoutes returns the names of the routes but the default one, in their order.
func (p *plan) namesOfRoutes() (names []string) {
	for _, r := range p.routes {
		if !r.Default {
			names = append(names, r.Name)
		}
	}
	return names
}

// compareOrder puts the routes of the file into its order, in the places that they have
// among the others. New ones come last.
func (p *plan) compareOrder(before []string) {
	var kept []string // by the file, in its order
	for _, r := range p.file.Routes {
		if !r.Default {
			kept = append(kept, r.Name)
		}
	}
	now := slices.Clone(before)
	for _, name := range kept {
		if !slices.Contains(now, name) {
			now = append(now, name)
		}
	}
	wanted, next := slices.Clone(now), 0
	for n, name := range now {
		if slices.Contains(kept, name) {
			wanted[n] = kept[next]
			next++
		}
	}
	if slices.Equal(now, wanted) {
		return
	}
	p.changes = append(p.changes, change{'~', "order of routes", wanted, func(ctx context.Context) error {
		ids := map[string]string{}
		for _, r := range p.routes {
			ids[r.Name] = r.ID
		}
		var order []string
		for _, name := range wanted {
			order = append(order, ids[name])
		}
		return p.gateway.Call(ctx, http.MethodPut, routesPath+"/order", map[string]any{"routes": order}, nil)
	}})
}

// routeDifferences names the fields that differ.
func (p *plan) routeDifferences(r notify.Route, stored notify.Route) (names []string) {
	add := func(name string, differs bool) {
		if differs {
			names = append(names, name)
		}
	}
	add("match", !sameMatch(r.Match, stored.Match))
	var have []string
	for _, id := range stored.Destinations {
		for name, known := range p.ids {
			if known == id {
				have = append(have, name)
			}
		}
	}
	add("destinations", !slices.Equal(have, r.Destinations))
	add("delay_sec", r.DelaySec != stored.DelaySec)
	add("repeat_sec", r.RepeatSec != stored.RepeatSec)
	add("continue", r.Continue != stored.Continue)
	add("owner", stored.Owner != p.file.Owner)
	return names
}

func (p *plan) routeBody(r notify.Route) map[string]any {
	ids := []string{}
	for _, name := range r.Destinations {
		ids = append(ids, p.ids[name])
	}
	body := map[string]any{"destinations": ids, "delay_sec": r.DelaySec, "repeat_sec": r.RepeatSec, "owner": p.file.Owner}
	if !r.Default {
		body["name"], body["match"], body["continue"] = r.Name, r.Match, r.Continue
	}
	return body
}

// sameMatch compares matches. The order in their lists does not matter.
func sameMatch(a, b notify.Match) bool {
	return slices.Equal(sorted(a.Events), sorted(b.Events)) && slices.Equal(sorted(a.Conditions), sorted(b.Conditions)) &&
		slices.Equal(sorted(a.Monitors), sorted(b.Monitors)) && a.MinSeverity == b.MinSeverity && maps.Equal(a.Metadata, b.Metadata)
}

// sorted returns each text of a list once.
func sorted[T ~string](list []T) []T { return slices.Compact(slices.Sorted(slices.Values(list))) }
