//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

// publicURL is PUBLIC_URL. The links in messages begin with it, and name the incident.
const publicURL = "https://watch.example"

// destinationKey signs what the webhook destination gets.
const destinationKey = "a-key-of-the-webhook-destination"

// startDestinations starts the receiver and the channels that the destinations lead to.
func (env *environment) startDestinations() (err error) {
	env.destination, err = webhookreceiver.Start(webhookreceiver.Config{Key: destinationKey, Tolerance: timestampTolerance})
	if err != nil {
		return err
	}
	if env.destinationLink, err = newLink("webhook destination", hostOf(env.destination.URL())); err != nil {
		return err
	}
	for _, kind := range channelKinds {
		c, err := env.startChannel(kind)
		env.channels = append(env.channels, c)
		if err != nil {
			return err
		}
	}
	if env.schedule.deletesDestination() {
		if env.deleted, err = env.startChannel(teamsChannel); err != nil {
			return err
		}
		env.deleted.name = "deleted"
	}
	return nil
}

// closeDestinations ends what startDestinations has started.
func (env *environment) closeDestinations() {
	env.destinationLink.close()
	if env.destination != nil {
		_ = env.destination.Close()
	}
	for _, c := range append(env.channels, env.deleted) {
		c.link.close()
		if c.fake != nil {
			c.fake.Close()
		}
	}
}

// escalationDelay is the delay of the route to PagerDuty.
const escalationDelay = 6 * time.Second

// createDestinations makes a destination for the receiver and for each channel, and routes
// everything to them. PagerDuty gets what nobody has acknowledged after escalationDelay. No fault
// is active yet, but an answer may come too late for the client.
func (env *environment) createDestinations(ctx context.Context) error {
	wanted := []map[string]any{{
		"name": "webhook", "kind": "webhook", "secrets": map[string]string{
			"url": "http://" + env.destinationLink.address + "/webhook", "signing_key": destinationKey,
		},
	}}
	for _, c := range append(env.channels, env.deleted) {
		if c.fake != nil {
			wanted = append(wanted, map[string]any{"name": c.name, "kind": c.kind, "config": c.config, "secrets": c.secrets})
		}
	}
	return env.waitFor(ctx, startTimeout, func(ctx context.Context) error {
		var err error
		if env.destinationIDs, err = env.idsByName(ctx, "/api/v1/destinations", "destinations", "destination_id"); err != nil {
			return err
		}
		for _, body := range wanted {
			name := fmt.Sprint(body["name"])
			if env.destinationIDs[name] != "" {
				continue
			}
			response, err := env.call(ctx, http.MethodPost, "/api/v1/destinations", body)
			if err != nil || response.Status != http.StatusCreated {
				return fmt.Errorf("create the destination %s: %d %v %w", name, response.Status, response.Body, err)
			}
			env.destinationIDs[name] = fmt.Sprint(response.Body["destination_id"])
		}
		return env.createRoutes(ctx)
	})
}

// idsByName returns the IDs of the objects that a list of the API has, by their names.
func (env *environment) idsByName(ctx context.Context, path, list, idField string) (map[string]string, error) {
	response, err := env.call(ctx, http.MethodGet, path, nil)
	if err != nil || response.Status != http.StatusOK {
		return nil, fmt.Errorf("list %s: %d %v %w", list, response.Status, response.Body, err)
	}
	ids := map[string]string{}
	existing, _ := response.Body[list].([]any)
	for _, e := range existing {
		object, _ := e.(map[string]any)
		ids[fmt.Sprint(object["name"])] = fmt.Sprint(object[idField])
		if object["default"] == true {
			ids[defaultRoute] = fmt.Sprint(object[idField])
		}
	}
	return ids, nil
}

// defaultRoute is the key of the default route in the answer of idsByName, whatever its name is.
const defaultRoute = "the default route"

// createRoutes makes the routes that are missing, and gives the default route its destinations.
func (env *environment) createRoutes(ctx context.Context) error {
	routes, err := env.idsByName(ctx, "/api/v1/routes", "routes", "route_id")
	if err != nil {
		return err
	}
	env.defaultRouteID = routes[defaultRoute]
	escalation := map[string]any{"destinations": []string{env.destinationIDs[string(pagerDutyChannel)]}, "delay_sec": escalationDelay.Seconds()}
	wanted := map[string]map[string]any{"escalation": escalation}
	if env.deleted.fake != nil {
		wanted[env.deleted.name] = map[string]any{"destinations": []string{env.destinationIDs[env.deleted.name]}}
	}
	for name, body := range wanted {
		if routes[name] != "" {
			continue
		}
		body["name"], body["continue"] = name, true
		if response, err := env.call(ctx, http.MethodPost, "/api/v1/routes", body); err != nil || response.Status != http.StatusCreated {
			return fmt.Errorf("create the route %s: %d %v %w", name, response.Status, response.Body, err)
		}
	}
	return env.routeDefault(ctx, "")
}

// routeDefault leads the default route to the receiver and to every channel but PagerDuty and left.
func (env *environment) routeDefault(ctx context.Context, left channelKind) error {
	ids := []string{env.destinationIDs["webhook"]}
	for _, kind := range channelKinds {
		if kind != left && kind != pagerDutyChannel {
			ids = append(ids, env.destinationIDs[string(kind)])
		}
	}
	response, err := env.call(ctx, http.MethodPatch, "/api/v1/routes/"+env.defaultRouteID, map[string]any{"destinations": ids})
	if err != nil || response.Status != http.StatusOK {
		return fmt.Errorf("change the default route: %d %v %w", response.Status, response.Body, err)
	}
	return nil
}

// outside returns the links to the callback, to the webhook destination and to the channels.
func (env *environment) outside() []*link {
	all := []*link{env.links[receiverLink], env.destinationLink}
	for _, c := range env.channels {
		all = append(all, c.link)
	}
	return all
}

// disturbOutside makes every receiver and channel answer with response until stop is called.
// The receivers do so at most maxFailedDeliveries times. The mail server does what mail says.
func (env *environment) disturbOutside(response httpfault.Fault, mail channel.Fault) (stop func()) {
	stops := []func(){env.receiver.Inject(maxFailedDeliveries, response), env.destination.Inject(maxFailedDeliveries, response)}
	for _, c := range env.channels {
		if c.kind == emailChannel {
			c.fake.Fail(mail)
		} else {
			c.fake.Fail(channel.Fault{HTTP: response})
		}
		stops = append(stops, c.fake.Recover)
	}
	return func() {
		for _, stop := range slices.Backward(stops) {
			stop()
		}
	}
}

// disturbAll disturbs links at the same time.
func disturbAll(links []*link, disturb func(*link) error) error {
	var all sync.WaitGroup
	errs := make([]error, len(links))
	for n, l := range links {
		all.Go(func() { errs[n] = disturb(l) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
