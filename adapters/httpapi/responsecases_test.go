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
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// responseCase is a request with the status of its response.
type responseCase struct {
	name    string
	status  int
	request func(*testAPI) *http.Request
}

func withoutKey(path string) func(*testAPI) *http.Request {
	return func(*testAPI) *http.Request { return newRequestWithoutKey(path) }
}

func newRequestWithoutKey(path string) *http.Request {
	return httptest.NewRequest(http.MethodGet, path, nil)
}

// request returns a request without or with a body.
func request(method, path, body string) func(*testAPI) *http.Request {
	return func(*testAPI) *http.Request {
		if body == "" {
			return newRequest(method, path, nil)
		}
		return newRequest(method, path, strings.NewReader(body))
	}
}

// after returns a request that is made after a change of the API.
func after(change func(*testAPI), request func(*testAPI) *http.Request) func(*testAPI) *http.Request {
	return func(api *testAPI) *http.Request {
		change(api)
		return request(api)
	}
}

// with returns a request that is changed.
func with(request func(*testAPI) *http.Request, changes ...func(*testAPI, *http.Request)) func(*testAPI) *http.Request {
	return func(api *testAPI) *http.Request {
		r := request(api)
		for _, change := range changes {
			change(api, r)
		}
		return r
	}
}

// withHeader sets headers of a request, given as pairs.
func withHeader(pairs ...string) func(*testAPI, *http.Request) {
	return func(_ *testAPI, r *http.Request) {
		for i := 0; i < len(pairs); i += 2 {
			r.Header.Set(pairs[i], pairs[i+1])
		}
	}
}

// withToken gives a request the token of a worker.
func withToken(id monitor.ID, generation int) func(*testAPI, *http.Request) {
	return withHeader(internalKeyHeader, monitor.NewTokenKey(internalAPIKey).Token(id, generation))
}

var withWrongKey = withHeader(publicKeyHeader, "wrong", internalKeyHeader, "wrong")

// stalledBody is a body that does not arrive in time.
type stalledBody struct{}

func (stalledBody) Read([]byte) (int, error) {
	return 0, fmt.Errorf("read: %w", os.ErrDeadlineExceeded)
}

func withStalledBody(_ *testAPI, r *http.Request) {
	r.Body, r.ContentLength = io.NopCloser(stalledBody{}), -1
}

func withLargeBody(_ *testAPI, r *http.Request) {
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat(" ", 3<<20))), -1
}

// brokenCases are the responses to a request while what it asks fails or does not answer.
func brokenCases(name string, request func(*testAPI) *http.Request, breaks func(*testAPI, error)) []responseCase {
	breakBy := func(err error) func(*testAPI, *http.Request) {
		return func(api *testAPI, _ *http.Request) { breaks(api, err) }
	}
	return []responseCase{
		{name + " on a broken store", 500, with(request, breakBy(errors.New("disk full exploded")))},
		{name + " on a slow store", 503, with(request, breakBy(context.DeadlineExceeded))},
	}
}

// operation is a valid request to one operation of the API. ID in its path is the ID of a monitor.
type operation struct {
	name    string
	success int
	method  string
	path    string
	body    string // empty: none
	setUp   func(*testAPI, monitor.ID)
}

