package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// responseCase is a request with the status of its response.
type responseCase struct {
	name    string
	status  int
	request func(*testAPI) *http.Request
}

func newRequestWithoutKey(path string) *http.Request {
	return httptest.NewRequest(http.MethodGet, path, nil)
}

func statusTextOf(status string) string {
	n, _ := strconv.Atoi(status)
	return http.StatusText(n)
}

// operation is a valid request to one operation of the API.
type operation struct {
	name    string
	success int
	body    string // empty: none
	send    func(id monitor.ID) (method, path string)
	setUp   func(*testAPI, monitor.ID)
	limited bool // by section 12.3
}

func operations() []operation {
	const eventID = "0190a5d0-1c2b-7d8a-9c1d-000000000001"
	return []operation{
		{"register", 201, strings.Replace(registration, "XcQ", "XcZ", 1), func(monitor.ID) (string, string) { return "POST", "/api/v1/monitors" }, nil, true},
		{"batch", 200, `{"monitors":[` + strings.Replace(registration, "XcQ", "XcZ", 1) + `]}`, func(monitor.ID) (string, string) { return "POST", "/api/v1/monitors/batch" }, nil, true},
		{"list", 200, "", func(monitor.ID) (string, string) { return "GET", "/api/v1/monitors" }, nil, true},
		{"get", 200, "", func(id monitor.ID) (string, string) { return "GET", "/api/v1/monitors/" + string(id) }, nil, true},
		{"change", 200, `{"config":{"check_interval_sec":5}}`, func(id monitor.ID) (string, string) { return "PATCH", "/api/v1/monitors/" + string(id) }, nil, true},
		{"stop", 200, "", func(id monitor.ID) (string, string) { return "DELETE", "/api/v1/monitors/" + string(id) }, nil, false},
		{"events", 200, "", func(id monitor.ID) (string, string) { return "GET", "/api/v1/monitors/" + string(id) + "/events" }, reportEvent, true},
		{"redeliver", 202, "", func(id monitor.ID) (string, string) {
			return "POST", "/api/v1/monitors/" + string(id) + "/events/" + eventID + "/redeliver"
		}, reportEvent, true},
		{"webhook test", 200, `{"callback_url":"https://example.com/hook"}`, func(monitor.ID) (string, string) { return "POST", "/api/v1/webhooks/test" }, nil, true},
		{"deliveries", 200, "", func(monitor.ID) (string, string) { return "GET", "/api/v1/deliveries?state=pending" }, reportEvent, true},
		{"service", 200, "", func(monitor.ID) (string, string) { return "GET", "/api/v1/service" }, nil, true},
		{"preview", 200, registration, func(monitor.ID) (string, string) { return "POST", "/api/v1/preview" }, nil, true},
		{"incidents", 200, "", func(monitor.ID) (string, string) { return "GET", "/api/v1/incidents" }, addIncident, true},
		{"incident", 200, "", func(monitor.ID) (string, string) { return "GET", incidentURL }, addIncident, true},
		{"acknowledge", 200, `{"op_id":"1","by":"ann"}`, func(monitor.ID) (string, string) { return "POST", incidentURL + "/acknowledge" }, addIncident, true},
		{"resolve", 200, `{"op_id":"1","by":"ann"}`, func(monitor.ID) (string, string) { return "POST", incidentURL + "/resolve" }, addIncident, true},
		{"note", 200, `{"op_id":"1","by":"ann","text":"the encoder hangs"}`, func(monitor.ID) (string, string) { return "POST", incidentURL + "/notes" }, addIncident, true},
		{"label", 200, `{"op_id":"1","by":"ann","false_positive":null}`, func(monitor.ID) (string, string) { return "POST", incidentURL + "/label" }, addIncident, true},
		{"thumbnails watch", 200, `{"monitor_ids":["` + noSuchID + `"]}`, func(monitor.ID) (string, string) { return "POST", "/api/v1/thumbnails/watch" }, nil, true},
		{"thumbnail", 200, "", func(id monitor.ID) (string, string) { return "GET", "/api/v1/monitors/" + string(id) + "/thumbnail" }, addThumbnail, false},
		{"kinds", 200, "", func(monitor.ID) (string, string) { return "GET", "/api/v1/destination-kinds" }, nil, true},
		{"destinations", 200, "", func(monitor.ID) (string, string) { return "GET", "/api/v1/destinations" }, addRouting, true},
		{"create destination", 201, strings.Replace(newDestination, "operations", "another", 1), func(monitor.ID) (string, string) { return "POST", "/api/v1/destinations" }, addRouting, true},
		{"destination", 200, "", func(monitor.ID) (string, string) { return "GET", destinationURL }, addRouting, true},
		{"change destination", 200, `{"language":"ja"}`, func(monitor.ID) (string, string) { return "PATCH", destinationURL }, addRouting, true},
		{"delete destination", 200, "", func(monitor.ID) (string, string) { return "DELETE", destinationURL }, addRouting, true},
		{"test destination", 200, `{}`, func(monitor.ID) (string, string) { return "POST", destinationURL + "/test" }, addRouting, true},
		{"routes", 200, "", func(monitor.ID) (string, string) { return "GET", "/api/v1/routes" }, addRouting, true},
		{"create route", 201, `{"name":"day"}`, func(monitor.ID) (string, string) { return "POST", "/api/v1/routes" }, addRouting, true},
		{"route", 200, "", func(monitor.ID) (string, string) { return "GET", routeURL }, addRouting, true},
		{"change route", 200, `{"delay_sec":60}`, func(monitor.ID) (string, string) { return "PATCH", routeURL }, addRouting, true},
		{"delete route", 204, "", func(monitor.ID) (string, string) { return "DELETE", routeURL }, addRouting, true},
		{"order routes", 200, `{"routes":["` + storedRoute + `"]}`, func(monitor.ID) (string, string) { return "PUT", "/api/v1/routes/order" }, addRouting, true},
		{"explain", 200, `{"severity":2,"metadata":{"a":{"b":1}}}`, func(monitor.ID) (string, string) { return "POST", "/api/v1/routes/explain" }, addRouting, true},
		{"silences", 200, "", func(monitor.ID) (string, string) { return "GET", "/api/v1/silences" }, addRouting, true},
		{"create silence", 201, newSilence, func(monitor.ID) (string, string) { return "POST", "/api/v1/silences" }, nil, true},
		{"silence", 200, "", func(monitor.ID) (string, string) { return "GET", silenceURL }, addRouting, true},
		{"change silence", 200, `{"comment":"soon"}`, func(monitor.ID) (string, string) { return "PATCH", silenceURL }, addRouting, true},
		{"end silence", 200, "", func(monitor.ID) (string, string) { return "DELETE", silenceURL }, addRouting, true},
		{"replay", 200, "", func(monitor.ID) (string, string) { return "POST", "/api/v1/deliveries/" + storedDelivery + "/replay" }, addRouting, true},
		{"replay failed", 200, `{"since":"2024-01-15T20:00:00+09:00"}`, func(monitor.ID) (string, string) { return "POST", "/api/v1/deliveries/replay" }, addRouting, true},
		{"keys", 200, "", func(monitor.ID) (string, string) { return "GET", "/api/v1/keys" }, addKey, true},
		{"create key", 201, `{"name":"ann","role":"operate"}`, func(monitor.ID) (string, string) { return "POST", "/api/v1/keys" }, nil, true},
		{"revoke key", 200, "", func(monitor.ID) (string, string) { return "DELETE", keyURL }, addKey, true},
		{"audit", 200, "", func(monitor.ID) (string, string) { return "GET", "/api/v1/audit" }, nil, true},
		{"feed", 200, "", func(monitor.ID) (string, string) { return "GET", "/api/v1/feed?after=" }, nil, true},
		{"assignment", 200, "", func(id monitor.ID) (string, string) {
			return "GET", "/internal/v1/monitors/" + string(id) + "?generation=1"
		}, nil, false},
		{"report", 200, `{"generation":1,"status":"monitoring"}`, func(id monitor.ID) (string, string) { return "PUT", "/internal/v1/monitors/" + string(id) + "/status" }, nil, false},
	}
}

