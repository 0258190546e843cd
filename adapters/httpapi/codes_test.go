package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// refusal is how a code is provoked.
type refusal struct {
	code    monitor.Code
	status  int
	provoke func(*gate) answer
}

// specified is the table of section 3.5, row by row.
func specified() []refusal {
	return []refusal{
		{monitor.InvalidURL, 400, func(g *gate) answer { return g.post("/api/v1/monitors", `{}`) }},
		{monitor.InvalidConfig, 400, func(g *gate) answer { return g.post("/api/v1/monitors", `{`) }},
		{monitor.Unauthorized, 401, func(g *gate) answer { return g.do(httptestGet("/api/v1/monitors")) }},
		{monitor.NotFound, 404, func(g *gate) answer { return g.get("/api/v1/monitors/" + noSuchID) }},
		{monitor.Duplicate, 409, func(g *gate) answer { g.registers("Q"); return g.post("/api/v1/monitors", registration) }},
		{monitor.RateLimitExceeded, 429, func(g *gate) answer { g.exhausts(); return g.post("/api/v1/monitors", registration) }},
		{monitor.MaxMonitorsExceeded, 429, func(g *gate) answer {
			for _, last := range []string{"A", "B", "C"} {
				g.registers(last)
			}
			return g.post("/api/v1/monitors", registration)
		}},
		{monitor.Internal, 500, func(g *gate) answer {
			g.policy = errors.New("the resolver exploded at 10.0.0.1")
			return g.post("/api/v1/monitors", registration)
		}},
	}
}

// further is the codes that section 3.5 has none for.
func further() []refusal {
	return []refusal{
		{"ROUTE_NOT_FOUND", 404, func(g *gate) answer { return g.get("/nowhere") }},
		{"METHOD_NOT_ALLOWED", 405, func(g *gate) answer { return g.delete("/api/v1/monitors") }},
		{"REQUEST_TIMEOUT", 408, func(g *gate) answer {
			r := req("POST", "/api/v1/monitors", slow{})
			r.ContentLength = -1
			return g.do(r)
		}},
		{"IDEMPOTENCY_KEY_REUSED", 409, func(g *gate) answer {
			g.postOnce(registration, "k").is(http.StatusCreated)
			return g.postOnce(strings.Replace(registration, "hook", "other", 1), "k")
		}},
		{"SUPERSEDED", 409, func(g *gate) answer {
			id := g.registers("Q")
			g.store.Update(id, func(m *monitor.Monitor) { m.Generation = 2 })
			return g.get("/internal/v1/monitors/" + string(id) + "?generation=1")
		}},
		{"BODY_TOO_LARGE", 413, func(g *gate) answer { return g.post("/api/v1/monitors", strings.Repeat(" ", 64<<10+1)) }},
		{"UNSUPPORTED_MEDIA_TYPE", 415, func(g *gate) answer {
			r := req("POST", "/api/v1/monitors", strings.NewReader(registration))
			r.Header.Set("Content-Type", "text/plain")
			return g.do(r)
		}},
		{"UNAVAILABLE", 503, func(g *gate) answer {
			g.store.Fail = func(context.Context, string) error { return context.DeadlineExceeded }
			return g.get("/api/v1/monitors")
		}},
	}
}

// TestErrorTable is the table of section 3.5, row by row, and after it the
// codes that it has none for.
func TestErrorTable(t *testing.T) {
	later := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} // when it makes sense to come again
	for _, row := range slices.Concat(specified(), further()) {
		t.Run(fmt.Sprintf("%s is %d", row.code, row.status), func(t *testing.T) {
			a := row.provoke(open(t))
			a.fails(row.status, row.code)
			if len(a.json()) != 1 || len(a.json()["error"].(map[string]any)) != 2 {
				t.Errorf("there is more in the envelope than a code and a message: %s", a.body)
			}
			if given := a.header.Get("Retry-After") != ""; given != slices.Contains(later, row.status) {
				t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
			}
			if a.header.Get("Content-Type") != "application/json" {
				t.Errorf("Content-Type is %q", a.header.Get("Content-Type"))
			}
			if strings.Contains(string(a.body), "exploded") {
				t.Error("the answer tells an internal detail")
			}
		})
	}
}

// TestEveryCodeIsProvoked holds the document's list of codes against the tables
// above.
func TestEveryCodeIsProvoked(t *testing.T) {
	provoked := map[string]bool{}
	for _, row := range slices.Concat(specified(), further()) {
		provoked[string(row.code)] = true
	}
	listed := document(t).doc.Components.Schemas["Error"].Value.Properties["error"].Value.Properties["code"].Value.Enum
	for _, code := range listed {
		if !provoked[code.(string)] {
			t.Errorf("nothing provokes %s", code)
		}
		delete(provoked, code.(string))
	}
	for code := range provoked {
		t.Errorf("%s is not in the document", code)
	}
}

// TestStatusTable is appendix A, row by row.
func TestStatusTable(t *testing.T) {
	codes := func(status int) (all []func(*gate) answer) {
		for _, row := range specified() {
			if row.status == status {
				all = append(all, row.provoke)
			}
		}
		return all
	}
	for _, row := range []struct {
		status  int
		means   string
		provoke []func(*gate) answer
	}{
		{200, "success", []func(*gate) answer{
			func(g *gate) answer { return g.get("/api/v1/monitors") },
			func(g *gate) answer { return g.get("/api/v1/monitors/" + string(g.registers("Q"))) },
			func(g *gate) answer { return g.delete("/api/v1/monitors/" + string(g.registers("Q"))) },
		}},
		{201, "a monitor was made", []func(*gate) answer{func(g *gate) answer { return g.post("/api/v1/monitors", registration) }}},
		{400, "the request is wrong", codes(400)},
		{401, "not authenticated", codes(401)},
		{404, "no such monitor", codes(404)},
		{409, "the stream is monitored already", codes(409)},
		{429, "too much", codes(429)},
		{500, "an error of the server's own", codes(500)},
	} {
		t.Run(fmt.Sprintf("%d %s", row.status, row.means), func(t *testing.T) {
			if len(row.provoke) == 0 {
				t.Fatal("nothing provokes it")
			}
			for _, provoke := range row.provoke {
				provoke(open(t)).is(row.status)
			}
		})
	}
}
