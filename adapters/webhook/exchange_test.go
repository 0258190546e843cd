package webhook_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound/outboundtest"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

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
			if a.Exchange.URL != receiver.URL+"/…" {
				t.Errorf("the URL is kept as %q, want no path and no query", a.Exchange.URL)
			}
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
