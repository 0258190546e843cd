// Package smtp fakes a mail server to which programs submit messages: over TLS, after a login.
package smtp

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"golang.org/x/net/html"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
)

// Credentials and addresses that the server accepts.
const (
	Username = "monitor"
	Password = "geheim-smtp-password"
	From     = "monitor@example.com"
	To       = "team@example.com"
	Unknown  = "gone@example.com" // it refuses this receiver
)

const (
	maxMessage = 10 << 20
	maxSubject = 998 // RFC 5322, section 2.1.1
)

// Server fakes a mail server.
type Server struct {
	Port        string
	Certificate *x509.Certificate // for 127.0.0.1
	RootCAs     *x509.CertPool    // that trust it

	// Headers holds those of the messages, in order.
	Headers []mail.Header

	smtp     *smtp.Server
	listener net.Listener
	done     chan struct{}
	serv     sync.WaitGroup

	mu          sync.Mutex
	fault       channel.Fault
	messages    []channel.Message
	connections int
}

// New starts a server on loopback: one that begins TLS at once, or one that waits for STARTTLS. Close
// ends it.
func New(tlsAtOnce bool) (*Server, error) {
	// The certificate of httptest is for 127.0.0.1.
	issuer := httptest.NewTLSServer(nil)
	issuer.Close()
	s := &Server{Certificate: issuer.Certificate(), RootCAs: x509.NewCertPool(), done: make(chan struct{})}
	s.RootCAs.AddCert(s.Certificate)
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: issuer.TLS.Certificates}

	s.smtp = smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &session{server: s, conn: c}, nil
	}))
	s.smtp.Domain = "mail.example.com"
	s.smtp.MaxMessageBytes = maxMessage
	s.smtp.ErrorLog = log.New(io.Discard, "", 0)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, s.Port, _ = net.SplitHostPort(l.Addr().String())
	if tlsAtOnce {
		l = tls.NewListener(l, cfg)
	} else {
		s.smtp.TLSConfig = cfg
	}
	l = &countingListener{Listener: l, server: s}
	s.listener = l
	s.serv.Go(func() { _ = s.smtp.Serve(l) })
	return s, nil
}

// countingListener counts the connections of a server.
type countingListener struct {
	net.Listener
	server *Server
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.server.mu.Lock()
		defer l.server.mu.Unlock()
		l.server.connections++
	}
	return c, err
}

// Close ends the server.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.done:
		s.mu.Unlock()
		return
	default:
		close(s.done)
	}
	s.mu.Unlock()
	_ = s.listener.Close() // which Serve may not know yet
	_ = s.smtp.Close()
	s.serv.Wait()
}

// Messages returns the messages as people see them.
func (s *Server) Messages() []channel.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

// Requests returns how many connections came. Each is for one message.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections
}

// Fail makes the next messages fail until Recover. The status 400 is a permanent failure after
// the data, others are temporary ones.
func (s *Server) Fail(f channel.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Recover ends what Fail began.
func (s *Server) Recover() { s.Fail(channel.Fault{}) }

// Delete reports that no sent message can be deleted.
func (s *Server) Delete(string) bool { return false }

type session struct {
	server *Server
	conn   *smtp.Conn
	known  bool
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain, sasl.Login} }

func (s *session) Auth(mechanism string) (sasl.Server, error) {
	if mechanism != sasl.Plain {
		return nil, smtp.ErrAuthUnknownMechanism
	}
	return sasl.NewPlainServer(func(_, username, password string) error {
		if username != Username || password != Password {
			return smtp.ErrAuthFailed
		}
		s.known = true
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.server.mu.Lock()
	f := s.server.fault
	s.server.mu.Unlock()
	switch {
	case f.Hang:
		<-s.server.done
		return io.ErrUnexpectedEOF
	case f.Status == 429:
		return &smtp.SMTPError{Code: 450, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "Too many messages, try again later"}
	case f.Status >= 500:
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "Local error in processing"}
	case !s.known:
		return smtp.ErrAuthRequired
	case from != From:
		return &smtp.SMTPError{Code: 553, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "Sender address rejected: not owned by user"}
	}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if to == Unknown {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "User unknown"}
	}
	return nil
}

