package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// errorCase is a request that is answered with an error code.
type errorCase struct {
	code   monitor.Code
	status int
	send   func(*testAPI) response
}

// specifiedErrors is the table of section 3.5.
func specifiedErrors() []errorCase {
	return []errorCase{
		{monitor.InvalidURL, 400, func(api *testAPI) response { return api.post("/api/v1/monitors", `{}`) }},
		{monitor.InvalidConfig, 400, func(api *testAPI) response { return api.post("/api/v1/monitors", `{`) }},
		{monitor.Unauthorized, 401, func(api *testAPI) response { return api.do(newRequestWithoutKey("/api/v1/monitors")) }},
		{monitor.NotFound, 404, func(api *testAPI) response { return api.get("/api/v1/monitors/" + noSuchID) }},
		{monitor.Duplicate, 409, func(api *testAPI) response { api.register("Q"); return api.post("/api/v1/monitors", registration) }},
		{monitor.RateLimitExceeded, 429, func(api *testAPI) response {
			api.exhaustRateLimits()
			return api.post("/api/v1/monitors", registration)
		}},
		{monitor.MaxMonitorsExceeded, 429, func(api *testAPI) response {
			for _, last := range []string{"A", "B", "C"} {
				api.register(last)
			}
			return api.post("/api/v1/monitors", registration)
		}},
		{monitor.Internal, 500, func(api *testAPI) response {
			api.policy = errors.New("the resolver exploded at 10.0.0.1")
			return api.post("/api/v1/monitors", registration)
		}},
	}
}

// furtherErrors are the codes beyond section 3.5.
func furtherErrors() []errorCase {
	return []errorCase{
		{"ROUTE_NOT_FOUND", 404, func(api *testAPI) response { return api.get("/nowhere") }},
		{"METHOD_NOT_ALLOWED", 405, func(api *testAPI) response { return api.delete("/api/v1/monitors") }},
		{"REQUEST_TIMEOUT", 408, func(api *testAPI) response {
			r := newRequest("POST", "/api/v1/monitors", stalledBody{})
			r.ContentLength = -1
			return api.do(r)
		}},
		{monitor.Ended, 409, func(api *testAPI) response {
			path := "/api/v1/monitors/" + string(api.register("Q"))
			api.delete(path).hasStatus(http.StatusOK)
			return api.patch(path, `{"config":{"check_interval_sec":5}}`)
		}},
		{"IDEMPOTENCY_KEY_REUSED", 409, func(api *testAPI) response {
			api.postWithKeys(registration, "k").hasStatus(http.StatusCreated)
			return api.postWithKeys(strings.Replace(registration, "hook", "other", 1), "k")
		}},
		{"SUPERSEDED", 409, func(api *testAPI) response {
			id := api.register("Q")
			api.store.Update(id, func(m *monitor.Monitor) { m.Generation = 2 })
			return api.get("/internal/v1/monitors/" + string(id) + "?generation=1")
		}},
		{"FORBIDDEN", 403, func(api *testAPI) response {
			r := newRequest("GET", "/internal/v1/monitors/"+string(api.register("Q"))+"?generation=1", nil)
			withToken(noSuchID, 1)(api, r)
			return api.do(r)
		}},
		{"BODY_TOO_LARGE", 413, func(api *testAPI) response { return api.post("/api/v1/monitors", strings.Repeat(" ", 64<<10+1)) }},
		{"UNSUPPORTED_MEDIA_TYPE", 415, func(api *testAPI) response {
			r := newRequest("POST", "/api/v1/monitors", strings.NewReader(registration))
			r.Header.Set("Content-Type", "text/plain")
			return api.do(r)
		}},
		{incident.NotFound, 404, func(api *testAPI) response { return api.get(incidentURL) }},
		{routing.DestinationNotFound, 404, func(api *testAPI) response { return api.get(destinationURL) }},
		{routing.SilenceNotFound, 404, func(api *testAPI) response { return api.get(silenceURL) }},
		{routing.DeliveryNotFound, 404, func(api *testAPI) response { return api.post("/api/v1/deliveries/"+storedDelivery+"/replay", "") }},
		{routing.EventNotFound, 404, func(api *testAPI) response {
			return api.post("/api/v1/routes/explain", `{"event_id":"`+storedDelivery+`"}`)
		}},
		{routing.NameTaken, 409, func(api *testAPI) response {
			addRouting(api, "")
			return api.post("/api/v1/destinations", newDestination)
		}},
		{evidence.NotFound, 404, func(api *testAPI) response { return api.get(evidenceURL) }},
		{evidence.Conflict, 409, func(api *testAPI) response {
			api.upload(uploadURL("onset", aPicture), aPicture).hasStatus(http.StatusOK)
			return api.upload(uploadURL("onset", "another"), "another")
		}},
		{evidence.QuotaExceeded, 429, func(api *testAPI) response {
			api.evidence.Fail = func(context.Context, string) error { return monitor.Errorf(evidence.QuotaExceeded, "too much") }
			return api.upload(uploadURL("onset", aPicture), aPicture)
		}},
		{evidence.LinkInvalid, 403, func(api *testAPI) response {
			return api.do(newRequestWithoutKey("/evidence/" + evidenceID + "/onset?expires=1&key=x&signature=y"))
		}},
		{evidence.LinkExpired, 403, func(api *testAPI) response {
			l, err := evidence.LinkKeys{linkKey}.Sign(evidenceID, evidence.Onset, now)
			if err != nil {
				api.t.Fatal(err)
			}
			return api.do(newRequestWithoutKey(fmt.Sprintf("/evidence/%s/onset?expires=%d&key=%s&signature=%s", evidenceID, l.ExpiresAt.Unix(), l.KeyID, l.Signature)))
		}},
		{"RANGE_NOT_SATISFIABLE", 416, func(api *testAPI) response {
			api.upload(uploadURL("onset", aPicture), aPicture).hasStatus(http.StatusOK)
			r := newRequestWithoutKey(api.link("onset"))
			r.Header.Set("Range", "bytes=9-")
			return api.do(r)
		}},
		{"FORBIDDEN", 403, func(api *testAPI) response {
			return api.as(api.createKey("ann", "view"), "POST", "/api/v1/monitors", registration)
		}},
		{"KEY_NOT_FOUND", 404, func(api *testAPI) response { return api.delete(keyURL) }},
		{"CROSS_ORIGIN", 403, func(api *testAPI) response {
			return api.withSession(api.signIn(), http.MethodPost, "/api/v1/monitors", "Sec-Fetch-Site", "cross-site")
		}},
		{"UNAVAILABLE", 503, func(api *testAPI) response {
			api.store.Fail = func(context.Context, string) error { return context.DeadlineExceeded }
			return api.get("/api/v1/monitors")
		}},
	}
}

