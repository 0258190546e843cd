package email_test

import (
	"crypto/x509"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/notifier/email"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/notifiertest"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	fake "github.com/stream-monitor/stream-monitor/test/fake/channel/smtp"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	for _, security := range []string{"starttls", "tls"} {
		t.Run(security, func(t *testing.T) {
			notifiertest.Run(t, func(t *testing.T) notifiertest.Harness {
				t.Helper()
				s := start(t, security)
				return notifiertest.Harness{
					New: notifiertest.New(email.New), Server: s, RootCAs: s.RootCAs, Picture: notifiertest.ByBytes, Reads: 5000, NoHTTP: true,
					Destination:      destination(s, security),
					WrongCredentials: func(d *notify.Destination) { d.Secrets["password"] = "geheim-wrong" },
				}
			})
		})
	}
}

func TestMessagesAboutAnIncidentAreAThread(t *testing.T) {
	s := start(t, "starttls")
	sender := notifiertest.NewSenderWithRoots(t, email.New, s.RootCAs)
	for _, id := range []string{"1", "2", "1"} {
		m := message.Message{ID: id, ThreadID: "thread-1", Title: "title " + id, Push: true, Severity: 3}
		if r := sender.Send(t.Context(), destination(s, "starttls"), m); r.Error != "" || r.Status != 250 || r.Ref != "" {
			t.Fatalf("%+v", r)
		}
	}
	var ids []string
	for _, h := range s.Headers {
		ids = append(ids, h.Get("Message-Id"))
		if h.Get("References") != "<thread.thread-1@example.com>" || h.Get("In-Reply-To") != h.Get("References") {
			t.Errorf("it refers to %q and answers %q", h.Get("References"), h.Get("In-Reply-To"))
		}
		if h.Get("Auto-Submitted") != "auto-generated" || h.Get("Importance") != "high" {
			t.Errorf("headers %v", h)
		}
	}
	if strings.Join(ids, " ") != "<1@example.com> <2@example.com> <1@example.com>" {
		t.Errorf("the IDs are %q", ids)
	}
}

func TestAnAddressThatIsGoneDoesNotKeepTheMessageFromOthers(t *testing.T) {
	s := start(t, "starttls")
	sender := notifiertest.NewSenderWithRoots(t, email.New, s.RootCAs)
	d := destination(s, "starttls")
	d.Config["to"] = fake.Unknown + ", " + fake.To
	r := sender.Send(t.Context(), d, message.Message{ID: "1", ThreadID: "1", Title: "title"})
	if r.Error != "" || len(s.Messages()) != 1 || !strings.Contains(r.Exchange.Answer.Body, "gone@example.com is refused: 550") {
		t.Errorf("%+v, %+v", r, r.Exchange.Answer)
	}
	d.Config["to"] = fake.Unknown
	r = sender.Send(t.Context(), d, message.Message{ID: "1", ThreadID: "1", Title: "title"})
	if r.Class != notify.Retry || r.Status != 550 || !strings.Contains(r.Error, "User unknown") {
		t.Errorf("%+v", r)
	}
}

func TestNothingIsSentWithoutTLS(t *testing.T) {
	s := start(t, "starttls")
	other := start(t, "starttls")
	sender := notifiertest.NewSenderWithRoots(t, email.New, x509.NewCertPool())
	r := sender.Send(t.Context(), destination(s, "starttls"), message.Message{ID: "1", ThreadID: "1", Title: "title"})
	if r.Class != notify.Retry || !strings.Contains(r.Error, "certificate") || len(s.Messages()) > 0 {
		t.Errorf("%+v", r)
	}
	// A server that does not begin TLS at once is no server for it.
	r = sender.Send(t.Context(), destination(other, "tls"), message.Message{ID: "1", ThreadID: "1", Title: "title"})
	if r.Class != notify.Retry || len(other.Messages()) > 0 {
		t.Errorf("%+v", r)
	}
}

func TestNobodyCanAddHeaders(t *testing.T) {
	s := start(t, "starttls")
	sender := notifiertest.NewSenderWithRoots(t, email.New, s.RootCAs)
	m := message.Message{
		ID: "1>\r\nBcc: x@evil.example", ThreadID: "2>\r\nBcc: x@evil.example", Title: "a\r\nBcc: x@evil.example\r\n\r\nbody",
		Picture: &message.Picture{Alt: "a\r\nBcc: x@evil.example", MediaType: "image/jpeg", Bytes: []byte("x")},
	}
	if r := sender.Send(t.Context(), destination(s, "starttls"), m); r.Error != "" {
		t.Fatalf("%+v", r)
	}
	if h := s.Headers[0]; h.Get("Bcc") != "" {
		t.Errorf("headers %v", h)
	}
}

func start(t *testing.T, security string) *fake.Server {
	t.Helper()
	s := must.Get(fake.New(security == "tls"))(t)
	t.Cleanup(s.Close)
	return s
}

func destination(s *fake.Server, security string) notify.Destination {
	return notify.Destination{
		Kind: notify.Email,
		Config: map[string]string{
			"host": "127.0.0.1", "port": s.Port, "security": security, "username": fake.Username, "from": fake.From, "to": fake.To,
		},
		Secrets: map[string]string{"password": fake.Password},
	}
}
