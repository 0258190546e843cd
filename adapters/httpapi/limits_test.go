package httpapi_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/application/monitors/monitorstest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// TestAMonitorIDHasTheSpecifiedForm tests the form of monitor_id in section 3.1.
func TestAMonitorIDHasTheSpecifiedForm(t *testing.T) {
	api := newTestAPIOnStore(t, &monitorstest.Store{}, 0, 0)
	a := api.post("/api/v1/monitors", registration).hasStatus(http.StatusCreated)
	id := a.json()["monitor_id"].(string)
	t.Run("mon- and a UUIDv7 without hyphens", func(t *testing.T) {
		if !regexp.MustCompile(`^mon-[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$`).MatchString(id) {
			t.Errorf("it is %s", id)
		}
	})
	t.Run("a label of DNS-1123", func(t *testing.T) {
		if len(id) > 63 || !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`).MatchString(id) {
			t.Errorf("it is %s", id)
		}
	})
	t.Run("the same everywhere", func(t *testing.T) {
		for path, holder := range map[string]string{"/api/v1/monitors/" + id: "", "/api/v1/monitors": "monitors", "/internal/v1/monitors/" + id + "?generation=1": ""} {
			body := api.get(path).hasStatus(http.StatusOK).json()
			if holder != "" {
				body = body[holder].([]any)[0].(map[string]any)
			}
			if body["monitor_id"] != id {
				t.Errorf("%s gives %v", path, body["monitor_id"])
			}
		}
	})
	t.Run("later ones sort after it", func(t *testing.T) {
		next := api.post("/api/v1/monitors", strings.Replace(registration, "XcQ", "XcZ", 1)).hasStatus(http.StatusCreated).json()["monitor_id"].(string)
		if next <= id {
			t.Errorf("%s comes after %s", next, id)
		}
	})
}

// TestEveryListTakesTheSpecifiedQueryParameters tests section 3.4 and decision A7 for the
// list of monitors and for the history.
func TestEveryListTakesTheSpecifiedQueryParameters(t *testing.T) {
	api := newTestAPI(t)
	lists := []string{"/api/v1/monitors", "/api/v1/monitors/" + string(api.register("Q")) + "/events"}
	for _, p := range []struct {
		name, initial     string
		accepted, refused []string
	}{
		{"limit", "50", []string{"1", "200"}, []string{"0", "201", "-1", "1.5", "ten", ""}},
		{"offset", "0", []string{"0", "1", "2147483647"}, []string{"-1", "2147483648", "one", ""}},
	} {
		for _, list := range lists {
			shown := func(a response) string {
				return fmt.Sprintf("%.0f", a.hasStatus(http.StatusOK).json()["pagination"].(map[string]any)[p.name])
			}
			t.Run(p.name+" has its default at "+list, func(t *testing.T) {
				if got := shown(api.get(list)); got != p.initial {
					t.Errorf("default is %s, expected %s", got, p.initial)
				}
			})
			for _, value := range p.accepted {
				t.Run(p.name+" accepts "+value+" at "+list, func(t *testing.T) {
					if got := shown(api.get(list + "?" + p.name + "=" + value)); got != value {
						t.Errorf("shown is %s", got)
					}
				})
			}
			for _, value := range p.refused {
				t.Run(p.name+" refuses "+value+" at "+list, func(*testing.T) {
					api.get(list+"?"+p.name+"="+value).hasError(http.StatusBadRequest, monitor.InvalidConfig, p.name, "accepted is")
				})
			}
		}
	}
}

// TestNoMoreMonitorsThanTheMaximumAreActive tests section 8.5.
func TestNoMoreMonitorsThanTheMaximumAreActive(t *testing.T) {
	t.Run("the 51st active monitor is refused", func(t *testing.T) {
		api := newTestAPIOnStore(t, &monitorstest.Store{}, 0, 0) // with the default
		stream := func(n int) string { return strings.Replace(registration, "dQw4w9WgXcQ", fmt.Sprintf("%011d", n), 1) }
		var last response
		for n := range 50 {
			last = api.post("/api/v1/monitors", stream(n)).hasStatus(http.StatusCreated)
		}
		api.post("/api/v1/monitors", stream(50)).hasError(http.StatusTooManyRequests, monitor.MaxMonitorsExceeded, "50")
		t.Run("until one has ended", func(*testing.T) {
			api.delete("/api/v1/monitors/" + last.json()["monitor_id"].(string)).hasStatus(http.StatusOK)
			api.post("/api/v1/monitors", stream(50)).hasStatus(http.StatusCreated)
		})
	})
	t.Run("a reservation counts", func(t *testing.T) { // decision A10
		api := newTestAPI(t)
		for _, last := range []string{"A", "B", "C"} {
			reserve(api, last).hasStatus(http.StatusCreated)
		}
		reserve(api, "D").hasError(http.StatusTooManyRequests, monitor.MaxMonitorsExceeded)
		api.post("/api/v1/monitors", registration).hasError(http.StatusTooManyRequests, monitor.MaxMonitorsExceeded)
	})
}

// reserve registers the stream whose video id ends in last for tomorrow.
func reserve(api *testAPI, last string) response {
	api.t.Helper()
	body := strings.Replace(registration, "XcQ", "Xc"+last, 1)
	return api.post("/api/v1/monitors", strings.TrimSuffix(body, "}")+
		`,"config":{"scheduled_start_time":"2024-01-16T20:00:00+09:00","scheduled_end_time":"2024-01-16T22:00:00+09:00"}}`)
}

// TestAReservationIsShownAndStoppedLikeAnyMonitor tests decision A10, as clients see it.
func TestAReservationIsShownAndStoppedLikeAnyMonitor(t *testing.T) {
	api := newTestAPI(t)
	t.Run("waits without a worker", func(t *testing.T) {
		reserve(api, "Q").hasStatus(http.StatusCreated).hasBody(`{"monitor_id":"` + firstID + `","status":"waiting","created_at":"2024-01-15T19:55:00.123+09:00"}`)
		if started := api.workers.Started(); len(started) != 0 {
			t.Errorf("workers started: %v", started)
		}
	})
	t.Run("shows its times", func(t *testing.T) {
		shown := api.get("/api/v1/monitors/" + firstID).hasStatus(http.StatusOK).json()
		config := shown["config"].(map[string]any)
		if shown["status"] != "waiting" || shown["stream_status"] != "upcoming" ||
			config["scheduled_start_time"] != "2024-01-16T20:00:00+09:00" || config["scheduled_end_time"] != "2024-01-16T22:00:00+09:00" {
			t.Errorf("shown is %v", shown)
		}
	})
	t.Run("is a duplicate like any other", func(*testing.T) {
		api.post("/api/v1/monitors", registration).hasError(http.StatusConflict, monitor.Duplicate)
	})
	t.Run("is stopped like any other", func(*testing.T) {
		api.delete("/api/v1/monitors/" + firstID).hasStatus(http.StatusOK).
			hasBody(`{"monitor_id":"` + firstID + `","status":"stopped","stopped_at":"2024-01-15T19:55:00.123+09:00"}`)
		reserve(api, "Q").hasStatus(http.StatusCreated)
	})
}

// TestEachAPIIsOpenedByItsOwnHeader tests sections 12.1 and 8.6.
// TestEveryAPIRequestNeedsItsKey tests that neither key opens the other API.
func TestEachAPIIsOpenedByItsOwnHeader(t *testing.T) {
	for _, row := range []struct{ api, path, header, key string }{
		{"the public API", "/api/v1/monitors", "X-API-Key", apiKey},
		{"the internal API", "/internal/v1/monitors/" + firstID + "?generation=1", "X-Internal-API-Key", monitor.NewTokenKey(internalAPIKey).Token(firstID, 1)},
	} {
		api := newTestAPI(t)
		api.register("Q")
		t.Run(row.header+" opens "+row.api, func(*testing.T) {
			r := newRequestWithoutKey(row.path)
			r.Header.Set(row.header, row.key)
			api.do(r).hasStatus(http.StatusOK)
		})
		t.Run("without it "+row.api+" is closed", func(*testing.T) {
			api.do(newRequestWithoutKey(row.path)).hasError(http.StatusUnauthorized, monitor.Unauthorized, row.header)
		})
	}
}

// TestAReadyGatewayAnswersItsProbes tests the table of section 8.7.
func TestAReadyGatewayAnswersItsProbes(t *testing.T) {
	for path, says := range map[string]string{"/healthz": "ok", "/readyz": "ready"} {
		t.Run("GET "+path, func(*testing.T) {
			newTestAPI(t).do(newRequestWithoutKey(path)).hasStatus(http.StatusOK).hasBody(`{"status":"` + says + `"}`)
		})
	}
}