func reportEvent(api *testAPI, id monitor.ID) {
	api.put("/internal/v1/monitors/"+string(id)+"/status", completeReport).hasStatus(http.StatusOK)
}

// withToken gives a request the token of a worker.
func withToken(id monitor.ID, generation int) func(*testAPI, *http.Request) {
	return func(_ *testAPI, r *http.Request) {
		r.Header.Set(internalKeyHeader, monitor.NewTokenKey(internalAPIKey).Token(id, generation))
	}
}

// stalledBody is a body that does not arrive in time.
type stalledBody struct{}

func (stalledBody) Read([]byte) (int, error) {
	return 0, fmt.Errorf("read: %w", os.ErrDeadlineExceeded)
}

func responseCases() []responseCase {
	list := []responseCase{
		{"healthz", 200, func(*testAPI) *http.Request { return newRequestWithoutKey("/healthz") }},
		{"readyz", 200, func(*testAPI) *http.Request { return newRequestWithoutKey("/readyz") }},
		{"readyz when not ready", 503, func(api *testAPI) *http.Request {
			api.ready = errors.New("no database")
			return newRequestWithoutKey("/readyz")
		}},
		{"openapi.yaml", 200, func(*testAPI) *http.Request { return newRequestWithoutKey("/openapi.yaml") }},
		{"register twice", 409, func(api *testAPI) *http.Request {
			api.register("Q")
			return newRequest("POST", "/api/v1/monitors", strings.NewReader(registration))
		}},
		{"register with a key of another request", 409, func(api *testAPI) *http.Request {
			api.postWithKeys(registration, "k").hasStatus(http.StatusCreated)
			r := newRequest("POST", "/api/v1/monitors", strings.NewReader(strings.Replace(registration, "XcQ", "XcZ", 1)))
			r.Header.Set(idempotencyKey, "k")
			return r
		}},
		{"register again with a key", 201, func(api *testAPI) *http.Request {
			api.postWithKeys(registration, "k").hasStatus(http.StatusCreated)
			r := newRequest("POST", "/api/v1/monitors", strings.NewReader(registration))
			r.Header.Set(idempotencyKey, "k")
			return r
		}},
		{"register with a bad key", 400, func(*testAPI) *http.Request {
			r := newRequest("POST", "/api/v1/monitors", strings.NewReader(registration))
			r.Header.Set(idempotencyKey, "a key")
			return r
		}},
		{"register too many", 429, func(api *testAPI) *http.Request {
			for _, last := range []string{"A", "B", "C"} {
				api.register(last)
			}
			return newRequest("POST", "/api/v1/monitors", strings.NewReader(registration))
		}},
		{"change of an ended monitor", 409, func(api *testAPI) *http.Request {
			id := api.register("Q")
			api.delete("/api/v1/monitors/" + string(id)).hasStatus(http.StatusOK)
			return newRequest("PATCH", "/api/v1/monitors/"+string(id), strings.NewReader(`{}`))
		}},
		{"list with a bad filter", 400, func(*testAPI) *http.Request { return newRequest("GET", "/api/v1/monitors?status=running", nil) }},
		{"events with a bad page", 400, func(api *testAPI) *http.Request {
			return newRequest("GET", "/api/v1/monitors/"+string(api.register("Q"))+"/events?limit=0", nil)
		}},
		{"deliveries in a bad state", 400, func(*testAPI) *http.Request { return newRequest("GET", "/api/v1/deliveries?state=sent", nil) }},
		{"kinds with a parameter", 400, func(*testAPI) *http.Request { return newRequest("GET", "/api/v1/destination-kinds?a=1", nil) }},
		{"destinations with a parameter", 400, func(*testAPI) *http.Request { return newRequest("GET", "/api/v1/destinations?a=1", nil) }},
		{"routes with a parameter", 400, func(*testAPI) *http.Request { return newRequest("GET", "/api/v1/routes?a=1", nil) }},
		{"silences in no state", 400, func(*testAPI) *http.Request { return newRequest("GET", "/api/v1/silences?state=over", nil) }},
		{"service with a parameter", 400, func(*testAPI) *http.Request { return newRequest("GET", "/api/v1/service?a=1", nil) }},
		{"feed after no position", 400, func(*testAPI) *http.Request { return newRequest("GET", "/api/v1/feed?after=9", nil) }},
		{"assignment of a bad generation", 400, func(api *testAPI) *http.Request {
			return newRequest("GET", "/internal/v1/monitors/"+string(api.register("Q"))+"?generation=0", nil)
		}},
		{"assignment of no generation", 400, func(api *testAPI) *http.Request {
			return newRequest("GET", "/internal/v1/monitors/"+string(api.register("Q")), nil)
		}},
		{"report of no generation", 400, func(api *testAPI) *http.Request {
			return newRequest("PUT", "/internal/v1/monitors/"+string(api.register("Q"))+"/status", strings.NewReader(`{"status":"waiting"}`))
		}},
		{"assignment of an old generation", 409, func(api *testAPI) *http.Request {
			id := api.register("Q")
			api.store.Update(id, func(m *monitor.Monitor) { m.Generation = 2 })
			return newRequest("GET", "/internal/v1/monitors/"+string(id)+"?generation=1", nil)
		}},
		{"report of an old generation", 409, func(api *testAPI) *http.Request {
			id := api.register("Q")
			api.store.Update(id, func(m *monitor.Monitor) { m.Generation = 2 })
			return newRequest("PUT", "/internal/v1/monitors/"+string(id)+"/status", strings.NewReader(`{"status":"waiting","generation":1}`))
		}},
	}
	list = slices.Concat(list, evidenceCases(), historyCases(), incidentCases(), sessionCases(), thumbnailCases(), routingCases(), actionCases(), keyCases())
	for _, op := range operations() {
		ready := func(api *testAPI) *http.Request {
			id := api.register("Q")
			if op.setUp != nil {
				op.setUp(api, id)
			}
			method, path := op.send(id)
			if op.body == "" {
				return newRequest(method, path, nil)
			}
			return newRequest(method, path, strings.NewReader(op.body))
		}
		with := func(name string, status int, change func(*testAPI, *http.Request)) {
			list = append(list, responseCase{op.name + " " + name, status, func(api *testAPI) *http.Request {
				r := ready(api)
				change(api, r)
				return r
			}})
		}
		broken := func(err error) func(*testAPI, *http.Request) {
			return func(api *testAPI, _ *http.Request) {
				api.policy = err
				api.store.Fail = func(context.Context, string) error { return err }
				api.incidents.Fail, api.thumbnails.Fail = api.store.Fail, api.store.Fail
				api.keys.Fail = api.store.Fail
				api.routing.Fail, api.replayer.Fail = api.store.Fail, api.store.Fail
			}
		}
		with("valid", op.success, func(*testAPI, *http.Request) {})
		with("with a wrong key", 401, func(_ *testAPI, r *http.Request) {
			for _, header := range []string{publicKeyHeader, internalKeyHeader} {
				r.Header.Set(header, "wrong")
			}
		})
		if _, path := op.send(noSuchID); strings.HasPrefix(path, "/internal/") {
			with("with a token of another monitor", 403, withToken(firstID+"0", 1))
		} else {
			with("after too many wrong keys", 429, func(api *testAPI, r *http.Request) {
				api.guessKeys()
				r.Header.Set(publicKeyHeader, "guess")
			})
		}
		if op.limited {
			with("beyond the rate limit", 429, func(api *testAPI, _ *http.Request) { api.exhaustRateLimits() })
		}
		with("on a broken store", 500, broken(errors.New("disk full")))
		with("on a slow store", 503, broken(context.DeadlineExceeded))
		if _, path := op.send(noSuchID); strings.Contains(path, noSuchID) {
			list = append(list, responseCase{op.name + " of no monitor", 404, func(*testAPI) *http.Request {
				method, path := op.send(noSuchID)
				return newRequest(method, path, strings.NewReader(op.body))
			}})
		}
		if op.body == "" {
			continue
		}
		with("with a truncated body", 400, func(_ *testAPI, r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"`)) })
		with("with a body that does not arrive", 408, func(_ *testAPI, r *http.Request) { r.Body, r.ContentLength = io.NopCloser(stalledBody{}), -1 })
		with("with a body that is too large", 413, func(_ *testAPI, r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat(" ", 3<<20))), -1
		})
		with("with plain text", 415, func(_ *testAPI, r *http.Request) { r.Header.Set("Content-Type", "text/plain") })
	}
	return list
}
