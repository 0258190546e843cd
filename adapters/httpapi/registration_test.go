package httpapi_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

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
		if got := a.header.Get("Retry-After"); got != "20" {
			t.Errorf("Retry-After is %q", got)
		}
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
