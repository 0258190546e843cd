//go:build linux

package main

import (
	"encoding/pem"
	"errors"
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

// localhost is the address of everything in an environment. The certificate of the mail server names it.
const localhost = "127.0.0.1"

// Destinations that are treated differently from the others. Their names are those of the
// others' kinds.
const (
	emailChannel     = "email"
	pagerDutyChannel = "pagerduty"
	deletedChannel   = "deleted" // a Teams whose destination is deleted during the run
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
	name, kind string // of the destination
	fake       fakeChannel
	link       *link
	config     fields
	secrets    fields
}

// fields are the fields of a destination.
type fields map[string]string

// startChannels starts a fake of each channel, with a link to it.
func (env *environment) startChannels() error {
	mail, err := smtp.New(false)
	if err != nil {
		return err
	}
	chat, hook, webhook, bot, push, alerts, notes, gone := slack.New(), discord.New(), teams.New(), telegram.New(), line.New(), pagerduty.New(), ntfy.New(), teams.New()
	// A destination's fields lead to the link. at is its address.
	add := func(name, kind string, fake fakeChannel, address string, config func(at string) (config, secrets fields)) error {
		env.atEnd(fake.Close)
		l, err := env.addLink(name, address)
		if err != nil {
			return err
		}
		c := channelUnderTest{name: name, kind: kind, fake: fake, link: l}
		c.config, c.secrets = config(l.address)
		env.channels = append(env.channels, c)
		return nil
	}
	return errors.Join(
		env.trust(mail),
		add("slack", "slack", chat, hostOf(chat.URL), func(at string) (config, secrets fields) {
			return fields{"channel": slack.ChannelID, "api_url": "http://" + at + "/api"}, fields{"bot_token": slack.Token}
		}),
		add("discord", "discord", hook, hostOf(hook.URL), func(at string) (config, secrets fields) {
			return fields{}, fields{"webhook_url": strings.Replace(hook.WebhookURL(), hostOf(hook.URL), at, 1)}
		}),
		add("teams", "teams", webhook, hostOf(webhook.URL), func(at string) (config, secrets fields) {
			return fields{}, fields{"workflow_url": strings.Replace(webhook.WorkflowURL(), hostOf(webhook.URL), at, 1)}
		}),
		add(deletedChannel, "teams", gone, hostOf(gone.URL), func(at string) (config, secrets fields) {
			return fields{}, fields{"workflow_url": strings.Replace(gone.WorkflowURL(), hostOf(gone.URL), at, 1)}
		}),
		add("telegram", "telegram", bot, hostOf(bot.URL), func(at string) (config, secrets fields) {
			return fields{"chat_id": telegram.ChatID, "api_url": "http://" + at}, fields{"bot_token": telegram.Token}
		}),
		add("line", "line", push, hostOf(push.URL), func(at string) (config, secrets fields) {
			return fields{"to": line.Group, "api_url": "http://" + at}, fields{"channel_access_token": line.Token}
		}),
		add(pagerDutyChannel, "pagerduty", alerts, hostOf(alerts.URL), func(at string) (config, secrets fields) {
			return fields{"api_url": "http://" + at}, fields{"routing_key": pagerduty.RoutingKey}
		}),
		add("ntfy", "ntfy", notes, hostOf(notes.URL), func(at string) (config, secrets fields) {
			return fields{"server_url": "http://" + at, "topic": ntfy.Topic}, fields{"token": ntfy.Token}
		}),
		add(emailChannel, "email", mail, net.JoinHostPort(localhost, mail.Port), func(at string) (config, secrets fields) {
			_, port, _ := net.SplitHostPort(at)
			return fields{"host": localhost, "port": port, "username": smtp.Username, "from": smtp.From, "to": smtp.To}, fields{"password": smtp.Password}
		}),
	)
}

// trust makes the gateways trust the certificate of the mail server.
func (env *environment) trust(s *smtp.Server) error {
	if err := os.MkdirAll(env.path("trusted"), 0o755); err != nil {
		return err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate.Raw})
	return os.WriteFile(filepath.Join(env.path("trusted"), "mail.pem"), certificate, 0o644)
}
