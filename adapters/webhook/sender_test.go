package webhook_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound/outboundtest"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func TestOnlyAStatusOf2xxIsADelivery(t *testing.T) {
	for _, c := range []struct {
		status int
		err    string // part of it; empty: delivered
	}{
		{200, ""}, {201, ""}, {204, ""}, {299, ""},
		{301, "redirects are not followed"}, {304, "redirects are not followed"},
		{400, "HTTP 400 Bad Request"}, {404, "HTTP 404"}, {410, "HTTP 410 Gone"},
		{500, "HTTP 500 Internal Server Error"}, {599, "HTTP 599"},
	} {
		receiver := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(c.status) })
		a := send(t.Context(), sender(t, local(t), webhook.Config{}), receiver.URL)
		if a.Status != c.status || a.Accepted() != (c.err == "") || !strings.Contains(a.Error, c.err) {
			t.Errorf("answer %+v, want status %d and error %q", a, c.status, c.err)
		}
	}
}

func TestARedirectIsAFailureThatNamesTheNewHost(t *testing.T) {
	receiver := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+r.Host+"/elsewhere?token=geheim", http.StatusTemporaryRedirect)
	})
	a := send(t.Context(), sender(t, local(t), webhook.Config{}), receiver.URL+"/hook")
	if a.Status != 307 || !strings.Contains(a.Error, receiver.URL) || strings.Contains(a.Error, "geheim") {
		t.Errorf("answer %+v, want where it led, without the query", a)
	}
}

func TestRetryAfterIsReadAsSecondsOrDate(t *testing.T) {
	now := time.Date(2024, 1, 15, 20, 15, 30, 0, time.UTC)
	for _, c := range []struct {
		header string
		want   time.Duration
	}{
		{"", 0}, {"0", 0}, {"7", 7 * time.Second}, {" 60 ", time.Minute},
		{"-3", 0}, {"soon", 0}, {"1.5", 0},
		{"99999999999999999999999", 24 * time.Hour},
		{now.Add(42 * time.Second).Format(http.TimeFormat), 42 * time.Second},
		{now.Add(-time.Hour).Format(http.TimeFormat), 0},
	} {
		receiver := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", c.header)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		s := sender(t, local(t), webhook.Config{Now: func() time.Time { return now }})
		expect.Equal(t, c.header, send(t.Context(), s, receiver.URL).RetryAfter, c.want)
	}
}

func TestAMisbehavingReceiverCannotExceedTheLimits(t *testing.T) {
	if limit := webhook.Timeout(sender(t, local(t), webhook.Config{Timeout: time.Hour})); limit != delivery.SendTimeout { // section 4.4
		t.Errorf("an attempt may take %v", limit)
	}
	hang := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) } // until the sender hangs up
	for _, c := range []struct {
		name   string
		answer func(net.Conn)
		limit  time.Duration // 0: the default, which must not be what ends the attempt
		status int
		err    string
	}{
		{"one that does not answer", hang, shortTimeout, 0, "no answer within 300ms"},
		{"one that sends its header slowly and without end", func(c net.Conn) { outboundtest.Drip(c, "HTTP/1.1 200 OK\r\nX: ", "a") },
			shortTimeout, 0, "no answer within 300ms"},
		{"one that sends early hints without end", func(c net.Conn) { outboundtest.Drip(c, "", "HTTP/1.1 103 Early Hints\r\n\r\n") },
			shortTimeout, 0, ""},
		{"one that closes the connection at once", func(net.Conn) {}, 0, 0, "connection closed before an answer came"},
		{"one that closes the connection in its header", func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Le") },
			0, 0, "malformed MIME header"},
		{"one that does not speak HTTP", func(c net.Conn) { _, _ = io.WriteString(c, "220 smtp.example ready\r\n\r\n") },
			0, 0, "malformed HTTP"},
		{"one whose header has no end", func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("a", 1<<20))
		}, 0, 0, "header"},
		{"one that switches to another protocol", func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
			hang(c)
		}, 0, 101, "HTTP 101 Switching Protocols"},
		{"one that closes the connection in its body has accepted the webhook", func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
		}, 0, 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := outboundtest.RawServer(t, c.answer)
			began := time.Now()
			a := send(t.Context(), sender(t, local(t), webhook.Config{Timeout: c.limit}), url)
			if took := time.Since(began); took > 20*time.Second { // the connection itself has no end
				t.Errorf("took %v", took)
			}
			if a.Status != c.status || !strings.Contains(a.Error, c.err) || a.Accepted() != (c.status == 200) {
				t.Errorf("answer %+v, want status %d and error %q", a, c.status, c.err)
			}
			if strings.ContainsAny(a.Error, "\n\r") || len(a.Error) > 1000 {
				t.Errorf("error is not one short line: %q", a.Error)
			}
		})
	}

	// These answer to the full, so the attempt's limit must not be what ends it.
	t.Run("one that sends its body slowly has accepted the webhook within 5 s", func(t *testing.T) {
		url := outboundtest.RawServer(t, func(c net.Conn) { outboundtest.Drip(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", "a") })
		began := time.Now()
		a := send(t.Context(), sender(t, local(t), webhook.Config{}), url)
		if took := time.Since(began); !a.Accepted() || took > 9*time.Second {
			t.Errorf("answer %+v after %v", a, took)
		}
	})
	t.Run("one with an enormous body has accepted the webhook, and a small part of it is read", func(t *testing.T) {
		var sent atomic.Int64
		url := outboundtest.RawServer(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			for chunk := make([]byte, 1<<16); ; {
				n, err := c.Write(chunk)
				sent.Add(int64(n))
				if err != nil {
					return
				}
			}
		})
		a := send(t.Context(), sender(t, local(t), webhook.Config{}), url)
		if n := sent.Load(); !a.Accepted() || n > 16<<20 { // what the system buffers is not ours
			t.Errorf("answer %+v after %d bytes", a, n)
		}
	})

	t.Run("one that does not listen", func(t *testing.T) {
		a := send(t.Context(), sender(t, local(t), webhook.Config{}), "http://127.0.0.1:1/hook?token=geheim")
		if !strings.Contains(a.Error, "connection refused") || strings.Contains(a.Error, "geheim") || strings.Contains(a.Error, "127.0.0.1") {
			t.Errorf("answer %+v", a)
		}
	})

	t.Run("a cancelled attempt says so", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		url := outboundtest.RawServer(t, func(c net.Conn) { cancel(); hang(c) })
		if a := send(ctx, sender(t, local(t), webhook.Config{}), url); a.Error != "cancelled" {
			t.Errorf("answer %+v", a)
		}
	})
}

