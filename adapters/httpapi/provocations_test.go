package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// provocation is a request that is sure to get a status.
type provocation struct {
	name    string
	status  int
	request func(*gate) *http.Request
}

func httptestGet(path string) *http.Request { return httptest.NewRequest(http.MethodGet, path, nil) }

func statusText(status string) string {
	n, _ := strconv.Atoi(status)
	return http.StatusText(n)
}

// operation is how to send a good request to each operation there is.
type operation struct {
	name     string
	success  int
	body     string // empty: it takes none
	send     func(id monitor.ID) (method, path string)
	setUp    func(*gate, monitor.ID)
	budgeted bool // it is one of section 12.3
}

func operations() []operation {
	const eventID = "0190a5d0-1c2b-7d8a-9c1d-000000000001"
	return []operation{
		{"register", 201, strings.Replace(registration, "XcQ", "XcZ", 1), func(monitor.ID) (string, string) { return "POST", "/api/v1/monitors" }, nil, true},
		{"list", 200, "", func(monitor.ID) (string, string) { return "GET", "/api/v1/monitors" }, nil, true},
		{"get", 200, "", func(id monitor.ID) (string, string) { return "GET", "/api/v1/monitors/" + string(id) }, nil, true},
		{"stop", 200, "", func(id monitor.ID) (string, string) { return "DELETE", "/api/v1/monitors/" + string(id) }, nil, false},
		{"events", 200, "", func(id monitor.ID) (string, string) { return "GET", "/api/v1/monitors/" + string(id) + "/events" }, reportsAnEvent, true},
		{"redeliver", 202, "", func(id monitor.ID) (string, string) {
			return "POST", "/api/v1/monitors/" + string(id) + "/events/" + eventID + "/redeliver"
		}, reportsAnEvent, true},
		{"webhook test", 200, `{"callback_url":"https://example.com/hook"}`, func(monitor.ID) (string, string) { return "POST", "/api/v1/webhooks/test" }, nil, true},
		{"assignment", 200, "", func(id monitor.ID) (string, string) { return "GET", "/internal/v1/monitors/" + string(id) }, nil, false},
		{"report", 200, `{"status":"monitoring"}`, func(id monitor.ID) (string, string) { return "PUT", "/internal/v1/monitors/" + string(id) + "/status" }, nil, false},
	}
}

func reportsAnEvent(g *gate, id monitor.ID) {
	g.put("/internal/v1/monitors/"+string(id)+"/status", fullReport).is(http.StatusOK)
}

// slow is a body that never comes.
type slow struct{}

func (slow) Read([]byte) (int, error) { return 0, fmt.Errorf("read: %w", os.ErrDeadlineExceeded) }

func provocations() []provocation {
	list := []provocation{
		{"healthz", 200, func(*gate) *http.Request { return httptestGet("/healthz") }},
		{"readyz", 200, func(*gate) *http.Request { return httptestGet("/readyz") }},
		{"readyz when not ready", 503, func(g *gate) *http.Request { g.ready = errors.New("no database"); return httptestGet("/readyz") }},
		{"openapi.yaml", 200, func(*gate) *http.Request { return httptestGet("/openapi.yaml") }},
		{"register twice", 409, func(g *gate) *http.Request {
			g.registers("Q")
			return req("POST", "/api/v1/monitors", strings.NewReader(registration))
		}},
		{"register with a key that stands for something else", 409, func(g *gate) *http.Request {
			g.postOnce(registration, "k").is(http.StatusCreated)
			r := req("POST", "/api/v1/monitors", strings.NewReader(strings.Replace(registration, "XcQ", "XcZ", 1)))
			r.Header.Set(idempotencyKey, "k")
			return r
		}},
		{"register again with a key", 201, func(g *gate) *http.Request {
			g.postOnce(registration, "k").is(http.StatusCreated)
			r := req("POST", "/api/v1/monitors", strings.NewReader(registration))
			r.Header.Set(idempotencyKey, "k")
			return r
		}},
		{"register with a bad key", 400, func(*gate) *http.Request {
			r := req("POST", "/api/v1/monitors", strings.NewReader(registration))
			r.Header.Set(idempotencyKey, "a key")
			return r
		}},
		{"register too many", 429, func(g *gate) *http.Request {
			for _, last := range []string{"A", "B", "C"} {
				g.registers(last)
			}
			return req("POST", "/api/v1/monitors", strings.NewReader(registration))
		}},
		{"list with a bad filter", 400, func(*gate) *http.Request { return req("GET", "/api/v1/monitors?status=running", nil) }},
		{"events with a bad page", 400, func(g *gate) *http.Request {
			return req("GET", "/api/v1/monitors/"+string(g.registers("Q"))+"/events?limit=0", nil)
		}},
		{"assignment of a bad generation", 400, func(g *gate) *http.Request {
			return req("GET", "/internal/v1/monitors/"+string(g.registers("Q"))+"?generation=0", nil)
		}},
		{"assignment of an old generation", 409, func(g *gate) *http.Request {
			id := g.registers("Q")
			g.store.Update(id, func(m *monitor.Monitor) { m.Generation = 2 })
			return req("GET", "/internal/v1/monitors/"+string(id)+"?generation=1", nil)
		}},
		{"report of an old generation", 409, func(g *gate) *http.Request {
			id := g.registers("Q")
			g.store.Update(id, func(m *monitor.Monitor) { m.Generation = 2 })
			return req("PUT", "/internal/v1/monitors/"+string(id)+"/status", strings.NewReader(`{"status":"waiting","generation":1}`))
		}},
	}
	for _, op := range operations() {
		ready := func(g *gate) *http.Request {
			id := g.registers("Q")
			if op.setUp != nil {
				op.setUp(g, id)
			}
			method, path := op.send(id)
			if op.body == "" {
				return req(method, path, nil)
			}
			return req(method, path, strings.NewReader(op.body))
		}
		with := func(name string, status int, change func(*gate, *http.Request)) {
			list = append(list, provocation{op.name + " " + name, status, func(g *gate) *http.Request {
				r := ready(g)
				change(g, r)
				return r
			}})
		}
		broken := func(err error) func(*gate, *http.Request) {
			return func(g *gate, _ *http.Request) {
				g.policy = err
				g.store.Fail = func(context.Context, string) error { return err }
			}
		}
		with("as it should be", op.success, func(*gate, *http.Request) {})
		with("with a wrong key", 401, func(_ *gate, r *http.Request) {
			for _, header := range []string{publicKey, internalKey} {
				r.Header.Set(header, "wrong")
			}
		})
		if op.budgeted {
			with("beyond the budget", 429, func(g *gate, _ *http.Request) { g.exhausts() })
		}
		with("on a broken store", 500, broken(errors.New("disk full")))
		with("on a slow store", 503, broken(context.DeadlineExceeded))
		if _, path := op.send(noSuchID); strings.Contains(path, noSuchID) {
			list = append(list, provocation{op.name + " of no monitor", 404, func(*gate) *http.Request {
				method, path := op.send(noSuchID)
				return req(method, path, strings.NewReader(op.body))
			}})
		}
		if op.body == "" {
			continue
		}
		with("with half a body", 400, func(_ *gate, r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"`)) })
		with("with a body that never comes", 408, func(_ *gate, r *http.Request) { r.Body, r.ContentLength = io.NopCloser(slow{}), -1 })
		with("with a body without end", 413, func(_ *gate, r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat(" ", 2<<20))), -1
		})
		with("with plain text", 415, func(_ *gate, r *http.Request) { r.Header.Set("Content-Type", "text/plain") })
	}
	return list
}
