package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/notifier"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/discord"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/email"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/line"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/ntfy"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/pagerduty"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/slack"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/teams"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/telegram"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// messageSenders returns the senders of all kinds of messages. They connect where webhooks
// may (decision A2).
func messageSenders(allowed config.Networks, now func() time.Time) map[notify.Kind]message.Sender {
	client := notifier.NewClient(notifier.Config{AllowedNetworks: allowed, Version: version, Now: now})
	return map[notify.Kind]message.Sender{
		notify.Slack:     slack.New(client),
		notify.Discord:   discord.New(client),
		notify.Teams:     teams.New(client),
		notify.Telegram:  telegram.New(client),
		notify.LINE:      line.New(client),
		notify.PagerDuty: pagerduty.New(client),
		notify.Ntfy:      ntfy.New(client),
		notify.Email:     email.New(client),
	}
}

// newDeliverySender makes what sends events and messages. Errors: a
// template of TEMPLATES_DIR is wrong.
func (a *assembly) newDeliverySender() (*delivery.Sender, error) {
	var files fs.FS
	if a.settings.TemplatesDir != "" {
		files = os.DirFS(a.settings.TemplatesDir)
	}
	renderer, err := message.Load(message.Config{Files: files, PublicURL: a.settings.PublicURL, Keys: a.keys.Links, Log: a.log})
	if err != nil {
		return nil, err
	}
	return delivery.NewSender(delivery.SenderConfig{
		Webhooks: a.ports.Webhooks, Messages: a.ports.Messages, Renderer: renderer, Pictures: messagePictures{a.evidence}, Evidence: a.evidence,
	}), nil
}

// messagePictures reads the pictures of messages from evidence.
type messagePictures struct{ evidence *evidences.Service }

func (p messagePictures) ReadPicture(ctx context.Context, of incident.Picture) (*message.Picture, error) {
	shown, err := p.evidence.MessagePicture(ctx, of, delivery.MaxPictureBytes)
	var refused *monitor.Error
	switch {
	case errors.As(err, &refused) && refused.Code == evidence.NotFound:
		return nil, nil //nolint:nilnil // it has been deleted: there is no picture, and nothing is wrong
	case err != nil:
		return nil, err
	}
	return &message.Picture{URL: shown.URL, MediaType: shown.MediaType, Bytes: shown.Bytes, RenditionHeight: shown.RenditionHeight}, nil
}
