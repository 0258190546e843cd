package httpapi_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const idempotencyKey = "Idempotency-Key"

// postWithKeys registers under the given Idempotency-Keys, one header each.
func (api *testAPI) postWithKeys(body string, keys ...string) response {
	api.t.Helper()
	r := newRequest("POST", "/api/v1/monitors", strings.NewReader(body))
	for _, key := range keys {
		r.Header.Add(idempotencyKey, key)
	}
	return api.do(r)
}

// TestARepeatedIdempotencyKeyReturnsTheFirstResponse tests decision A9.
func TestARepeatedIdempotencyKeyReturnsTheFirstResponse(t *testing.T) {
	t.Run("a repeat gets the first response, marked as a replay", func(t *testing.T) {
		api := newTestAPI(t)
		first := api.postWithKeys(registration, "k").hasStatus(http.StatusCreated)
		if said := first.header.Get("Idempotency-Replayed"); said != "" {
			t.Errorf("the first response is marked as a replay: %s", said)
		}
		api.store.Update(firstID, func(m *monitor.Monitor) { m.Status = monitor.Stopped })
		again := api.postWithKeys(registration, "k").hasStatus(http.StatusCreated)
		if said := again.header.Get("Idempotency-Replayed"); said != "true" {
			t.Errorf("Idempotency-Replayed is %q", said)
		}
		if !bytes.Equal(first.body, again.body) || first.header.Get("Location") != again.header.Get("Location") {
			t.Errorf("the first response is\n%s, the second\n%s", first.body, again.body)
		}
		if len(api.workers.Started()) != 1 {
			t.Errorf("workers started: %v", api.workers.Started())
		}
	})

	t.Run("another request with the same key is refused", func(t *testing.T) {
		api := newTestAPI(t)
		api.postWithKeys(registration, "k").hasStatus(http.StatusCreated)
		another := strings.Replace(registration, "XcQ", "XcZ", 1)
		a := api.postWithKeys(another, "k")
		a.hasError(http.StatusConflict, "IDEMPOTENCY_KEY_REUSED", "Idempotency-Key", "new key")
		if a.header.Get("Idempotency-Replayed") != "" {
			t.Error("the refusal is marked as a replay")
		}
		api.postWithKeys(another, "K").hasStatus(http.StatusCreated)
	})

	for name, key := range map[string]string{
		"of one character":           "k",
		"of 255 characters":          strings.Repeat("k", 255),
		"that is a UUID":             "3e9c1b0e-5d1f-4a57-9a65-0a7e1a2f9b11",
		"of every visible character": `!"#$%&'()*+,-./0123456789:;<=>?@ABCXYZ[\]^_` + "`" + `abcxyz{|}~`,
	} {
		t.Run("a key is accepted "+name, func(t *testing.T) {
			api := newTestAPI(t)
			api.postWithKeys(registration, key).hasStatus(http.StatusCreated)
			if api.postWithKeys(registration, key).hasStatus(http.StatusCreated).header.Get("Idempotency-Replayed") == "" {
				t.Error("the repeat is not marked as a replay")
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
		"is not UTF-8":                 {"\xff"},
		"is there twice":               {"a", "b"},
		"is there twice, and the same": {"a", "a"},
	} {
		t.Run("a key is refused that "+name, func(t *testing.T) {
			api := newTestAPI(t)
			api.postWithKeys(registration, keys...).hasError(http.StatusBadRequest, monitor.InvalidConfig, "Idempotency-Key", "accepted")
			if len(api.workers.Started()) != 0 {
				t.Error("a worker was started")
			}
		})
	}

	t.Run("another API key has its own idempotency keys", func(t *testing.T) {
		api := newTestAPI(t, rateLimits(0, 0))
		api.postWithKeys(registration, "k").hasStatus(http.StatusCreated)
		other := newTestAPI(t, besides(api, "another key"))
		r := newRequest("POST", "/api/v1/monitors", strings.NewReader(registration))
		r.Header.Set(publicKeyHeader, "another key")
		r.Header.Set(idempotencyKey, "k")
		other.do(r).hasError(http.StatusConflict, monitor.Duplicate)
	})

	t.Run("other requests ignore it", func(t *testing.T) {
		api := newTestAPI(t)
		for _, c := range []struct{ method, path, body string }{
			{"GET", "/api/v1/monitors", ""},
			{"POST", "/api/v1/webhooks/test", `{"callback_url":"https://example.com/hook"}`},
		} {
			r := newRequest(c.method, c.path, strings.NewReader(c.body))
			r.Header[idempotencyKey] = []string{"a b", ""}
			api.do(r).hasStatus(http.StatusOK)
		}
	})
}
