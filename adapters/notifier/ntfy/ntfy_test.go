package ntfy_test

import (
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/notifier/notifiertest"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/ntfy"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	fake "github.com/stream-monitor/stream-monitor/test/fake/channel/ntfy"
)

func TestConformance(t *testing.T) {
	notifiertest.Run(t, func(*testing.T) notifiertest.Harness {
		s := fake.New()
		return notifiertest.Harness{
			New: notifiertest.New(ntfy.New), Server: s, Edits: true, Picture: notifiertest.ByURL, Reads: 600,
			Destination:      destination(s),
			WrongCredentials: func(d *notify.Destination) { d.Secrets["token"] = "tk_geheim-wrong" },
			WrongAddress:     func(d *notify.Destination) { d.Config["topic"] = "no topic" }, AddressError: "topic invalid",
		}
	})
}

func TestAPictureWithoutURLIsUploaded(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), ntfy.New)
	m := message.Message{
		ID: "1", ThreadID: "thread", Title: "映像が真っ黒", Lines: []string{strings.Repeat("映像", 2000)}, Push: true, Severity: 3,
		Link:    message.Link{Text: "障害", URL: "https://monitor.example/1"},
		Actions: []message.Link{{Text: "対応する", URL: "https://monitor.example/act/signed"}},
		Picture: &message.Picture{MediaType: "image/jpeg", Bytes: []byte("a picture")},
	}
	r := sender.Send(t.Context(), destination(s), m)
	all := s.Messages()
	if r.Error != "" || len(all) != 1 || all[0].Picture != "9 bytes" || len(all[0].Links) != 2 || all[0].Priority != "5" || !strings.HasPrefix(all[0].Text, m.Title+"\n映像映像") {
		t.Fatalf("%+v, people see %v", r, all)
	}
	if kept := r.Exchange.URL; strings.Contains(kept, "signed") {
		t.Errorf("the exchange keeps %q", kept)
	}

	s.NoUploads = true
	m.ThreadID = "another"
	r = sender.Send(t.Context(), destination(s), m)
	if all := s.Messages(); r.Error != "" || len(all) != 2 || all[1].Picture != "" {
		t.Errorf("%+v, people see %v", r, all)
	}
}

func TestAMessageWithAnUploadedPictureIsReplaced(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), ntfy.New)
	m := message.Message{ID: "1", ThreadID: "thread", Title: "opened", Picture: &message.Picture{MediaType: "image/jpeg", Bytes: []byte("a picture")}}
	r := sender.Send(t.Context(), destination(s), m)
	m.ID, m.Ref, m.Title, m.Picture = "2", r.Ref, "recovered", nil
	sender.Send(t.Context(), destination(s), m)
	if all := s.Messages(); len(all) != 1 || all[0].Text != "recovered" {
		t.Errorf("people see %v", all)
	}
}

func TestAMessageIsNotLateBecauseOfItsPicture(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), ntfy.New)
	s.NoBandwidth = true // until tomorrow
	m := message.Message{ThreadID: "thread", Title: "title", Picture: &message.Picture{MediaType: "image/jpeg", Bytes: []byte("a picture")}}
	r := sender.Send(t.Context(), destination(s), m)
	if all := s.Messages(); r.Error != "" || len(all) != 1 || all[0].Picture != "" {
		t.Errorf("%+v, people see %v", r, all)
	}
}

func TestAPushSaysEverythingOnce(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), ntfy.New)
	m := message.Message{ID: "1", ThreadID: "thread", Title: "opened", Push: true}
	r := sender.Send(t.Context(), destination(s), m)
	m.ID, m.Ref, m.Title, m.Lines = "2", r.Ref, "worse", []string{"what to do"}
	for range 2 { // the second after a lost answer
		sender.Send(t.Context(), destination(s), m)
	}
	m.ID, m.Lines = "3", nil
	sender.Send(t.Context(), destination(s), m)
	all := s.Messages()
	if len(all) != 3 || all[0].Text != "worse" || all[1].Text != "worse\nwhat to do" || all[2].Text != "worse" || !all[1].Sound || !all[2].Sound {
		t.Errorf("people see %v", all)
	}
}

func TestSeverityDecidesHowLoudAPushIs(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), ntfy.New)
	for severity, want := range []string{"3", "3", "4", "5"} {
		for push, want := range map[bool]string{true: want, false: "2"} {
			sender.Send(t.Context(), destination(s), message.Message{ThreadID: "thread", Title: "title", Severity: severity, Push: push})
			if seen := s.Messages()[0]; seen.Priority != want {
				t.Errorf("severity %d, push %v: priority %s, want %s", severity, push, seen.Priority, want)
			}
		}
	}
}

func TestATextThatLooksEncodedIsNotDecoded(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), ntfy.New)
	const text = `=?utf-8?b?8J+YgA==?= a\nb`
	for _, p := range []*message.Picture{nil, {MediaType: "image/jpeg", Bytes: []byte("a picture")}} {
		sender.Send(t.Context(), destination(s), message.Message{ThreadID: "thread", Title: text, Lines: []string{text}, Picture: p})
		if seen := s.Messages()[0]; strings.Count(seen.Text, text) != 2 {
			t.Errorf("people see %s", seen)
		}
	}
}

func TestAServerThatIsNotNtfyAcceptsNothing(t *testing.T) {
	s, sender := notifiertest.Start(t, fake.New(), ntfy.New)
	d := destination(s)
	d.Config["server_url"] = s.URL + "/page"
	r := sender.Send(t.Context(), d, message.Message{ThreadID: "thread", Title: "title"})
	if r.Class != notify.Retry || r.Error != "the answer is not one of ntfy" {
		t.Errorf("%+v", r)
	}
}

func destination(s *fake.Server) notify.Destination {
	return notify.Destination{
		Kind:    notify.Ntfy,
		Config:  map[string]string{"server_url": s.URL, "topic": fake.Topic},
		Secrets: map[string]string{"token": fake.Token},
	}
}
