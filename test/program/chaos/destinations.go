//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// publicURL is PUBLIC_URL. The links in messages begin with it, and name the incident.
const publicURL = "https://watch.example"

// destinationKey signs what the webhook destination gets.
const destinationKey = "a-key-of-the-webhook-destination"

// escalationDelay is the delay of the route to PagerDuty.
const escalationDelay = 6 * time.Second

// createDestinations makes a destination for the receiver and for each channel, and routes
// everything to them. PagerDuty gets what nobody has acknowledged after escalationDelay. No fault
// is active yet, but an answer may come too late for the client.
func (env *environment) createDestinations(ctx context.Context) error {
	webhook := fields{"url": "http://" + env.destinationLink.address + "/webhook", "signing_key": destinationKey}
	wanted := []map[string]any{{"name": "webhook", "kind": "webhook", "secrets": webhook}}
	for _, c := range env.channels {
		wanted = append(wanted, map[string]any{"name": c.name, "kind": c.kind, "config": c.config, "secrets": c.secrets})
	}
	return env.waitFor(ctx, startTimeout, func(ctx context.Context) (err error) {
		if env.destinationIDs, err = env.createMissing(ctx, "/api/v1/destinations", "destination", wanted); err != nil {
			return err
		}
		var all []string // destinations of the default route
		for _, name := range sortedKeys(env.destinationIDs) {
			if name != pagerDutyChannel && name != deletedChannel {
				all = append(all, env.destinationIDs[name])
			}
		}
		routes, err := env.createMissing(ctx, "/api/v1/routes", "route", []map[string]any{
			{"name": "escalation", "continue": true, "destinations": []string{env.destinationIDs[pagerDutyChannel]}, "delay_sec": escalationDelay.Seconds()},
			{"name": deletedChannel, "continue": true, "destinations": []string{env.destinationIDs[deletedChannel]}},
		})
		if err == nil {
			_, err = env.mustAnswer(ctx, http.MethodPatch, "/api/v1/routes/"+routes[defaultRoute], map[string]any{"destinations": all}, http.StatusOK)
		}
		return err
	})
}

// defaultRoute is the key of the default route in the answer of createMissing, whatever its
// name is.
const defaultRoute = "the default route"

// createMissing creates the objects that do not exist yet, and returns the IDs of all by name.
func (env *environment) createMissing(ctx context.Context, path, object string, wanted []map[string]any) (ids map[string]string, err error) {
	list, err := env.mustAnswer(ctx, http.MethodGet, path, nil, http.StatusOK)
	if err != nil {
		return nil, err
	}
	ids = map[string]string{}
	existing, _ := list[object+"s"].([]any)
	for _, e := range existing {
		e, _ := e.(map[string]any)
		ids[fmt.Sprint(e["name"])] = fmt.Sprint(e[object+"_id"])
		if e["default"] == true {
			ids[defaultRoute] = fmt.Sprint(e[object+"_id"])
		}
	}
	for _, body := range wanted {
		if name := fmt.Sprint(body["name"]); ids[name] == "" {
			created, err := env.mustAnswer(ctx, http.MethodPost, path, body, http.StatusCreated)
			if err != nil {
				return nil, err
			}
			ids[name] = fmt.Sprint(created[object+"_id"])
		}
	}
	return ids, nil
}
