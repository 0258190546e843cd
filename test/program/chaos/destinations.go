//go:build linux

package main

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/discord"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/line"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/ntfy"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/pagerduty"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/slack"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/smtp"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/teams"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/telegram"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

// publicURL is PUBLIC_URL. The links in messages begin with it, and name the incident.
const publicURL = "https://watch.example"

// destinationKey signs what the webhook destination gets.
const destinationKey = "a-key-of-the-webhook-destination"

// channelKind names the kind of a channel, as the product does. It is the name of the destination, too.
type channelKind string

// The kinds of channels.
const (
	slackChannel     channelKind = "slack"
	discordChannel   channelKind = "discord"
	teamsChannel     channelKind = "teams"
	lineChannel      channelKind = "line"
	telegramChannel  channelKind = "telegram"
	pagerDutyChannel channelKind = "pagerduty"
	ntfyChannel      channelKind = "ntfy"
	emailChannel     channelKind = "email"
)

// channelKinds lists all of them.
var channelKinds = []channelKind{
	slackChannel, discordChannel, teamsChannel, lineChannel, telegramChannel, pagerDutyChannel, ntfyChannel, emailChannel,
}

// channelTraits are what a channel can do.
type channelTraits struct {
	// edited returns the ID of the message that a stored ref names; nil: the channel does not edit.
	edited func(ref string) string

	keyed  bool // it knows a repeated message by its key, so people never see it twice
	silent bool // a message of it makes no sound if it is sent as such
}

// traitsOf are the traits of each kind. An alert of PagerDuty has the key of its incident, and is
// found by that.
var traitsOf = map[channelKind]channelTraits{
	slackChannel:     {edited: func(ref string) string { return part(ref, 1) }}, // of the channel, the message
	discordChannel:   {edited: func(ref string) string { return ref }, silent: true},
	teamsChannel:     {},
	lineChannel:      {keyed: true, silent: true},
	telegramChannel:  {edited: func(ref string) string { return part(ref, 1) }, silent: true}, // of the chat, the message, and whether it has a photo
	pagerDutyChannel: {},
	ntfyChannel:      {edited: func(ref string) string { return ref }, keyed: true, silent: true},
	emailChannel:     {},
}

// part returns the nth part of a ref; empty: it has none.
func part(ref string, n int) string {
	if parts := strings.Split(ref, "/"); n < len(parts) {
		return parts[n]
	}
	return ""
}

// fakeChannel is the part of a fake that this program uses.
type fakeChannel interface {
	Messages() []channel.Message
	Fail(fault channel.Fault)
	Recover()
	Close()
}

// channelUnderTest is a channel with the link to it.
type channelUnderTest struct {
	name            string // of the destination
	kind            channelKind
	fake            fakeChannel
	link            *link
	config, secrets map[string]string
}

// newChannel makes a link to a fake at an address, and the fields of its destination. These
// are made of the address of the link.
func newChannel(kind channelKind, fake fakeChannel, address string, fields func(address string) (config, secrets map[string]string)) (channelUnderTest, error) {
	c := channelUnderTest{name: string(kind), kind: kind, fake: fake}
	var err error
	if c.link, err = newLink(c.name, address); err != nil {
		return c, err
	}
	c.config, c.secrets = fields(c.link.address())
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

// startChannel starts the fake of a channel, and a link to it.
func (env *environment) startChannel(kind channelKind) (channelUnderTest, error) {
	type fields = map[string]string
	switch kind {
	case slackChannel:
		s := slack.New()
		return newChannel(kind, s, hostOf(s.URL), func(address string) (config, secrets fields) {
			return fields{"channel": slack.ChannelID, "api_url": "http://" + address + "/api"}, fields{"bot_token": slack.Token}
		})
	case discordChannel:
		s := discord.New()
		return newChannel(kind, s, hostOf(s.URL), func(address string) (config, secrets fields) {
			return fields{}, fields{"webhook_url": strings.Replace(s.WebhookURL(), hostOf(s.URL), address, 1)}
		})
	case teamsChannel:
		s := teams.New()
		return newChannel(kind, s, hostOf(s.URL), func(address string) (config, secrets fields) {
			return fields{}, fields{"workflow_url": strings.Replace(s.WorkflowURL(), hostOf(s.URL), address, 1)}
		})
	case lineChannel:
		s := line.New()
		return newChannel(kind, s, hostOf(s.URL), func(address string) (config, secrets fields) {
			return fields{"to": line.Group, "api_url": "http://" + address}, fields{"channel_access_token": line.Token}
		})
	case telegramChannel:
		s := telegram.New()
		return newChannel(kind, s, hostOf(s.URL), func(address string) (config, secrets fields) {
			return fields{"chat_id": telegram.ChatID, "api_url": "http://" + address}, fields{"bot_token": telegram.Token}
		})
	case pagerDutyChannel:
		s := pagerduty.New()
		return newChannel(kind, s, hostOf(s.URL), func(address string) (config, secrets fields) {
			return fields{"api_url": "http://" + address}, fields{"routing_key": pagerduty.RoutingKey}
		})
	case ntfyChannel:
		s := ntfy.New()
		return newChannel(kind, s, hostOf(s.URL), func(address string) (config, secrets fields) {
			return fields{"server_url": "http://" + address, "topic": ntfy.Topic}, fields{"token": ntfy.Token}
		})
	}
	s, err := smtp.New(false)
	if err != nil {
		return channelUnderTest{}, err
	}
	if err := env.trust(s); err != nil {
		s.Close()
		return channelUnderTest{}, err
	}
	return newChannel(kind, s, net.JoinHostPort(localhost, s.Port), func(address string) (config, secrets fields) {
		_, port, _ := net.SplitHostPort(address)
		return fields{"host": localhost, "port": port, "username": smtp.Username, "from": smtp.From, "to": smtp.To}, fields{"password": smtp.Password}
	})
}

// localhost is the address of everything in an environment. The certificate of the mail server names it.
const localhost = "127.0.0.1"

// trust makes the gateways trust the certificate of the mail server.
func (env *environment) trust(s *smtp.Server) error {
	if err := os.MkdirAll(env.path("trusted"), 0o755); err != nil {
		return err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate.Raw})
	return os.WriteFile(filepath.Join(env.path("trusted"), "mail.pem"), certificate, 0o644)
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
			"url": "http://" + env.destinationLink.address() + "/webhook", "signing_key": destinationKey,
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