func TestAConnectionIsUsedAgain(t *testing.T) {
	var opened atomic.Int32
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "thank you")
	}))
	receiver.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	receiver.Start()
	t.Cleanup(receiver.Close)
	s := sender(t, local(t), webhook.Config{})
	for range 10 {
		if a := send(t.Context(), s, receiver.URL); !a.Accepted() {
			t.Fatalf("answer %+v", a)
		}
	}
	expect.Equal(t, "connections for ten webhooks", opened.Load(), 1)
}

// Decision O8.
func TestNoProxyIsUsed(t *testing.T) {
	// A name, because Go takes no proxy for loopback addresses anyway.
	names := outboundtest.DNSRecords{"receiver.example": {"127.0.0.1"}}
	receiver := serve(t, func(http.ResponseWriter, *http.Request) {})
	g := webhook.NewGuard(networks(t, "127.0.0.0/8"), names.Resolver(t))
	url := "http://receiver.example" + receiver.URL[strings.LastIndex(receiver.URL, ":"):]
	if a := send(t.Context(), sender(t, g, webhook.Config{}), url); !a.Accepted() {
		t.Errorf("answer %+v", a)
	}
}

func TestDeliverSendsLikeTheDispatcher(t *testing.T) {
	receiver := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Event-Type") != "webhook.test" || r.Header.Get("X-Signature-256") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	a := sender(t, local(t), webhook.Config{}).Deliver(t.Context(), monitor.CallbackURL(receiver.URL), eventID, "webhook.test", []byte(`{}`))
	if a.Status != 202 || a.Error != "" || a.At.IsZero() {
		t.Errorf("attempt %+v", a)
	}
}

func TestAnAttemptKeepsWhatWasSentAndAnswered(t *testing.T) {
	for _, c := range []struct {
		name, answer, want string
		status             int
		truncated          bool
	}{
		{"an answer", "thanks", "thanks", 200, false},
		{"a refusal", `{"error":"unknown channel"}`, `{"error":"unknown channel"}`, 404, false},
		{"no body", "", "", 204, false},
		{"2 kB", strings.Repeat("a", 2048), strings.Repeat("a", 2048), 200, false},
		{"more than 2 kB", strings.Repeat("a", 2049), strings.Repeat("a", 2048), 200, true},
		{"bytes that are no text", "a\x00\xffb", "a��b", 500, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var received http.Header
			receiver := serve(t, func(w http.ResponseWriter, r *http.Request) {
				received = r.Header.Clone()
				w.Header().Set("Content-Type", "text/plain; charset=utf-8")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.answer))
			})
			a := send(t.Context(), sender(t, local(t), webhook.Config{Version: "1.2.3"}), receiver.URL+"/hook/token?key=geheim")
			if a.Exchange == nil || a.Exchange.Answer == nil {
				t.Fatalf("the attempt %+v keeps no exchange", a)
			}
			if got := *a.Exchange.Answer; got != (event.Answer{ContentType: "text/plain; charset=utf-8", Body: c.want, Truncated: c.truncated}) {
				t.Errorf("the answer is kept as %+v", got)
			}
			expect.Equal(t, "the URL is kept as", a.Exchange.URL, receiver.URL+"/…")
			for name, value := range a.Exchange.Header {
				if received.Get(name) != value {
					t.Errorf("the header %s is kept as %q, the receiver got %q", name, value, received.Get(name))
				}
			}
			for _, name := range []string{"X-Signature-256", "X-Timestamp", "Webhook-Signature", "User-Agent", "X-Event-Id"} {
				if a.Exchange.Header[name] == "" {
					t.Errorf("the header %s is not kept", name)
				}
			}
		})
	}
}

