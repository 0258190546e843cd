//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/line"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/pagerduty"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/teams"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/telegram"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

// publicURL is PUBLIC_URL. The links in messages begin with it, and name the incident.
const publicURL = "https://watch.example"

// destinationKey signs what the webhook destination gets.
const destinationKey = "a-key-of-the-webhook-destination"

// channelKind names the kind of a channel, as the product does.
type channelKind string

// The channels. One edits its message, one only posts. Two know a repeated message by its
// key, so that people never see it twice.
const (
	editingChannel  channelKind = "telegram"
	postingChannel  channelKind = "teams"
	alertingChannel channelKind = "pagerduty"
	keyedChannel    channelKind = "line"
)

// fakeChannel is the part of a fake that this program uses.
type fakeChannel interface {
	Messages() []channel.Message
	Fail(fault channel.Fault)
	Recover()
	Close()
}

// channelUnderTest is a channel with the link to it.
type channelUnderTest struct {
	kind            channelKind
	fake            fakeChannel
	link            *link
	config, secrets map[string]string
}

// newChannel makes a link to a fake at a URL, and the fields of its destination. These
// are made of the URL of the link.
func newChannel(kind channelKind, fake fakeChannel, url string, fields func(url string) (config, secrets map[string]string)) (channelUnderTest, error) {
	c := channelUnderTest{kind: kind, fake: fake}
	var err error
	if c.link, err = newLink(string(kind), hostOf(url)); err != nil {
		return c, err
	}
	c.config, c.secrets = fields("http://" + c.link.address())
	return c, nil
}

// startDestinations starts the receiver and the channels that the destinations lead to.
func (env *environment) startDestinations() (err error) {
	env.destination, err = webhookreceiver.Start(webhookreceiver.Config{Key: destinationKey, Tolerance: timestampTolerance})
	if err != nil {
		return err
	}
	if env.destinationLink, err = newLink("webhook destination", hostOf(env.destination.URL())); err != nil {
		return err
	}
	add := func(c channelUnderTest, err error) error {
		env.channels = append(env.channels, c)
		return err
	}
	bot := telegram.New()
	if err := add(newChannel(editingChannel, bot, bot.URL, func(url string) (config, secrets map[string]string) {
		return map[string]string{"chat_id": telegram.ChatID, "api_url": url}, map[string]string{"bot_token": telegram.Token}
	})); err != nil {
		return err
	}
	workflow := teams.New()
	if err := add(newChannel(postingChannel, workflow, workflow.URL, func(url string) (config, secrets map[string]string) {
		return map[string]string{}, map[string]string{"workflow_url": strings.Replace(workflow.WorkflowURL(), workflow.URL, url, 1)}
	})); err != nil {
		return err
	}
	messenger := line.New()
	if err := add(newChannel(keyedChannel, messenger, messenger.URL, func(url string) (config, secrets map[string]string) {
		return map[string]string{"to": line.Group, "api_url": url}, map[string]string{"channel_access_token": line.Token}
	})); err != nil {
		return err
	}
	pager := pagerduty.New()
	return add(newChannel(alertingChannel, pager, pager.URL, func(url string) (config, secrets map[string]string) {
		return map[string]string{"api_url": url}, map[string]string{"routing_key": pagerduty.RoutingKey}
	}))
}

// closeDestinations ends what startDestinations has started.
func (env *environment) closeDestinations() {
	env.destinationLink.close()
	if env.destination != nil {
		_ = env.destination.Close()
	}
	for _, c := range env.channels {
		c.link.close()
		c.fake.Close()
	}
}

// createDestinations makes a destination for the receiver and for each channel, and routes
// everything to them. No fault is active yet, but an answer may come too late for the client.
func (env *environment) createDestinations(ctx context.Context) error {
	wanted := []map[string]any{{
		"name": "webhook", "kind": "webhook", "secrets": map[string]string{
			"url": "http://" + env.destinationLink.address() + "/webhook", "signing_key": destinationKey,
		},
	}}
	for _, c := range env.channels {
		wanted = append(wanted, map[string]any{"name": c.kind, "kind": c.kind, "config": c.config, "secrets": c.secrets})
	}
	return env.waitFor(ctx, startTimeout, func(ctx context.Context) error {
		list, err := env.call(ctx, http.MethodGet, "/api/v1/destinations", nil)
		if err != nil {
			return err
		}
		env.destinationIDs = map[string]string{}
		existing, _ := list.Body["destinations"].([]any)
		for _, e := range existing {
			d, _ := e.(map[string]any)
			env.destinationIDs[fmt.Sprint(d["name"])] = fmt.Sprint(d["destination_id"])
		}
		var ids []string
		for _, body := range wanted {
			name := fmt.Sprint(body["name"])
			if env.destinationIDs[name] == "" {
				response, err := env.call(ctx, http.MethodPost, "/api/v1/destinations", body)
				if err != nil || response.Status != http.StatusCreated {
					return fmt.Errorf("create the destination %s: %d %v %w", name, response.Status, response.Body, err)
				}
				env.destinationIDs[name] = fmt.Sprint(response.Body["destination_id"])
			}
			ids = append(ids, env.destinationIDs[name])
		}
		return env.routeEverythingTo(ctx, ids)
	})
}

// routeEverythingTo gives the default route its destinations.
func (env *environment) routeEverythingTo(ctx context.Context, ids []string) error {
	list, err := env.call(ctx, http.MethodGet, "/api/v1/routes", nil)
	if err != nil {
		return err
	}
	routes, _ := list.Body["routes"].([]any)
	if len(routes) != 1 {
		return fmt.Errorf("the routes are %v", list.Body)
	}
	route, _ := routes[0].(map[string]any)
	response, err := env.call(ctx, http.MethodPatch, fmt.Sprint("/api/v1/routes/", route["route_id"]), map[string]any{"destinations": ids})
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
// The receivers do so at most maxFailedDeliveries times.
func (env *environment) disturbOutside(response httpfault.Fault) (stop func()) {
	stops := []func(){env.receiver.Inject(maxFailedDeliveries, response), env.destination.Inject(maxFailedDeliveries, response)}
	for _, c := range env.channels {
		c.fake.Fail(channel.Fault{HTTP: response})
		stops = append(stops, c.fake.Recover)
	}
	return func() {
		for _, stop := range slices.Backward(stops) {
			stop()
		}
	}
}

// disturbAll applies a toxic to links at the same time.
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
