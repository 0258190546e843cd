package applier

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const routesPath = "/api/v1/routes"

func (p *plan) compareRoutes() {
	for _, r := range p.file.Routes {
		stored := p.current.route(r)
		if stored == nil {
			p.changes = append(p.changes, change{sign: '+', name: label("route", r.Name, 0), do: func(ctx context.Context) error {
				var created notify.Route
				err := p.gateway.Call(ctx, http.MethodPost, routesPath, p.routeBody(r), &created)
				p.current.routes = append(p.current.routes, created)
				return err
			}})
			continue
		}
		name := label("route", r.Name, 0)
		if r.Default {
			name = defaultRoute
		}
		if differing := p.routeDifferences(r, *stored); len(differing) > 0 {
			p.changes = append(p.changes, change{sign: '~', name: name, differing: differing, do: func(ctx context.Context) error {
				return p.gateway.Call(ctx, http.MethodPatch, routesPath+"/"+stored.ID, p.routeBody(r), nil)
			}})
		}
	}
	p.compareOrder(p.pruneRoutes())
}

// pruneRoutes deletes routes that are not in the file, and names them. The default route
// loses its destinations.
func (p *plan) pruneRoutes() (pruned []string) {
	for _, r := range p.current.routes {
		isInFile := func(wanted notify.Route) bool {
			stored := p.current.route(wanted)
			return stored != nil && stored.ID == r.ID
		}
		if slices.ContainsFunc(p.file.Routes, isInFile) || p.isSpared(r.Owner) {
			continue
		}
		if r.Default {
			p.changes = append(p.changes, change{sign: '-', name: defaultRoute, differing: []string{"destinations"}, do: func(ctx context.Context) error {
				body := map[string]any{"destinations": []string{}, "on_duty": false, "delay_sec": 0, "repeat_sec": 0, "owner": nil}
				return p.gateway.Call(ctx, http.MethodPatch, routesPath+"/"+r.ID, body, nil)
			}})
			continue
		}
		pruned = append(pruned, r.Name)
		p.changes = append(p.changes, change{sign: '-', name: label("route", r.Name, 0), do: func(ctx context.Context) error {
			return p.gateway.Call(ctx, http.MethodDelete, routesPath+"/"+r.ID, nil, nil)
		}})
	}
	return pruned
}

// compareOrder puts the routes of the file into its order, in the places that they have
// among the others. New ones come last. pruned are those that will be deleted before.
func (p *plan) compareOrder(pruned []string) {
	var now, owned []string // all, and those of the file, in its order
	for _, r := range p.current.routes {
		if !r.Default && !slices.Contains(pruned, r.Name) {
			now = append(now, r.Name)
		}
	}
	for _, r := range p.file.Routes {
		if r.Default {
			continue
		}
		owned = append(owned, r.Name)
		if !slices.Contains(now, r.Name) {
			now = append(now, r.Name)
		}
	}
	wanted, next := slices.Clone(now), 0
	for n, name := range now {
		if slices.Contains(owned, name) {
			wanted[n] = owned[next]
			next++
		}
	}
	if slices.Equal(now, wanted) {
		return
	}
	p.changes = append(p.changes, change{sign: '~', name: "order of routes", differing: wanted, do: func(ctx context.Context) error {
		ids := map[string]string{}
		for _, r := range p.current.routes {
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
		for name, known := range p.current.ids {
			if known == id {
				have = append(have, name)
			}
		}
	}
	add("destinations", !slices.Equal(have, r.Destinations))
	add("windows", !sameWindows(r.Windows, stored.Windows))
	add("on_duty", r.OnDuty != stored.OnDuty)
	add("delay_sec", r.DelaySec != stored.DelaySec)
	add("repeat_sec", r.RepeatSec != stored.RepeatSec)
	add("continue", r.Continue != stored.Continue)
	add("owner", stored.Owner != p.file.Owner)
	return names
}

func (p *plan) routeBody(r notify.Route) map[string]any {
	ids := []string{}
	for _, name := range r.Destinations {
		ids = append(ids, p.current.ids[name])
	}
	body := map[string]any{"destinations": ids, "on_duty": r.OnDuty, "delay_sec": r.DelaySec, "repeat_sec": r.RepeatSec, "owner": p.file.Owner}
	if !r.Default {
		body["name"], body["match"], body["windows"], body["continue"] = r.Name, r.Match, append([]notify.Window{}, r.Windows...), r.Continue
	}
	return body
}

// sameMatch compares matches. The order in their lists does not matter.
func sameMatch(a, b notify.Match) bool {
	return slices.Equal(sorted(a.Events), sorted(b.Events)) && slices.Equal(sorted(a.Conditions), sorted(b.Conditions)) &&
		slices.Equal(sorted(a.Monitors), sorted(b.Monitors)) && slices.Equal(sorted(a.Hints), sorted(b.Hints)) &&
		a.MinSeverity == b.MinSeverity && same(a.MaxSeverity, b.MaxSeverity) && maps.Equal(a.Metadata, b.Metadata) && maps.Equal(a.Labels, b.Labels)
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// sorted returns each text of a list once.
func sorted[T ~string](list []T) []T { return slices.Compact(slices.Sorted(slices.Values(list))) }
