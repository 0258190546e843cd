package httpapi_test

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

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
	t.Run("a repeat gets the first response, marked as a replay, and another request none", func(t *testing.T) {
		api := newTestAPI(t)
		first := api.postWithKeys(registration, "k").hasStatus(http.StatusCreated)
		again := api.postWithKeys(registration, "k").hasStatus(http.StatusCreated)
		another := api.postWithKeys(strings.Replace(registration, "XcQ", "XcZ", 1), "k")
		another.hasError(http.StatusConflict, "IDEMPOTENCY_KEY_REUSED", "Idempotency-Key", "new key")
		for want, a := range map[string]response{"": first, "true": again, " ": another} {
			a.hasHeaders("Idempotency-Replayed", strings.TrimSpace(want))
		}
		if at := first.header.Get("Location"); !bytes.Equal(first.body, again.body) || at != "/api/v1/monitors/"+firstID || again.header.Get("Location") != at {
			t.Errorf("the first response is\n%v\n%s, the second\n%v\n%s", first.header, first.body, again.header, again.body)
		}
	})

	for name, key := range map[string]string{
		"of 255 characters":          strings.Repeat("k", 255),
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
		"is empty":           {""},
		"has 256 characters": {strings.Repeat("k", 256)},
		"has a space":        {"a b"},
		"has a line break":   {"a\n"},
		"is not ASCII":       {"clé"},
		"is there twice":     {"a", "b"},
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

	t.Run("a batch refuses it, and other requests ignore it", func(t *testing.T) {
		api := newTestAPI(t)
		batch := newRequest("POST", batchPath, strings.NewReader(`{"monitors":[`+registration+`]}`))
		batch.Header.Set(idempotencyKey, "k")
		api.do(batch).hasError(http.StatusBadRequest, monitor.InvalidConfig, string(monitor.Duplicate))
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

func TestRefusedRegistrationsHaveARateLimitOfTheirOwn(t *testing.T) { // section 12.3
	wrong := `{"stream_url":"https://youtu.be/x","callback_url":"https://example.com/"}`
	t.Run("refusals do not count against the limit of successful registrations", func(t *testing.T) {
		api := newTestAPI(t, rateLimits(3, 1000))
		for _, body := range []string{wrong, `{`, `[]`} {
			api.post("/api/v1/monitors", body).hasStatus(http.StatusBadRequest)
		}
		for i := range 3 {
			api.post("/api/v1/monitors", strings.Replace(registration, "XcQ", "Xc"+strconv.Itoa(i), 1)).hasStatus(http.StatusCreated)
		}
		api.post("/api/v1/monitors", registration).isRateLimited("20")
	})
	t.Run("the limit of refusals is as large and has its own Retry-After", func(t *testing.T) {
		api := newTestAPI(t, rateLimits(3, 1000))
		for range 3 {
			api.post("/api/v1/monitors", wrong).hasStatus(http.StatusBadRequest)
		}
		a := api.post("/api/v1/monitors", wrong)
		a.hasError(http.StatusTooManyRequests, rateLimited, "3 refused registrations a minute", "in 20 s")
		a.hasHeaders("Retry-After", "20")
		api.post("/api/v1/monitors", registration).hasStatus(http.StatusCreated)
	})
	t.Run("a duplicate counts as a refusal", func(t *testing.T) {
		api := newTestAPI(t, rateLimits(2, 1000))
		api.post("/api/v1/monitors", registration).hasStatus(http.StatusCreated)
		api.post("/api/v1/monitors", registration).hasStatus(http.StatusConflict)
		api.post("/api/v1/monitors", registration).hasStatus(http.StatusConflict)
		api.post("/api/v1/monitors", strings.Replace(registration, "XcQ", "XcR", 1)).hasStatus(http.StatusCreated)
	})
}

func TestTheResponseSaysHowLateARegistrationIs(t *testing.T) { // section 3.1
	for start, want := range map[string]any{
		now.Add(-95*time.Second - 800*time.Millisecond).Format(time.RFC3339Nano): 95.0,
		now.Add(-time.Second).Format(time.RFC3339Nano):                           1.0,
		now.Format(time.RFC3339Nano):                                             nil,
		now.Add(time.Minute).Format(time.RFC3339Nano):                            nil,
	} {
		api := newTestAPI(t)
		body := strings.TrimSuffix(registration, "}") + `,"config":{"scheduled_start_time":"` + start + `"}}`
		if got := api.postWithKeys(body, `"k"`).hasStatus(http.StatusCreated).json()["late_by_sec"]; got != want {
			t.Errorf("a start at %s is late by %v, want %v", start, got, want)
		}
		if got := api.postWithKeys(body, `"k"`).hasStatus(http.StatusCreated).json()["late_by_sec"]; got != want {
			t.Errorf("the repeat of a start at %s is late by %v, want %v", start, got, want)
		}
	}
	if _, is := registerWithFields(newTestAPI(t), "").hasStatus(http.StatusCreated).json()["late_by_sec"]; is {
		t.Error("a registration without a start has late_by_sec")
	}
}
