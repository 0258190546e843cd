package applier

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const destinationsPath = "/api/v1/destinations"

// compareDestinations asks the gateway in a dry run what would change, because it alone
// knows the secrets.
func (p *plan) compareDestinations(ctx context.Context) error {
	var fallbacks []change
	for _, d := range p.file.Destinations {
		name := label("destination", d.Name, 0)
		stored := p.current.destination(d.Name)
		if stored == nil {
			p.changes = append(p.changes, change{sign: '+', name: name, do: func(ctx context.Context) error {
				var created destination
				err := p.gateway.Call(ctx, http.MethodPost, destinationsPath, p.destinationBody(d, nil), &created)
				p.current.ids[created.Name] = created.ID
				return err
			}})
			if d.Fallback != "" && p.current.ids[d.Fallback] == "" { // it may be created later
				fallbacks = append(fallbacks, p.fallback(d))
			}
			continue
		}
		var answer destination
		path := destinationsPath + "/" + stored.ID
		err := p.gateway.Call(ctx, http.MethodPatch, path+"?dry_run=true", p.destinationBody(d, stored), &answer)
		if refused, is := errors.AsType[*monitor.Error](err); is && refused.Code == monitor.InvalidConfig {
			p.problems = append(p.problems, fmt.Sprintf("%s: %s", name, refused.Message))
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if len(answer.Changed) > 0 {
			p.changes = append(p.changes, change{sign: '~', name: name, differing: answer.Changed, do: func(ctx context.Context) error {
				return p.gateway.Call(ctx, http.MethodPatch, path, p.destinationBody(d, stored), nil)
			}})
		}
		if d.Fallback != "" && p.current.ids[d.Fallback] == "" {
			fallbacks = append(fallbacks, p.fallback(d))
		}
	}
	p.changes = append(p.changes, fallbacks...)
	for _, d := range p.current.destinations {
		isInFile := func(wanted Destination) bool { return wanted.Name == d.Name }
		if slices.ContainsFunc(p.file.Destinations, isInFile) || p.isSpared(d.Owner) {
			continue
		}
		p.last = append(p.last, change{sign: '-', name: label("destination", d.Name, 0), do: func(ctx context.Context) error {
			return p.gateway.Call(ctx, http.MethodDelete, destinationsPath+"/"+d.ID, nil, nil)
		}})
	}
	return nil
}

// fallback sets a fallback that did not exist when the plan was made.
func (p *plan) fallback(d Destination) change {
	return change{sign: '~', name: label("destination", d.Name, 0), differing: []string{"fallback"}, do: func(ctx context.Context) error {
		body := map[string]any{"fallback": p.current.ids[d.Fallback]}
		return p.gateway.Call(ctx, http.MethodPatch, destinationsPath+"/"+p.current.ids[d.Name], body, nil)
	}}
}

// destinationBody is the request that makes a destination as the file has it. stored is
// nil for a new one. A former signing key stays: the gateway ends its rotation.
func (p *plan) destinationBody(d Destination, stored *destination) map[string]any {
	config, secrets := map[string]any{}, map[string]any{}
	if stored != nil {
		for name := range stored.Config {
			config[name] = nil
		}
		for _, name := range stored.Secrets {
			if name != "previous_signing_key" && !slices.Contains(d.Kept, name) {
				secrets[name] = nil
			}
		}
	}
	for name, value := range d.Config {
		config[name] = value
	}
	for name, value := range d.Secrets {
		secrets[name] = value
	}
	body := map[string]any{
		"name": d.Name, "kind": d.Kind, "language": d.Language, "config": config, "secrets": secrets, "owner": p.file.Owner,
	}
	if d.Enabled != nil {
		body["enabled"] = *d.Enabled
	}
	switch id := p.current.ids[d.Fallback]; {
	case d.Fallback == "":
		body["fallback"] = nil
	case id != "":
		body["fallback"] = id
	}
	return body
}
