package line_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/notifier/line"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/notifiertest"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	fake "github.com/stream-monitor/stream-monitor/test/fake/channel/line"
)

func TestConformance(t *testing.T) {
	notifiertest.Run(t, func(*testing.T) notifiertest.Harness {
		s := fake.New()
		return notifiertest.Harness{
			New: notifiertest.New(line.New), Server: s, Picture: notifiertest.ByURL, Reads: 1800,
			Destination:      destination(s),
			WrongCredentials: func(d *notify.Destination) { d.Secrets["channel_access_token"] = "geheim-wrong" },
			WrongAddress:     func(d *notify.Destination) { d.Config["to"] = "U1" }, AddressError: "HTTP 400",
		}
	})
}

func TestAMessageIsShownOnceHoweverOftenItIsSent(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), line.New)
	m := message.Message{ID: "0190a5c8-e4b0-7d8a-9c1d-2e3f4a5b6c7d", Title: "title"}
	for range 3 {
		if r := sender.Send(t.Context(), destination(s), m); r.Class != notify.NoFailure || r.Error != "" {
			t.Errorf("%+v", r)
		}
	}
	if n := len(s.Messages()); n != 1 {
		t.Errorf("people see %d messages", n)
	}
}

func TestAFlexMessageThatIsRejectedBecomesText(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), line.New)
	s.NoFlex = true
	m := message.Message{
		ID: "0190a5c8-e4b0-7d8a-9c1d-2e3f4a5b6c7d", Title: "title", Lines: []string{"line"},
		Link:    message.Link{Text: "Incident", URL: "https://monitor.example/1"},
		Picture: &message.Picture{URL: "https://monitor.example/1.jpg"},
	}
	r := sender.Send(t.Context(), destination(s), m)
	all := s.Messages()
	if r.Error != "" || len(all) != 1 || all[0].Text != "title\nline\nIncident: https://monitor.example/1" || all[0].Picture != m.Picture.URL {
		t.Errorf("%+v, people see %v", r, all)
	}
}

func TestALongFlexMessageIsNotRejected(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), line.New)
	long := strings.Repeat("映像\"", 20000)
	m := message.Message{
		ID: "0190a5c8-e4b0-7d8a-9c1d-2e3f4a5b6c7d", Title: long, Lines: []string{long},
		Link:   message.Link{Text: long, URL: "https://monitor.example/" + strings.Repeat("a", 900)},
		Stream: message.Link{Text: "Stream", URL: "https://stream.example/" + strings.Repeat("a", 1000)},
	}
	r := sender.Send(t.Context(), destination(s), m)
	all := s.Messages()
	if r.Error != "" || s.Requests() != 1 || len(all) != 1 || len(all[0].Links) != 1 {
		t.Errorf("%+v after %d requests, people see %v", r, s.Requests(), all)
	}
}

func TestAMonthWithoutMessagesLeftIsNamed(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), line.New)
	s.NoMore = true
	m := message.Message{ID: "0190a5c8-e4b0-7d8a-9c1d-2e3f4a5b6c7d", Title: "title"}
	r := sender.Send(t.Context(), destination(s), m)
	if r.Class != notify.Retry || r.Error != "HTTP 429 Too Many Requests: You have reached your monthly limit." || r.RetryAfter != time.Hour {
		t.Errorf("%+v", r)
	}
}

func TestATestSaysHowManyMessagesOfTheMonthAreLeft(t *testing.T) {
	for name, c := range map[string]struct {
		quota    int
		language notify.Language
		isTest   bool
		want     string
	}{
		"a limited month":    {500, notify.English, true, "499 of the 500 messages of this month are left."},
		"in Japanese":        {500, notify.Japanese, true, "今月はあと499通送れます（上限500通）。"},
		"no limit":           {0, notify.English, true, ""},
		"a message, no test": {500, notify.English, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, sender := notifiertest.Start(t, fake.New(), line.New)
			s.Quota = c.quota
			d := destination(s)
			d.Language = c.language
			m := message.Message{ID: "0190a5c8-e4b0-7d8a-9c1d-2e3f4a5b6c7d", Title: "title", Test: c.isTest}
			if r := sender.Send(t.Context(), d, m); r.Note != c.want || r.Error != "" {
				t.Errorf("got %q, want %q: %+v", r.Note, c.want, r)
			}
		})
	}
}

func destination(s *fake.Server) notify.Destination {
	return notify.Destination{
		Kind:    notify.LINE,
		Config:  map[string]string{"to": fake.Group, "api_url": s.URL},
		Secrets: map[string]string{"channel_access_token": fake.Token},
	}
}
