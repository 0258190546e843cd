package line_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/notifier"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/line"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/notifiertest"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	fake "github.com/stream-monitor/stream-monitor/test/fake/channel/line"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newSender(c *notifier.Client) message.Sender { return line.New(c) }

func TestConformance(t *testing.T) {
	notifiertest.Run(t, func(*testing.T) notifiertest.Harness {
		s := fake.New()
		return notifiertest.Harness{
			New: newSender, Server: s, Picture: notifiertest.ByURL, Reads: 2500,
			Destination:      destination(s),
			WrongCredentials: func(d *notify.Destination) { d.Secrets["channel_access_token"] = "geheim-wrong" },
		}
	})
}

func TestAMessageIsShownOnceHoweverOftenItIsSent(t *testing.T) {
	s := fake.New()
	t.Cleanup(s.Close)
	sender := notifiertest.NewSender(t, newSender)
	m := message.Message{ID: "0190a5c8-e4b0-7d8a-9c1d-2e3f4a5b6c7d", Title: "title"}
	for range 3 {
		if r := sender.Send(t.Context(), destination(s), m); r.Class != notify.Accepted || r.Error != "" {
			t.Errorf("%+v", r)
		}
	}
	if n := len(s.Messages()); n != 1 {
		t.Errorf("people see %d messages", n)
	}
}

func TestAReceiverThatIsUnknownMayBeRepaired(t *testing.T) {
	s := fake.New()
	t.Cleanup(s.Close)
	d := destination(s)
	d.Config["to"] = "U1"
	m := message.Message{ID: "0190a5c8-e4b0-7d8a-9c1d-2e3f4a5b6c7d", Title: "title"}
	if r := notifiertest.NewSender(t, newSender).Send(t.Context(), d, m); r.Class != notify.Retry || r.Status != 400 {
		t.Errorf("%+v", r)
	}
}

func destination(s *fake.Server) notify.Destination {
	return notify.Destination{
		Kind:    notify.LINE,
		Config:  map[string]string{"to": fake.Group, "api_url": s.URL},
		Secrets: map[string]string{"channel_access_token": fake.Token},
	}
}
