package telegram_test

import (
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/notifier/notifiertest"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/telegram"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	fake "github.com/stream-monitor/stream-monitor/test/fake/channel/telegram"
)

func TestConformance(t *testing.T) {
	notifiertest.Run(t, func(*testing.T) notifiertest.Harness {
		s := fake.New()
		return notifiertest.Harness{
			New: notifiertest.New(telegram.New), Server: s, Edits: true, Picture: notifiertest.ByBytes, Reads: 500,
			Destination:      destination(s),
			WrongCredentials: func(d *notify.Destination) { d.Secrets["bot_token"] = "1:geheim-wrong" },
			WrongAddress:     func(d *notify.Destination) { d.Config["chat_id"] = "1" }, AddressError: "HTTP 400 Bad Request: Bad Request: chat not found",
		}
	})
}

func TestAGroupThatHasBecomeASupergroupStillGetsItsMessages(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), telegram.New)
	d := destination(s)
	d.Config["chat_id"] = fake.OldChatID
	m := message.Message{Title: "opened", Push: true}
	opened := sender.Send(t.Context(), d, m)
	if all := s.Messages(); opened.Error != "" || len(all) != 1 || all[0].Text != "opened" {
		t.Fatalf("%+v, people see %v", opened, all)
	}
	// The first message names the new chat, so the next one needs a single request.
	before := s.Requests()
	m.Title, m.Push, m.Ref = "acknowledged", false, opened.Ref
	r := sender.Send(t.Context(), d, m)
	if all := s.Messages(); r.Error != "" || len(all) != 1 || all[0].Text != "acknowledged" || s.Requests() != before+1 {
		t.Errorf("%+v after %d requests, people see %v", r, s.Requests()-before, all)
	}
}

func TestAMessageOfTheGroupIsPostedAgainInTheSupergroup(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), telegram.New)
	d := destination(s)
	d.Config["chat_id"] = fake.OldChatID
	m := message.Message{Title: "resolved", Ref: fake.OldChatID + "/1/false"}
	r := sender.Send(t.Context(), d, m)
	if all := s.Messages(); r.Error != "" || !strings.HasPrefix(r.Ref, fake.ChatID+"/") || len(all) != 1 || all[0].Text != "resolved" {
		t.Errorf("%+v, people see %v", r, all)
	}
}

func TestASupergroupIsAskedOnce(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), telegram.New)
	s.Moved = true
	d := destination(s)
	r := sender.Send(t.Context(), d, message.Message{Title: "title"})
	if r.Class != notify.Retry || !strings.Contains(r.Error, "set chat_id to") || s.Requests() != 2 {
		t.Errorf("%+v after %d requests", r, s.Requests())
	}
}

func TestAPictureThatTelegramCannotReadIsLeftOut(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), telegram.New)
	s.BadPictures = true
	m := message.Message{Title: "title", Picture: &message.Picture{MediaType: "image/jpeg", Bytes: []byte("x")}}
	posted := sender.Send(t.Context(), destination(s), m)
	m.Ref, m.Title = posted.Ref, "changed"
	edited := sender.Send(t.Context(), destination(s), m)
	if all := s.Messages(); posted.Error != "" || edited.Error != "" || len(all) != 1 || all[0].Text != "changed" {
		t.Errorf("%+v, %+v, people see %v", posted, edited, all)
	}
}

func TestAPushIsAShortReply(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), telegram.New)
	m := message.Message{Title: "opened", Lines: []string{"line"}, Link: message.Link{Text: "incident", URL: "https://monitor.example/1"}, Push: true}
	m.Ref = sender.Send(t.Context(), destination(s), m).Ref
	m.Title = "worse"
	sender.Send(t.Context(), destination(s), m)
	all := s.Messages()
	if len(all) != 2 || all[0].Text != "worse\nline\nincident" || all[1].Text != "worse\nincident" || all[1].ReplyTo != all[0].ID || !all[1].Sound {
		t.Errorf("people see %v", all)
	}
}

func destination(s *fake.Server) notify.Destination {
	return notify.Destination{
		Kind:    notify.Telegram,
		Config:  map[string]string{"chat_id": fake.ChatID, "api_url": s.URL},
		Secrets: map[string]string{"bot_token": fake.Token},
	}
}
