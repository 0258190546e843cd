// Package email sends messages by SMTP. All messages about an incident refer to the same
// one, so that mail programs show them as a thread.
package email

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/stream-monitor/stream-monitor/adapters/notifier"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/message/plaintext"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// authentications are the ways to log in, the best first. All are used over TLS only.
var authentications = []mail.SMTPAuthType{
	mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthSCRAMSHA1, mail.SMTPAuthPlain, mail.SMTPAuthLogin,
}

// Sender sends messages by SMTP.
type Sender struct{ client *notifier.Client }

var _ message.Sender = (*Sender)(nil)

// New returns a sender.
func New(client *notifier.Client) *Sender { return &Sender{client: client} }

// Send implements message.Sender.
func (s *Sender) Send(ctx context.Context, d notify.Destination, m message.Message) message.Result {
	return s.client.Send(ctx, m, func(ctx context.Context, m message.Message) message.Result {
		began := s.client.Now()
		host, port := d.Config["host"], port(d)
		answer, rejected, err := s.deliver(ctx, d, m, host, port)
		var r message.Result
		r.Exchange = &event.Exchange{URL: "smtp://" + net.JoinHostPort(host, port), Header: map[string]string{}}
		r.Exchange.DurationMS = s.client.Now().Sub(began).Milliseconds()
		if err == nil {
			r.Status = statusOK
			r.Exchange.Answer = &event.Answer{ContentType: "text/plain", Body: answer}
			return r
		}
		r.Class = notify.Retry
		if rejected {
			r.Class = notify.Rejected
		}
		r.Error = s.client.Describe(ctx, d, err)
		if reply, ok := errors.AsType[*textproto.Error](err); ok {
			r.Status = reply.Code
			r.Exchange.Answer = &event.Answer{ContentType: "text/plain", Body: r.Error}
		}
		return r
	})
}

const statusOK = 250

// port returns the port of a destination: by default that of its security.
func port(d notify.Destination) string {
	switch {
	case d.Config["port"] != "":
		return d.Config["port"]
	case d.Config["security"] == "tls":
		return "465"
	}
	return "587"
}

// deliver makes one delivery. rejected means that the server has read the message and never
// takes it; every other failure may pass, or a person may repair it.
func (s *Sender) deliver(ctx context.Context, d notify.Destination, m message.Message, host, port string) (answer string, rejected bool, err error) {
	msg, err := newMail(d, m)
	if err != nil {
		return "", false, err
	}
	c, err := s.connect(ctx, d, host, port)
	if err != nil {
		return "", false, err
	}
	defer func() { _ = c.Close() }()
	if err := c.Mail(d.Config["from"]); err != nil {
		return "", false, fmt.Errorf("the sender is refused: %w", err)
	}

	// An address that no longer exists must not keep the message from the others.
	answer = "accepted"
	var refused error
	to := notify.Addresses(d.Config["to"])
	accepted := 0
	for _, address := range to {
		if err := c.Rcpt(address); err != nil {
			refused = fmt.Errorf("%s is refused: %w", address, err)
			answer += "; " + refused.Error()
			continue
		}
		accepted++
	}
	if accepted == 0 {
		return "", false, refused
	}

	w, err := c.Data()
	if err != nil {
		return "", isPermanent(err), err
	}
	if _, err := msg.WriteTo(w); err != nil {
		return "", false, err
	}
	if err := w.Close(); err != nil {
		return "", isPermanent(err), err
	}
	_ = c.Quit() // the message is accepted, whatever follows
	return answer, false, nil
}

// isPermanent reports whether a reply of the server is a permanent failure (RFC 5321, section 4.2.1).
func isPermanent(err error) bool {
	reply, ok := errors.AsType[*textproto.Error](err)
	return ok && reply.Code >= 500
}

// connect logs in over TLS. The connection ends with ctx.
func (s *Sender) connect(ctx context.Context, d notify.Destination, host, port string) (*smtp.Client, error) {
	// go-mail does not wrap what a dialer of its own returns, so TLS begins in that dialer.
	cfg := s.client.TLSConfig(host)
	atOnce := cfg
	options := []mail.Option{mail.WithSSL()}
	if d.Config["security"] != "tls" {
		atOnce = nil
		options = []mail.Option{mail.WithTLSPolicy(mail.TLSMandatory), mail.WithTLSConfig(cfg)}
	}
	options = append(options, mail.WithTimeout(s.client.Timeout()),
		mail.WithDialContextFunc(func(_ context.Context, _, address string) (net.Conn, error) { // its context ends with the dial
			return s.client.Dial(ctx, address, atOnce)
		}))
	if name := d.Config["username"]; name != "" {
		options = append(options, mail.WithUsername(name), mail.WithPassword(d.Secrets["password"]),
			mail.WithOpportunisticSMTPAuth(authentications...))
	}
	client, err := mail.NewClient(host, options...)
	if err != nil {
		return nil, err
	}
	var number int
	if _, err := fmt.Sscanf(port, "%d", &number); err != nil {
		return nil, errors.New("the port is no number")
	}
	if err := mail.WithPort(number)(client); err != nil {
		return nil, err
	}
	return client.DialToSMTPClientWithContext(ctx)
}

// newMail writes a message as text and as HTML.
func newMail(d notify.Destination, m message.Message) (io.WriterTo, error) {
	from := d.Config["from"]
	msg := mail.NewMsg()
	if err := msg.From(from); err != nil {
		return nil, errors.New("the address of the sender is invalid")
	}
	if err := msg.To(notify.Addresses(d.Config["to"])...); err != nil {
		return nil, errors.New("an address of a receiver is invalid")
	}
	_, domain, _ := strings.Cut(from, "@")
	id := func(s string) string {
		return plaintext.Clean(strings.NewReplacer("<", "", ">", "").Replace(s)) + "@" + domain
	}
	title := plaintext.Cut(plaintext.Clean(m.Title), maxTitle, plaintext.UTF16Length)
	msg.Subject(title)
	msg.SetMessageIDWithValue(id(m.ID))
	thread := "<" + id("thread."+m.ThreadID) + ">"
	msg.SetGenHeader(mail.HeaderInReplyTo, thread)
	msg.SetGenHeader(mail.HeaderReferences, thread)
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: nobody on holiday answers
	msg.SetGenHeader(mail.HeaderXAutoResponseSuppress, "All")
	if m.At.IsZero() {
		msg.SetDate()
	} else {
		msg.SetDateWithValue(m.At)
	}
	if m.Push && m.Severity >= 2 {
		msg.SetImportance(mail.ImportanceHigh)
	}
	lines := plaintext.Cut(strings.Join(notifier.Lines(m), "\n"), maxLines, plaintext.UTF16Length)
	msg.SetBodyString(mail.TypeTextPlain, asText(title, lines, m))
	picture := m.Picture != nil && len(m.Picture.Bytes) > 0
	msg.AddAlternativeString(mail.TypeTextHTML, asHTML(title, lines, m))
	if picture {
		name := notifier.FileName(*m.Picture)
		err := msg.EmbedReader(name, strings.NewReader(string(m.Picture.Bytes)), mail.WithFileContentID(pictureID),
			mail.WithFileContentType(mail.ContentType(m.Picture.MediaType)))
		if err != nil {
			return nil, fmt.Errorf("embed the picture: %w", err)
		}
	}
	return msg, nil
}
