//go:build linux

package main

import (
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/discord"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/line"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/ntfy"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/pagerduty"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/slack"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/smtp"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/teams"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/telegram"
)

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
	c.config, c.secrets = fields(c.link.address)
	return c, nil
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
