package httpapi_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/application/registry/registrytest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// TestIDTable is the table of the form of monitor_id in section 3.1.
func TestIDTable(t *testing.T) {
	g := openOn(t, &registrytest.Store{}, 0, 0)
	a := g.post("/api/v1/monitors", registration).is(http.StatusCreated)
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
		for path, holder := range map[string]string{"/api/v1/monitors/" + id: "", "/api/v1/monitors": "monitors", "/internal/v1/monitors/" + id: ""} {
			body := g.get(path).is(http.StatusOK).json()
			if holder != "" {
				body = body[holder].([]any)[0].(map[string]any)
			}
			if body["monitor_id"] != id {
				t.Errorf("%s gives %v", path, body["monitor_id"])
			}
		}
	})
	t.Run("later ones sort after it", func(t *testing.T) {
		next := g.post("/api/v1/monitors", strings.Replace(registration, "XcQ", "XcZ", 1)).is(http.StatusCreated).json()["monitor_id"].(string)
		if next <= id {
			t.Errorf("%s comes after %s", next, id)
		}
	})
}

// TestQueryParameterTable is the table of section 3.4 (and decision A7), of the
// list and of the history alike.
func TestQueryParameterTable(t *testing.T) {
	g := open(t)
	lists := []string{"/api/v1/monitors", "/api/v1/monitors/" + string(g.registers("Q")) + "/events"}
	for _, p := range []struct {
		name, initial     string
		accepted, refused []string
	}{
		{"limit", "50", []string{"1", "200"}, []string{"0", "201", "-1", "1.5", "ten", ""}},
		{"offset", "0", []string{"0", "1", "2147483647"}, []string{"-1", "2147483648", "one", ""}},
	} {
		for _, list := range lists {
			shown := func(a answer) string {
				return fmt.Sprintf("%.0f", a.is(http.StatusOK).json()["pagination"].(map[string]any)[p.name])
			}
			t.Run(p.name+" has its default at "+list, func(t *testing.T) {
				if got := shown(g.get(list)); got != p.initial {
					t.Errorf("default is %s, expected %s", got, p.initial)
				}
			})
			for _, value := range p.accepted {
				t.Run(p.name+" takes "+value+" at "+list, func(t *testing.T) {
					if got := shown(g.get(list + "?" + p.name + "=" + value)); got != value {
						t.Errorf("shown is %s", got)
					}
				})
			}
			for _, value := range p.refused {
				t.Run(p.name+" does not take "+value+" at "+list, func(*testing.T) {
					g.get(list+"?"+p.name+"="+value).fails(http.StatusBadRequest, monitor.InvalidConfig, p.name, "accepted is")
				})
			}
		}
	}
}

// TestMaximumTable is section 8.5.
func TestMaximumTable(t *testing.T) {
	t.Run("50 are monitored at once, and the 51st is 429", func(t *testing.T) {
		g := openOn(t, &registrytest.Store{}, 0, 0) // with the default
		stream := func(n int) string { return strings.Replace(registration, "dQw4w9WgXcQ", fmt.Sprintf("%011d", n), 1) }
		var last answer
		for n := range 50 {
			last = g.post("/api/v1/monitors", stream(n)).is(http.StatusCreated)
		}
		g.post("/api/v1/monitors", stream(50)).fails(http.StatusTooManyRequests, monitor.MaxMonitorsExceeded, "50")
		t.Run("until one has ended", func(*testing.T) {
			g.delete("/api/v1/monitors/" + last.json()["monitor_id"].(string)).is(http.StatusOK)
			g.post("/api/v1/monitors", stream(50)).is(http.StatusCreated)
		})
	})
	t.Run("a reservation counts", func(t *testing.T) { // decision A10
		g := open(t)
		for _, last := range []string{"A", "B", "C"} {
			reserve(g, last).is(http.StatusCreated)
		}
		reserve(g, "D").fails(http.StatusTooManyRequests, monitor.MaxMonitorsExceeded)
		g.post("/api/v1/monitors", registration).fails(http.StatusTooManyRequests, monitor.MaxMonitorsExceeded)
	})
}

// reserve registers the stream whose video id ends in last for tomorrow.
func reserve(g *gate, last string) answer {
	g.t.Helper()
	body := strings.Replace(registration, "XcQ", "Xc"+last, 1)
	return g.post("/api/v1/monitors", strings.TrimSuffix(body, "}")+
		`,"config":{"scheduled_start_time":"2024-01-16T20:00:00+09:00","scheduled_end_time":"2024-01-16T22:00:00+09:00"}}`)
}

// TestReservation is decision A10, as clients see it.
func TestReservation(t *testing.T) {
	g := open(t)
	t.Run("is answered as one that waits, without a worker", func(t *testing.T) {
		reserve(g, "Q").is(http.StatusCreated).equals(`{"monitor_id":"` + firstID + `","status":"waiting","created_at":"2024-01-15T19:55:00.123+09:00"}`)
		if started := g.crew.Started(); len(started) != 0 {
			t.Errorf("workers asked for: %v", started)
		}
	})
	t.Run("is shown with its times", func(t *testing.T) {
		shown := g.get("/api/v1/monitors/" + firstID).is(http.StatusOK).json()
		config := shown["config"].(map[string]any)
		if shown["status"] != "waiting" || shown["stream_status"] != "upcoming" ||
			config["scheduled_start_time"] != "2024-01-16T20:00:00+09:00" || config["scheduled_end_time"] != "2024-01-16T22:00:00+09:00" {
			t.Errorf("shown is %v", shown)
		}
	})
	t.Run("is a duplicate like any other", func(*testing.T) {
		g.post("/api/v1/monitors", registration).fails(http.StatusConflict, monitor.Duplicate)
	})
	t.Run("is stopped like any other", func(*testing.T) {
		g.delete("/api/v1/monitors/" + firstID).is(http.StatusOK).
			equals(`{"monitor_id":"` + firstID + `","status":"stopped","stopped_at":"2024-01-15T19:55:00.123+09:00"}`)
		reserve(g, "Q").is(http.StatusCreated)
	})
}

// TestAuthenticationTables is 12.1 and the table of section 8.6: which header
// opens which API. That neither key opens the other is in TestKeys.
func TestAuthenticationTables(t *testing.T) {
	for _, row := range []struct{ api, path, header, key string }{
		{"the public API", "/api/v1/monitors", "X-API-Key", aKey},
		{"the internal API", "/internal/v1/monitors/" + firstID, "X-Internal-API-Key", anInnerKey},
	} {
		g := open(t)
		g.registers("Q")
		t.Run(row.header+" opens "+row.api, func(*testing.T) {
			r := httptestGet(row.path)
			r.Header.Set(row.header, row.key)
			g.do(r).is(http.StatusOK)
		})
		t.Run("without it "+row.api+" is closed", func(*testing.T) {
			g.do(httptestGet(row.path)).fails(http.StatusUnauthorized, monitor.Unauthorized, row.header)
		})
	}
}

// TestProbeTable is the table of section 8.7.
func TestProbeTable(t *testing.T) {
	for path, says := range map[string]string{"/healthz": "ok", "/readyz": "ready"} {
		t.Run("GET "+path, func(*testing.T) {
			open(t).do(httptestGet(path)).is(http.StatusOK).equals(`{"status":"` + says + `"}`)
		})
	}
}