func TestEveryErrorCodeHasItsStatus(t *testing.T) {
	retried := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}
	for _, row := range slices.Concat(specifiedErrors(), furtherErrors()) {
		t.Run(fmt.Sprintf("%s is %d", row.code, row.status), func(t *testing.T) {
			a := row.send(newTestAPI(t))
			a.hasError(row.status, row.code)
			if len(a.json()) != 1 || len(a.json()["error"].(map[string]any)) != 2 {
				t.Errorf("the envelope has more than a code and a message: %s", a.body)
			}
			if given := a.header.Get("Retry-After") != ""; given != slices.Contains(retried, row.status) {
				t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
			}
			if a.header.Get("Content-Type") != "application/json" {
				t.Errorf("Content-Type is %q", a.header.Get("Content-Type"))
			}
			if strings.Contains(string(a.body), "exploded") {
				t.Error("the response shows an internal detail")
			}
		})
	}
}

// TestEveryDocumentedCodeHasATest compares the codes of openapi.yaml with the tables
// above.
func TestEveryDocumentedCodeHasATest(t *testing.T) {
	tested := map[string]bool{}
	for _, row := range slices.Concat(specifiedErrors(), furtherErrors()) {
		tested[string(row.code)] = true
	}
	listed := document(t).doc.Components.Schemas["Error"].Value.Properties["error"].Value.Properties["code"].Value.Enum
	for _, code := range listed {
		if !tested[code.(string)] {
			t.Errorf("no test causes %s", code)
		}
		delete(tested, code.(string))
	}
	for code := range tested {
		t.Errorf("%s is not in the document", code)
	}
}

// TestEveryStatusOfAppendixAOccurs tests appendix A, row by row.
func TestEveryStatusOfAppendixAOccurs(t *testing.T) {
	codes := func(status int) (all []func(*testAPI) response) {
		for _, row := range specifiedErrors() {
			if row.status == status {
				all = append(all, row.send)
			}
		}
		return all
	}
	for _, row := range []struct {
		status int
		means  string
		send   []func(*testAPI) response
	}{
		{200, "success", []func(*testAPI) response{
			func(api *testAPI) response { return api.get("/api/v1/monitors") },
			func(api *testAPI) response { return api.get("/api/v1/monitors/" + string(api.register("Q"))) },
			func(api *testAPI) response { return api.delete("/api/v1/monitors/" + string(api.register("Q"))) },
		}},
		{201, "a monitor was made", []func(*testAPI) response{func(api *testAPI) response { return api.post("/api/v1/monitors", registration) }}},
		{400, "the request is wrong", codes(400)},
		{401, "not authenticated", codes(401)},
		{404, "no such monitor", codes(404)},
		{409, "the stream is monitored already", codes(409)},
		{429, "too much", codes(429)},
		{500, "an error of the server's own", codes(500)},
	} {
		t.Run(fmt.Sprintf("%d %s", row.status, row.means), func(t *testing.T) {
			if len(row.send) == 0 {
				t.Fatal("no test causes it")
			}
			for _, send := range row.send {
				send(newTestAPI(t)).hasStatus(row.status)
			}
		})
	}
}
