package httpapi_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const idempotencyKey = "Idempotency-Key"

// postOnce registers under the given Idempotency-Keys, one header each.
func (g *gate) postOnce(body string, keys ...string) answer {
	g.t.Helper()
	r := req("POST", "/api/v1/monitors", strings.NewReader(body))
	for _, key := range keys {
		r.Header.Add(idempotencyKey, key)
	}
	return g.do(r)
}

// TestIdempotencyKey is decision A9.
func TestIdempotencyKey(t *testing.T) {
	t.Run("makes a repeat get the first answer, and says so", func(t *testing.T) {
		g := open(t)
		first := g.postOnce(registration, "k").is(http.StatusCreated)
		if said := first.header.Get("Idempotency-Replayed"); said != "" {
			t.Errorf("the first answer says that it is a repeat: %s", said)
		}
		g.store.Update(firstID, func(m *monitor.Monitor) { m.Status = monitor.Stopped })
		again := g.postOnce(registration, "k").is(http.StatusCreated)
		if said := again.header.Get("Idempotency-Replayed"); said != "true" {
			t.Errorf("Idempotency-Replayed is %q", said)
		}
		if !bytes.Equal(first.body, again.body) || first.header.Get("Location") != again.header.Get("Location") {
			t.Errorf("first came\n%s, again came\n%s", first.body, again.body)
		}
		if len(g.crew.Started()) != 1 {
			t.Errorf("workers asked for: %v", g.crew.Started())
		}
	})

	t.Run("is not needed: without one a repeat is a duplicate", func(t *testing.T) {
		g := open(t)
		g.postOnce(registration).is(http.StatusCreated)
		g.postOnce(registration).fails(http.StatusConflict, monitor.Duplicate)
		g.postOnce(registration, "k").fails(http.StatusConflict, monitor.Duplicate)
	})

	t.Run("stands for one request: with another it is refused", func(t *testing.T) {
		g := open(t)
		g.postOnce(registration, "k").is(http.StatusCreated)
		a := g.postOnce(strings.Replace(registration, "XcQ", "XcZ", 1), "k")
		a.fails(http.StatusConflict, "IDEMPOTENCY_KEY_REUSED", "Idempotency-Key", "new key")
		if a.header.Get("Idempotency-Replayed") != "" {
			t.Error("the refusal says that it is a repeat")
		}
		g.postOnce(strings.Replace(registration, "XcQ", "XcZ", 1), "K").is(http.StatusCreated)
	})

	t.Run("is free again after a refusal", func(t *testing.T) {
		g := open(t)
		g.postOnce(`{"stream_url":"x"}`, "k").fails(http.StatusBadRequest, monitor.InvalidURL)
		g.store.Fail = func(context.Context, string) error { return context.DeadlineExceeded }
		g.postOnce(registration, "k").is(http.StatusServiceUnavailable)
		g.store.Fail = nil
		g.postOnce(registration, "k").is(http.StatusCreated)
	})

	for name, key := range map[string]string{
		"of one character":           "k",
		"of 255 characters":          strings.Repeat("k", 255),
		"that is a UUID":             "3e9c1b0e-5d1f-4a57-9a65-0a7e1a2f9b11",
		"of every visible character": `!"#$%&'()*+,-./0123456789:;<=>?@ABCXYZ[\]^_` + "`" + `abcxyz{|}~`,
	} {
		t.Run("is taken when it is one "+name, func(t *testing.T) {
			g := open(t)
			g.postOnce(registration, key).is(http.StatusCreated)
			if g.postOnce(registration, key).is(http.StatusCreated).header.Get("Idempotency-Replayed") == "" {
				t.Error("it was forgotten")
			}
		})
	}
	for name, keys := range map[string][]string{
		"is empty":                     {""},
		"has 256 characters":           {strings.Repeat("k", 256)},
		"has a space":                  {"a b"},
		"has a tab":                    {"a\tb"},
		"has a control character":      {"a\x7f"},
		"has a line break":             {"a\n"},
		"is not ASCII":                 {"clé"},
		"is not even text":             {"\xff"},
		"is there twice":               {"a", "b"},
		"is there twice, and the same": {"a", "a"},
	} {
		t.Run("is refused when it "+name, func(t *testing.T) {
			g := open(t)
			g.postOnce(registration, keys...).fails(http.StatusBadRequest, monitor.InvalidConfig, "Idempotency-Key", "accepted")
			if len(g.crew.Started()) != 0 {
				t.Error("a worker was asked for")
			}
		})
	}

	t.Run("is the API key's own: with another it stands for something else", func(t *testing.T) {
		g := openWithin(t, 0, 0)
		g.postOnce(registration, "k").is(http.StatusCreated)
		other := openOn(t, g.store, 0, 0, func(c *httpapi.Config) { c.APIKey = "another key" })
		r := req("POST", "/api/v1/monitors", strings.NewReader(registration))
		r.Header.Set(publicKey, "another key")
		r.Header.Set(idempotencyKey, "k")
		other.do(r).fails(http.StatusConflict, monitor.Duplicate)
	})

	t.Run("means nothing to other requests", func(t *testing.T) {
		g := open(t)
		for _, c := range []struct{ method, path, body string }{
			{"GET", "/api/v1/monitors", ""},
			{"POST", "/api/v1/webhooks/test", `{"callback_url":"https://example.com/hook"}`},
		} {
			r := req(c.method, c.path, strings.NewReader(c.body))
			r.Header[idempotencyKey] = []string{"a b", ""}
			g.do(r).is(http.StatusOK)
		}
	})
}