func operations() []operation {
	another := strings.Replace(registration, "XcQ", "XcZ", 1)
	return []operation{
		{"register", 201, "POST", "/api/v1/monitors", another, nil},
		{"batch", 200, "POST", "/api/v1/monitors/batch", `{"monitors":[` + another + `]}`, nil},
		{"list", 200, "GET", "/api/v1/monitors", "", nil},
		{"get", 200, "GET", "/api/v1/monitors/ID", "", nil},
		{"change", 200, "PATCH", "/api/v1/monitors/ID", `{"config":{"check_interval_sec":5}}`, nil},
		{"stop", 200, "DELETE", "/api/v1/monitors/ID", "", nil},
		{"events", 200, "GET", "/api/v1/monitors/ID/events", "", reportEvent},
		{"redeliver", 202, "POST", "/api/v1/monitors/ID/events/" + eventID + "/redeliver", "", reportEvent},
		{"webhook test", 200, "POST", "/api/v1/webhooks/test", `{"callback_url":"https://example.com/hook"}`, nil},
		{"deliveries", 200, "GET", "/api/v1/deliveries?state=pending", "", reportEvent},
		{"service", 200, "GET", "/api/v1/service", "", nil},
		{"presets", 200, "GET", "/api/v1/presets", "", nil},
		{"detectors", 200, "GET", "/api/v1/detectors", "", nil},
		{"preview", 200, "POST", "/api/v1/preview", registration, nil},
		{"incidents", 200, "GET", "/api/v1/incidents", "", addIncident},
		{"incident", 200, "GET", incidentURL, "", addIncident},
		{"acknowledge", 200, "POST", incidentURL + "/acknowledge", `{"op_id":"1","by":"ann"}`, addIncident},
		{"resolve", 200, "POST", incidentURL + "/resolve", `{"op_id":"1","by":"ann"}`, addIncident},
		{"note", 200, "POST", incidentURL + "/notes", `{"op_id":"1","by":"ann","text":"the encoder hangs"}`, addIncident},
		{"label", 200, "POST", incidentURL + "/label", `{"op_id":"1","by":"ann","false_positive":null}`, addIncident},
		{"timeline", 200, "GET", "/api/v1/monitors/ID/timeline", "", nil},
		{"sessions", 200, "GET", "/api/v1/monitors/ID/sessions", "", nil},
		{"statistics", 200, "GET", "/api/v1/statistics?by=day&monitor_id=ID", "", nil},
		{"list evidence", 200, "GET", "/api/v1/evidence", "", addEvidence},
		{"evidence", 200, "GET", evidenceURL, "", addEvidence},
		{"link", 200, "POST", evidenceURL + "/link", `{"variant":"onset"}`, addEvidence},
		{"class", 200, "POST", evidenceURL + "/class", `{"class":"case"}`, addEvidence},
		{"thumbnails watch", 200, "POST", "/api/v1/thumbnails/watch", `{"monitor_ids":["` + noSuchID + `"]}`, nil},
		{"thumbnail", 200, "GET", "/api/v1/monitors/ID/thumbnail", "", addThumbnail},
		{"kinds", 200, "GET", "/api/v1/destination-kinds", "", nil},
		{"destinations", 200, "GET", "/api/v1/destinations", "", addRouting},
		{"create destination", 201, "POST", "/api/v1/destinations", strings.Replace(newDestination, "operations", "another", 1), addRouting},
		{"destination", 200, "GET", destinationURL, "", addRouting},
		{"change destination", 200, "PATCH", destinationURL, `{"language":"ja"}`, addRouting},
		{"delete destination", 200, "DELETE", destinationURL, "", addRouting},
		{"test destination", 200, "POST", destinationURL + "/test", `{}`, addRouting},
		{"routes", 200, "GET", "/api/v1/routes", "", addRouting},
		{"create route", 201, "POST", "/api/v1/routes", `{"name":"day"}`, addRouting},
		{"route", 200, "GET", routeURL, "", addRouting},
		{"change route", 200, "PATCH", routeURL, `{"delay_sec":60}`, addRouting},
		{"delete route", 204, "DELETE", routeURL, "", addRouting},
		{"order routes", 200, "PUT", "/api/v1/routes/order", `{"routes":["` + storedRoute + `"]}`, addRouting},
		{"explain", 200, "POST", "/api/v1/routes/explain", `{"severity":2,"metadata":{"a":{"b":1}}}`, addRouting},
		{"silences", 200, "GET", "/api/v1/silences", "", addRouting},
		{"create silence", 201, "POST", "/api/v1/silences", newSilence, nil},
		{"silence", 200, "GET", silenceURL, "", addRouting},
		{"change silence", 200, "PATCH", silenceURL, `{"comment":"soon"}`, addRouting},
		{"end silence", 200, "DELETE", silenceURL, "", addRouting},
		{"replay", 200, "POST", "/api/v1/deliveries/" + storedDelivery + "/replay", "", addRouting},
		{"replay failed", 200, "POST", "/api/v1/deliveries/replay", `{"since":"2024-01-15T20:00:00+09:00"}`, addRouting},
		{"keys", 200, "GET", "/api/v1/keys", "", addKey},
		{"create key", 201, "POST", "/api/v1/keys", `{"name":"ann","role":"operate"}`, nil},
		{"revoke key", 200, "DELETE", keyURL, "", addKey},
		{"audit", 200, "GET", "/api/v1/audit", "", nil},
		{"feed", 200, "GET", "/api/v1/feed?after=", "", nil},
		{"assignment", 200, "GET", "/internal/v1/monitors/ID?generation=1", "", nil},
		{"report", 200, "PUT", "/internal/v1/monitors/ID/status", `{"generation":1,"status":"monitoring"}`, nil},
		{"note of evidence", 200, "PUT", noteURL, "", nil},
	}
}