func (s *session) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if s.server.fault.Status == 400 {
		return &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "Message rejected"}
	}
	m, header, err := read(data)
	m.PostedAt, m.Posted = time.Now(), m.Text
	if err != nil {
		return &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 6, 0}, Message: err.Error()}
	}
	s.server.messages = append(s.server.messages, m)
	s.server.Headers = append(s.server.Headers, header)
	if s.server.fault.HangUp {
		_ = s.conn.Conn().Close() // so the answer does not arrive
	}
	return nil
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

// read returns a message as people see it: the subject, and the text of both parts.
func read(data []byte) (m channel.Message, header mail.Header, err error) {
	parsed, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return m, nil, err
	}
	header = parsed.Header
	subject, err := new(mime.WordDecoder).DecodeHeader(header.Get("Subject"))
	if err != nil {
		return m, nil, err
	}
	for _, name := range []string{"From", "To", "Date", "Message-Id", "Subject"} {
		if len(header[name]) != 1 {
			return m, nil, fmt.Errorf("%d headers %s", len(header[name]), name)
		}
	}
	if len(header["Bcc"]) > 0 || len(subject) > maxSubject {
		return m, nil, errors.New("a header is invalid")
	}
	m = channel.Message{ID: header.Get("Message-Id"), ReplyTo: header.Get("In-Reply-To"), Sound: true, Priority: header.Get("Importance")}
	parts := map[string][]byte{}
	if err := readParts(parts, header.Get("Content-Type"), header.Get("Content-Transfer-Encoding"), parsed.Body); err != nil {
		return m, nil, err
	}
	plain := strings.TrimSpace(strings.ReplaceAll(string(parts["text/plain"]), "\r\n", "\n"))
	page, err := readPage(&m, parts["text/html"])
	if err != nil {
		return m, nil, err
	}
	lines, _, _ := strings.Cut(plain, "\n\n")
	for line := range strings.SplitSeq(lines, "\n") {
		if !strings.Contains(page, line) {
			return m, nil, fmt.Errorf("the HTML does not show %.40q", line)
		}
	}
	if picture := parts["image/jpeg"]; len(picture) > 0 {
		m.Picture = fmt.Sprint(len(picture), " bytes")
	}
	m.Text = subject + "\n" + plain
	// Both parts must show the same text, whatever strangers wrote.
	if rest := strings.TrimPrefix(page, subject); !strings.Contains(plain, strings.TrimSpace(firstLine(rest))) {
		return m, nil, fmt.Errorf("the text does not show %.40q", rest)
	}
	return m, header, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// readParts collects the parts of a message by their type.
func readParts(parts map[string][]byte, contentType, encoding string, body io.Reader) error {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(kind, "multipart/") {
		switch strings.ToLower(encoding) {
		case "quoted-printable":
			body = quotedprintable.NewReader(body)
		case "base64":
			body = base64.NewDecoder(base64.StdEncoding, body)
		}
		parts[kind], err = io.ReadAll(body)
		return err
	}
	for r := multipart.NewReader(body, params["boundary"]); ; {
		part, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := readParts(parts, part.Header.Get("Content-Type"), part.Header.Get("Content-Transfer-Encoding"), part); err != nil {
			return err
		}
	}
}

// readPage returns the text of a page. It refuses elements that only a stranger could have
// written.
func readPage(m *channel.Message, page []byte) (string, error) {
	var text strings.Builder
	link := -1
	for tokens := html.NewTokenizer(bytes.NewReader(page)); ; {
		switch tokens.Next() {
		case html.ErrorToken:
			return text.String(), nil
		case html.TextToken:
			t := tokens.Token().Data
			text.WriteString(t)
			if link >= 0 {
				m.Links[link].Text += t
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t := tokens.Token()
			switch t.Data {
			case "html", "body", "h3", "p", "br":
			case "img":
				for _, a := range t.Attr {
					if a.Key == "src" && !strings.HasPrefix(a.Val, "cid:") {
						return "", fmt.Errorf("it loads %.40q", a.Val)
					}
					if a.Key == "alt" {
						m.Alt = a.Val
					}
				}
			case "a":
				m.Links = append(m.Links, channel.Link{URL: t.Attr[0].Val})
				link = len(m.Links) - 1
			default:
				return "", fmt.Errorf("it contains <%.40s>", t.Data)
			}
		case html.EndTagToken:
			if tokens.Token().Data == "a" {
				link = -1
			}
		case html.CommentToken, html.DoctypeToken:
		}
	}
}