// Section 19.1: who may only read gets no secret back from a receiver that repeats its request.
func TestAnAnswerIsKeptWithoutTheSecretsOfItsWebhook(t *testing.T) {
	receiver := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; of="+r.URL.Path)
		w.WriteHeader(http.StatusTeapot)
		_, _ = fmt.Fprintf(w, "%s\n%s\n%s\nthe-signing-key %s", r.URL, r.URL.Query().Get("key"), r.Header.Get("Authorization"), oldKey)
	})
	url := strings.Replace(receiver.URL, "://", "://user:a-password@", 1) + "/hooks/the-token-in-the-path?key=the%20secret-key"
	signing := []string{"the-signing-key"}
	s := sender(t, local(t), webhook.Config{})
	for name, a := range map[string]event.Attempt{
		"a callback":    send(t.Context(), s, url),
		"a destination": s.Send(t.Context(), monitor.CallbackURL(url), delivery.Event{}, signing),
	} {
		if a.Exchange == nil || a.Exchange.Answer == nil || !strings.Contains(a.Exchange.Answer.Body, "[hidden]") {
			t.Errorf("%s: kept is %+v", name, a.Exchange)
			continue
		}
		kept := a.Error + a.Exchange.Answer.ContentType + a.Exchange.Answer.Body + a.Exchange.URL
		for _, secret := range []string{"the-token-in-the-path", "the%20secret-key", "the secret-key", "a-password", "dXNlcjphLXBhc3N3b3Jk", map[string]string{"a callback": oldKey, "a destination": "the-signing-key"}[name]} {
			if strings.Contains(kept, secret) {
				t.Errorf("%s: kept is %q, with the secret %s", name, kept, secret)
			}
		}
	}
}

func TestAnAttemptWithoutAnswerKeepsWhatWasSent(t *testing.T) {
	url := outboundtest.RawServer(t, func(net.Conn) {})
	a := send(t.Context(), sender(t, local(t), webhook.Config{}), url)
	if a.Exchange == nil || a.Exchange.Answer != nil || a.Exchange.Header["X-Signature-256"] == "" {
		t.Errorf("the attempt keeps %+v", a.Exchange)
	}
}

// Decision O6.
func TestTLSIs12OrNewerAndVerified(t *testing.T) {
	for _, c := range []struct {
		name    string
		version uint16
		trusted bool
		err     string
	}{
		{"TLS 1.1 is refused", tls.VersionTLS11, true, "protocol version"},
		{"TLS 1.2 is accepted", tls.VersionTLS12, true, ""},
		{"TLS 1.3 is accepted", tls.VersionTLS13, true, ""},
		{"a certificate of an unknown authority is refused", tls.VersionTLS13, false, "certificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			receiver.TLS = &tls.Config{MinVersion: c.version, MaxVersion: c.version}
			receiver.Config.ErrorLog = log.New(io.Discard, "", 0)
			receiver.StartTLS()
			t.Cleanup(receiver.Close)
			roots := x509.NewCertPool()
			if c.trusted {
				roots.AddCert(receiver.Certificate())
			}
			a := send(t.Context(), sender(t, local(t), webhook.Config{RootCAs: roots}), receiver.URL)
			if a.Accepted() != (c.err == "") || !strings.Contains(a.Error, c.err) {
				t.Errorf("answer %+v, want error %q", a, c.err)
			}
		})
	}
	t.Run("an unfinished handshake ends at the timeout", func(t *testing.T) {
		l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		defer l.Close()
		a := send(t.Context(), sender(t, local(t), webhook.Config{Timeout: shortTimeout}), "https://"+l.Addr().String())
		if a.Error != "no answer within 300ms" {
			t.Errorf("answer %+v", a)
		}
	})
}
