package httpapi_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestEveryWrongFieldOfARegistrationIsNamedAtOnce(t *testing.T) { // decision A3
	t.Run("values, types and unknown fields", func(t *testing.T) {
		open(t).post("/api/v1/monitors", `{"stream_url":"https://youtu.be/dQw4w9WgXcQ","callback_url":7,"colour":"red","metadata":[],
			"config":{"check_interval_sec":0,"blackout_threshold_sec":"30","silence_db_threshold":1,"silence_threshold_sec":3601,
			"start_delay_tolerance_sec":-1,"scheduled_start_time":"tomorrow","sharpness":1}}`).
			fails(http.StatusBadRequest, monitor.InvalidConfig,
				"stream_url: is not", "callback_url is 7; accepted is a string", `"colour" is not a field`, "metadata: is not an object",
				"config.check_interval_sec is 0; accepted is 1 to 300", `config.blackout_threshold_sec is "30"; accepted is a whole number, 1 to 3600`,
				"config.silence_db_threshold is 1; accepted is -100 to 0", "config.silence_threshold_sec is 3601; accepted is 1 to 3600",
				"config.start_delay_tolerance_sec is -1; accepted is 0 to 86400", `config.scheduled_start_time is "tomorrow"; accepted is`,
				`config."sharpness" is not a field`)
	})
	t.Run("a callback that the policy refuses, beside a value out of its range", func(t *testing.T) {
		g := open(t)
		g.policy = monitor.Errorf(monitor.InvalidURL, "callback_url: 10.0.0.1 is a private address")
		registerWith(g, `,"config":{"check_interval_sec":0}`).
			fails(http.StatusBadRequest, monitor.InvalidConfig, "config.check_interval_sec is 0", "callback_url: 10.0.0.1 is a private address")
	})
	t.Run("only URLs", func(t *testing.T) {
		open(t).post("/api/v1/monitors", `{"stream_url":"https://youtu.be/dQw4w9WgXcQ","callback_url":"ftp://example.com/"}`).
			fails(http.StatusBadRequest, monitor.InvalidURL, "stream_url: is not", "callback_url: must start with https://")
	})
}

func TestRefusedRegistrationsHaveARateLimitOfTheirOwn(t *testing.T) { // section 12.3
	wrong := `{"stream_url":"https://youtu.be/x","callback_url":"https://example.com/"}`
	t.Run("refusals leave the limit of successful registrations alone", func(t *testing.T) {
		g := openWithin(t, 3, 1000)
		for _, body := range []string{wrong, `{`, `[]`} {
			g.post("/api/v1/monitors", body).is(http.StatusBadRequest)
		}
		for i := range 3 {
			g.post("/api/v1/monitors", strings.Replace(registration, "XcQ", "Xc"+strconv.Itoa(i), 1)).is(http.StatusCreated)
		}
		g.post("/api/v1/monitors", registration).isLimited("20")
	})
	t.Run("it is as large, and Retry-After says when a refusal is answered again", func(t *testing.T) {
		g := openWithin(t, 3, 1000)
		for range 3 {
			g.post("/api/v1/monitors", wrong).is(http.StatusBadRequest)
		}
		a := g.post("/api/v1/monitors", wrong)
		a.fails(http.StatusTooManyRequests, rateLimited, "3 refused registrations a minute", "in 20 s")
		if got := a.header.Get("Retry-After"); got != "20" {
			t.Errorf("Retry-After is %q", got)
		}
		g.post("/api/v1/monitors", registration).is(http.StatusCreated)
	})
	t.Run("a duplicate and a full gateway are refusals", func(t *testing.T) {
		g := openWithin(t, 2, 1000)
		g.post("/api/v1/monitors", registration).is(http.StatusCreated)
		g.post("/api/v1/monitors", registration).is(http.StatusConflict)
		g.post("/api/v1/monitors", registration).is(http.StatusConflict)
		g.post("/api/v1/monitors", strings.Replace(registration, "XcQ", "XcR", 1)).is(http.StatusCreated)
	})
}

func TestAPastStartIsToldWithTheAnswer(t *testing.T) { // section 3.1
	for start, want := range map[string]any{
		now.Add(-95*time.Second - 800*time.Millisecond).Format(time.RFC3339Nano): 95.0,
		now.Add(-time.Second).Format(time.RFC3339Nano):                           1.0,
		now.Format(time.RFC3339Nano):                                             nil,
		now.Add(time.Minute).Format(time.RFC3339Nano):                            nil,
	} {
		g := open(t)
		body := strings.TrimSuffix(registration, "}") + `,"config":{"scheduled_start_time":"` + start + `"}}`
		if got := g.postOnce(body, `"k"`).is(http.StatusCreated).json()["late_by_sec"]; got != want {
			t.Errorf("a start at %s is late by %v, want %v", start, got, want)
		}
		if got := g.postOnce(body, `"k"`).is(http.StatusCreated).json()["late_by_sec"]; got != want {
			t.Errorf("the repeat of a start at %s is late by %v, want %v", start, got, want)
		}
	}
	if _, is := registerWith(open(t), "").is(http.StatusCreated).json()["late_by_sec"]; is {
		t.Error("a registration without a start has late_by_sec")
	}
}
