package notifiertest

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/notifier"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/test/fake/channel"
)

// Server is a fake provider.
type Server interface {
	Messages() []channel.Message
	Requests() int
	Fail(f channel.Fault)
	Recover()
	Delete(id string) bool
	Close()
}

// Harness is a sender with a destination at a fake provider, for one test.
type Harness struct {
	New         func(*notifier.Client) message.Sender
	Server      Server
	Destination notify.Destination

	// WrongCredentials changes the secrets to others that the provider does not know.
	WrongCredentials func(*notify.Destination)

	// WrongAddress makes the destination one that the provider does not have. Its error contains
	// AddressError. nil: the address is a secret.
	WrongAddress func(*notify.Destination)
	AddressError string

	RootCAs *x509.CertPool // that issue the server's certificate; nil: the system's

	Edits   bool // the channel edits its messages
	Alerts  bool // it shows an incident as one alert with a state, which a push changes, too
	Picture Picture
	NoHTTP  bool // the provider knows neither redirects nor how long to wait

	// Reads is how many characters of a long message must be seen at least.
	Reads int
}

// Picture says how a channel shows pictures.
type Picture string

// The ways to show a picture.
const (
	NoPicture    Picture = ""
	ByURL        Picture = "url"   // the provider fetches it
	ByBytes      Picture = "bytes" // the sender uploads it
	shortTimeout         = 300 * time.Millisecond
)

// Run tests a sender. open makes a Harness for one test. No goroutine may be left.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	channel := open(t)
	channel.Server.Close()
	for _, test := range []struct {
		name    string
		applies bool // to this channel
		run     func(*testing.T, *fixture)
	}{
		{"every kind of message arrives in both languages", true, everyKind},
		{"the state is edited in place", channel.Edits, edits},
		{"a push makes a sound and leaves the message up to date", true, pushes},
		{"a message that was deleted is posted again", channel.Edits && !channel.Alerts, postsAgain},
		{"an edit that is refused for good is posted as a new message", channel.Edits && !channel.Alerts, postsWhatCannotBeEdited},
		{"a picture is shown", channel.Picture != NoPicture, showsPicture},
		{"wrong credentials are a failure that may pass", true, wrongCredentials},
		{"a wrong address is a failure that may pass, and is named", channel.WrongAddress != nil, wrongAddress},
		{"a rate limit says how long to wait", true, rateLimited},
		{"a failure of the provider may pass", true, fails},
		{"a rejected message is not sent again", true, rejects},
		{"a destination that is gone says so", !channel.NoHTTP, isGone},
		{"a provider that hangs is a failure in time", true, hangs},
		{"a cancelled attempt says so", true, cancelled},
		{"a redirect is not followed", !channel.NoHTTP, redirects},
		{"a private address is refused", true, refusesPrivate},
		{"what strangers wrote appears as they wrote it", true, hostile},
		{"a message that is too long is cut between characters", true, oversized},
		{"a message without links and lines arrives", true, bare},
	} {
		if test.applies {
			t.Run(test.name, func(t *testing.T) { test.run(t, newFixture(t, open(t), delivery.SendTimeout)) })
		}
	}
}

// fixture is a harness with its sender.
type fixture struct {
	Harness
	sender message.Sender
}

func newFixture(t *testing.T, h Harness, timeout time.Duration) *fixture {
	t.Helper()
	t.Cleanup(h.Server.Close)
	return &fixture{Harness: h, sender: newSender(t, h.New, notifier.Config{Timeout: timeout, AllowedNetworks: loopback, RootCAs: h.RootCAs})}
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

func newSender(t *testing.T, create func(*notifier.Client) message.Sender, cfg notifier.Config) message.Sender {
	t.Helper()
	client := notifier.NewClient(cfg)
	t.Cleanup(client.Close)
	return create(client)
}

// New makes a sender from the constructor of a channel.
func New[S message.Sender](create func(*notifier.Client) S) func(*notifier.Client) message.Sender {
	return func(c *notifier.Client) message.Sender { return create(c) }
}

// Start returns a fake that runs until the test ends, and a sender that may connect to it. No goroutine may be left.
func Start[F Server, S message.Sender](t *testing.T, server F, create func(*notifier.Client) S) (F, message.Sender) {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	t.Cleanup(server.Close)
	return server, NewSenderWithRoots(t, create, nil)
}

// NewSenderWithRoots returns a sender that also trusts the certificates of a fake.
func NewSenderWithRoots[S message.Sender](t *testing.T, create func(*notifier.Client) S, roots *x509.CertPool) message.Sender {
	t.Helper()
	return newSender(t, New(create), notifier.Config{AllowedNetworks: loopback, RootCAs: roots})
}

// send sends a message and checks what holds of every result.
func (f *fixture) send(ctx context.Context, t *testing.T, m message.Message) message.Result {
	t.Helper()
	r := f.sender.Send(ctx, f.Destination, m)
	f.requireNoSecret(t, r)
	if r.At.IsZero() {
		t.Error("the result has no time")
	}
	if (r.Class == notify.NoFailure) != (r.Error == "") {
		t.Errorf("class %q with error %q", r.Class, r.Error)
	}
	if strings.ContainsAny(r.Error, "\r\n") || len([]rune(r.Error)) > 300 {
		t.Errorf("the error is not one short line: %q", r.Error)
	}
	return r
}

func (f *fixture) mustSend(t *testing.T, m message.Message) message.Result {
	t.Helper()
	r := f.send(t.Context(), t, m)
	if r.Class != notify.NoFailure {
		t.Fatalf("not accepted: %+v", r)
	}
	if kept := r.Exchange; kept != nil && (kept.Message == "" || strings.TrimSpace(m.Title) != "" && !strings.HasPrefix(m.Text(), kept.Message)) {
		t.Errorf("of %q is kept %+v", m.Text(), kept)
	}
	return r
}

func (f *fixture) requireNoSecret(t *testing.T, r message.Result) {
	t.Helper()
	kept := fmt.Sprint(r.Error, r.Ref)
	if r.Exchange != nil {
		kept += fmt.Sprintf(" %+v %+v", r.Exchange, r.Exchange.Answer)
	}
	// Every secret of the fakes contains this word.
	if strings.Contains(strings.ToLower(kept), "geheim") {
		t.Errorf("the result contains a secret: %s", kept)
	}
}

// last returns the newest message that people see.
func (f *fixture) last(t *testing.T) channel.Message {
	t.Helper()
	all := f.Server.Messages()
	if len(all) == 0 {
		t.Fatal("nobody sees a message")
	}
	return all[len(all)-1]
}
