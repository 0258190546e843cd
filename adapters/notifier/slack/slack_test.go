package slack_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/notifier/notifiertest"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/slack"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	fake "github.com/stream-monitor/stream-monitor/test/fake/channel/slack"
)

func TestConformanceAsABot(t *testing.T) {
	notifiertest.Run(t, func(*testing.T) notifiertest.Harness {
		s := fake.New()
		return notifiertest.Harness{
			New: notifiertest.New(slack.New), Server: s, Edits: true, Picture: notifiertest.ByURL, Reads: 1400,
			Destination:      bot(s),
			WrongCredentials: func(d *notify.Destination) { d.Secrets["bot_token"] = "xoxb-geheim-wrong" },
			WrongAddress:     func(d *notify.Destination) { d.Config["channel"] = "#unknown" }, AddressError: "Slack: channel_not_found",
		}
	})
}

func TestConformanceByAWebhook(t *testing.T) {
	notifiertest.Run(t, func(*testing.T) notifiertest.Harness {
		s := fake.New()
		return notifiertest.Harness{
			New: notifiertest.New(slack.New), Server: s, Picture: notifiertest.ByURL, Reads: 1400,
			Destination:      notify.Destination{Kind: notify.Slack, Secrets: map[string]string{"webhook_url": s.WebhookURL()}},
			WrongCredentials: func(d *notify.Destination) { d.Secrets["webhook_url"] = s.URL + "/services/T1/B1/geheim-wrong" },
		}
	})
}

func bot(s *fake.Server) notify.Destination {
	return notify.Destination{
		Kind:    notify.Slack,
		Config:  map[string]string{"channel": fake.Channel, "api_url": s.APIURL()},
		Secrets: map[string]string{"bot_token": fake.Token},
	}
}

func TestAPictureThatSlackCannotFetchIsLeftOut(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), slack.New)
	s.BadPictures = true
	m := message.Message{Title: "title", Picture: &message.Picture{Alt: "alt", URL: "https://monitor.example/1.jpg"}}
	if r := sender.Send(t.Context(), bot(s), m); r.Error != "" || len(s.Messages()) != 1 {
		t.Errorf("%+v, people see %v", r, s.Messages())
	}
}

func TestAPushIsAReplyThatTheChannelSees(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), slack.New)
	opened := sender.Send(t.Context(), bot(s), message.Message{Title: "opened", Push: true})
	worse := sender.Send(t.Context(), bot(s), message.Message{Title: "worse", Push: true, Ref: opened.Ref})
	all := s.Messages()
	if opened.EditedAndPushed || !worse.EditedAndPushed { // the rate limit counts requests
		t.Errorf("the first is %+v, the second %+v", opened, worse)
	}
	if len(all) != 2 || all[1].ReplyTo != all[0].ID || !all[1].Sound {
		t.Errorf("people see %v", all)
	}
}