func reportEvent(api *testAPI, id monitor.ID) {
	api.put("/internal/v1/monitors/"+string(id)+"/status", completeReport).hasStatus(http.StatusOK)
}

// ready sets up what an operation needs, and returns its request.
func (op operation) ready(api *testAPI) *http.Request {
	id := api.register("Q")
	if op.setUp != nil {
		op.setUp(api, id)
	}
	return request(op.method, strings.Replace(op.path, "ID", string(id), 1), op.body)(api)
}

// cases are the responses of an operation that follow from what it is.
func (op operation) cases() []responseCase {
	breaks := (*testAPI).breakStores
	if slices.Contains([]string{"batch", "service", "presets", "detectors", "kinds", "feed"}, op.name) { // they need no store, or answer for each monitor
		breaks = (*testAPI).breakRateLimits
	}
	list := append(brokenCases(op.name, op.ready, breaks),
		responseCase{op.name + " valid", op.success, op.ready},
		responseCase{op.name + " with a wrong key", 401, with(op.ready, withWrongKey)})
	add := func(name string, status int, change func(*testAPI, *http.Request)) {
		list = append(list, responseCase{op.name + " " + name, status, with(op.ready, change)})
	}
	if strings.HasPrefix(op.path, "/internal/") {
		add("with a token of another monitor", 403, withToken(firstID+"0", 1))
	} else {
		add("after too many wrong keys", 429, func(api *testAPI, r *http.Request) {
			api.guessKeys()
			r.Header.Set(publicKeyHeader, "guess")
		})
		if op.name != "stop" && op.name != "thumbnail" { // section 12.3
			add("beyond the rate limit", 429, func(api *testAPI, _ *http.Request) { api.exhaustRateLimits() })
		}
	}
	if strings.Contains(op.path, "ID") {
		unknown := func(api *testAPI) { api.history.Unknown = map[monitor.ID]bool{noSuchID: true} }
		list = append(list, responseCase{op.name + " of no monitor", 404, after(unknown, request(op.method, strings.Replace(op.path, "ID", noSuchID, 1), op.body))})
	}
	if op.body != "" {
		add("with a truncated body", 400, func(_ *testAPI, r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"`)) })
		add("with a body that does not arrive", 408, withStalledBody)
		add("with a body that is too large", 413, withLargeBody)
		add("with plain text", 415, withHeader("Content-Type", "text/plain"))
	}
	return list
}

func registered(api *testAPI) { api.register("Q") }

// takenOver makes the worker of the first monitor one of an old generation.
func takenOver(api *testAPI) {
	api.store.Update(api.register("Q"), func(m *monitor.Monitor) { m.Generation = 2 })
}

func responseCases() []responseCase {
	const first = "/api/v1/monitors/" + firstID
	assignment, report := "/internal/v1/monitors/"+firstID, request("PUT", "/internal/v1/monitors/"+firstID+"/status", `{"status":"waiting","generation":1}`)
	register, other := request("POST", "/api/v1/monitors", registration), request("POST", "/api/v1/monitors", strings.Replace(registration, "XcQ", "XcZ", 1))
	withKey := withHeader(idempotencyKey, "k")
	registeredWithKey := func(api *testAPI) { api.postWithKeys(registration, "k").hasStatus(http.StatusCreated) }
	list := []responseCase{
		{"healthz", 200, withoutKey("/healthz")},
		{"readyz", 200, withoutKey("/readyz")},
		{"readyz when not ready", 503, after(func(api *testAPI) { api.ready = errors.New("no database") }, withoutKey("/readyz"))},
		{"openapi.yaml", 200, withoutKey("/openapi.yaml")},
		{"no route", 404, request("GET", "/nowhere", "")},
		{"no method", 405, request("DELETE", "/api/v1/monitors", "")},
		{"from a page of another site", 403, func(api *testAPI) *http.Request {
			return sessionRequest(api.signIn(), http.MethodPost, "/api/v1/monitors", "Sec-Fetch-Site", "cross-site")
		}},
		{"with a key that may not", 403, func(api *testAPI) *http.Request {
			return with(register, withHeader(publicKeyHeader, api.createKey("ann", "view")))(api)
		}},
		{"register no stream", 400, request("POST", "/api/v1/monitors", `{}`)},
		{"register twice", 409, after(registered, register)},
		{"register with a key of another request", 409, after(registeredWithKey, with(other, withKey))},
		{"register again with a key", 201, after(registeredWithKey, with(register, withKey))},
		{"register with a bad key", 400, with(register, withHeader(idempotencyKey, "a key"))},
		{"register too many", 429, after(func(api *testAPI) { api.register("A"); api.register("B"); api.register("C") }, register)},
		{"change of an ended monitor", 409, after(func(api *testAPI) {
			api.register("Q")
			api.delete(first).hasStatus(http.StatusOK)
		}, request("PATCH", first, `{}`))},
		{"list with a bad filter", 400, request("GET", "/api/v1/monitors?status=running", "")},
		{"events with a bad page", 400, after(registered, request("GET", first+"/events?limit=0", ""))},
		{"deliveries in a bad state", 400, request("GET", "/api/v1/deliveries?state=sent", "")},
		{"kinds with a parameter", 400, request("GET", "/api/v1/destination-kinds?a=1", "")},
		{"destinations with a parameter", 400, request("GET", "/api/v1/destinations?a=1", "")},
		{"routes with a parameter", 400, request("GET", "/api/v1/routes?a=1", "")},
		{"silences in no state", 400, request("GET", "/api/v1/silences?state=over", "")},
		{"detectors with a parameter", 400, request("GET", "/api/v1/detectors?a=1", "")},
		{"service with a parameter", 400, request("GET", "/api/v1/service?a=1", "")},
		{"presets with a parameter", 400, request("GET", "/api/v1/presets?a=1", "")},
		{"feed after no position", 400, request("GET", "/api/v1/feed?after=9", "")},
		{"timeline of no bucket", 400, request("GET", first+"/timeline?buckets=0", "")},
		{"sessions of a page", 400, request("GET", first+"/sessions?limit=1", "")},
		{"statistics by no period", 400, request("GET", "/api/v1/statistics?by=week", "")},
		{"keys with a parameter", 400, request("GET", "/api/v1/keys?a=1", "")},
		{"audit of a cursor of another list", 400, request("GET", "/api/v1/audit?cursor=bTEuNDI", "")},
		{"assignment of a bad generation", 400, after(registered, request("GET", assignment+"?generation=0", ""))},
		{"assignment of no generation", 400, after(registered, request("GET", assignment, ""))},
		{"report of no generation", 400, after(registered, request("PUT", assignment+"/status", `{"status":"waiting"}`))},
		{"assignment of an old generation", 409, after(takenOver, request("GET", assignment+"?generation=1", ""))},
		{"report of an old generation", 409, after(takenOver, report)},
	}
	list = slices.Concat(list, evidenceCases(), incidentCases(), sessionCases(), thumbnailCases(), routingCases(), actionCases(), keyCases())
	for _, op := range operations() {
		list = append(list, op.cases()...)
	}
	return list
}
