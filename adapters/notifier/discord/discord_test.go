package discord_test

import (
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/notifier/discord"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/notifiertest"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	fake "github.com/stream-monitor/stream-monitor/test/fake/channel/discord"
)

func TestConformance(t *testing.T) {
	notifiertest.Run(t, func(*testing.T) notifiertest.Harness {
		s := fake.New()
		return notifiertest.Harness{
			New: notifiertest.New(discord.New), Server: s, Edits: true, Picture: notifiertest.ByBytes, Reads: 1500,
			Destination: destination(s),
			WrongCredentials: func(d *notify.Destination) {
				d.Secrets["webhook_url"] = strings.Replace(s.WebhookURL(), "geheim-", "geheim-wrong", 1)
			},
		}
	})
}

func TestAWebhookThatWasDeletedIsGone(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), discord.New)
	d := destination(s)
	d.Secrets["webhook_url"] = s.URL + "/api/webhooks/1/geheim"
	r := sender.Send(t.Context(), d, message.Message{Title: "title"})
	if r.Class != notify.Gone || r.Error != "HTTP 404 Not Found: Unknown Webhook" {
		t.Errorf("%+v", r)
	}
}

func TestAPictureThatIsTooLargeIsLeftToItsURL(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), discord.New)
	picture := &message.Picture{URL: "https://monitor.example/1.jpg", MediaType: "image/jpeg", Bytes: make([]byte, 10<<20+1)}
	r := sender.Send(t.Context(), destination(s), message.Message{Title: "title", Picture: picture})
	if all := s.Messages(); r.Error != "" || len(all) != 1 || all[0].Picture != picture.URL || s.Requests() != 1 {
		t.Errorf("%+v, people see %v", r, all)
	}
}

func destination(s *fake.Server) notify.Destination {
	return notify.Destination{Kind: notify.Discord, Secrets: map[string]string{"webhook_url": s.WebhookURL()}}
}
