package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const (
	storedKey = "0190a5d7-0000-7000-8000-000000000001"
	keyURL    = "/api/v1/keys/" + storedKey
)

func addKey(api *testAPI, _ monitor.ID) { api.createKey("first", "operate") }

func useKey(api *testAPI, _ monitor.ID) {
	api.as(api.createKey("ann", "view"), "GET", "/api/v1/monitors", "").hasStatus(http.StatusOK)
}

// createKey returns the secret of a new key.
func (api *testAPI) createKey(name, role string) string {
	api.t.Helper()
	a := api.post("/api/v1/keys", fmt.Sprintf(`{"name":%q,"role":%q}`, name, role)).hasStatus(http.StatusCreated)
	return a.json()["key"].(string)
}

// as sends a request with another key than API_KEY.
func (api *testAPI) as(secret, method, path, body string) response {
	api.t.Helper()
	r := newRequest(method, path, strings.NewReader(body))
	r.Header.Set(publicKeyHeader, secret)
	return api.do(r)
}

func keyCases() []responseCase {
	return []responseCase{
		{"create a key of a taken name", 409, after(func(api *testAPI) { api.createKey("ann", "view") }, request("POST", "/api/v1/keys", `{"name":"ann","role":"view"}`))},
		{"revoke no key", 404, request("DELETE", keyURL, "")},
	}
}

func TestARoleDecidesWhatAKeyMayDo(t *testing.T) { // section 12.4
	api := newTestAPI(t)
	viewer, operator, admin := api.createKey("viewer", "view"), api.createKey("operator", "operate"), api.createKey("admin", "admin")
	for _, c := range []struct {
		method, path, body string
		may                [3]bool // viewer, operator, admin
	}{
		{"GET", "/api/v1/monitors", "", [3]bool{true, true, true}},
		{"GET", "/api/v1/keys", "", [3]bool{true, true, true}},
		{"GET", "/api/v1/audit", "", [3]bool{true, true, true}},
		{"POST", "/api/v1/thumbnails/watch", `{"monitor_ids":["` + noSuchID + `"]}`, [3]bool{true, true, true}},
		{"DELETE", "/api/v1/monitors/" + noSuchID + "/references/" + storedReference, "", [3]bool{false, true, true}},
		{"DELETE", channelURL + "/references/" + storedReference, "", [3]bool{false, true, true}},
		{"POST", "/api/v1/monitors", registration, [3]bool{false, true, true}},
		{"DELETE", "/api/v1/monitors/" + noSuchID, "", [3]bool{false, true, true}},
		{"POST", incidentURL + "/acknowledge", `{"op_id":"1","by":"ann"}`, [3]bool{false, true, true}},
		{"POST", "/api/v1/silences", newSilence, [3]bool{false, true, true}},
		{"POST", "/api/v1/destinations", newDestination, [3]bool{false, false, true}},
		{"POST", "/api/v1/routes", `{"name":"day"}`, [3]bool{false, false, true}},
		{"POST", "/api/v1/keys", `{"name":"mine","role":"admin"}`, [3]bool{false, false, true}},
		{"DELETE", keyURL, "", [3]bool{false, false, true}},
		{"GET", "/api/v1/cookie-jars", "", [3]bool{true, true, true}},
		{"POST", "/api/v1/cookie-jars?name=x", "x", [3]bool{false, false, true}},
		{"PUT", jarURL, "x", [3]bool{false, false, true}},
		{"DELETE", jarURL, "", [3]bool{false, false, true}},
		{"PUT", loginURL, tokenBody, [3]bool{false, false, true}},
	} {
		for i, secret := range []string{viewer, operator, admin} {
			if c.path == keyURL && i == 2 {
				continue // it would revoke the viewer
			}
			a := api.as(secret, c.method, c.path, c.body)
			if refused := a.status == http.StatusForbidden; refused == c.may[i] || a.status == http.StatusUnauthorized {
				t.Errorf("key %d: %s %s answers %d %s", i, c.method, c.path, a.status, a.body)
			}
		}
	}
	api.as(viewer, "POST", "/api/v1/routes", `{}`).hasError(http.StatusForbidden, "FORBIDDEN", `"viewer"`, "view", "admin")
	api.as(viewer, "POST", "/api/v1/nothing", "").hasError(http.StatusNotFound, "ROUTE_NOT_FOUND")
}

// TestEveryRouteThatChangesSomethingIsRecorded finds a new route that needs a key, changes
// something and has no action for the audit list.
func TestEveryRouteThatChangesSomethingIsRecorded(t *testing.T) {
	changesNothing := []string{"/api/v1/preview", "/api/v1/channels/preview", "/api/v1/thumbnails/watch", "/api/v1/routes/explain"}
	for _, r := range newTestAPI(t).handlers.Routes() {
		if r.Right == 0 || r.Method == http.MethodGet || slices.Contains(changesNothing, r.Path) {
			continue
		}
		if r.Action == "" {
			t.Errorf("%s %s is not in the audit list", r.Method, r.Path)
		}
	}
}

func TestARevokedOrExpiredKeyAndItsSessionsAreRefused(t *testing.T) { // sections 12.4, 18.2
	api := newTestAPI(t)
	revoked := api.createKey("revoked", "operate")
	a := api.post("/api/v1/keys", `{"name":"short","role":"view","expires_at":"2024-01-15T20:00:00+09:00"}`)
	expires, _ := a.hasStatus(http.StatusCreated).json()["key"].(string)
	cookies := map[string]*http.Cookie{}
	for _, secret := range []string{revoked, expires} {
		cookies[secret] = api.signInWith(secret, "").hasStatus(http.StatusNoContent).cookie()
	}
	try := func(secret string, status int) {
		t.Helper()
		api.as(secret, "GET", "/api/v1/monitors", "").hasStatus(status)
		r := newRequestWithoutKey("/api/v1/monitors")
		r.AddCookie(cookies[secret])
		api.do(r).hasStatus(status)
	}
	try(revoked, http.StatusOK)
	try(expires, http.StatusOK)
	api.delete(keyURL).hasStatus(http.StatusOK)
	try(revoked, http.StatusUnauthorized)
	try(expires, http.StatusOK)
	api.at = now.Add(5 * time.Minute)
	try(expires, http.StatusUnauthorized)
	api.signInWith(expires, "").hasStatus(http.StatusUnauthorized)
	api.get("/api/v1/monitors").hasStatus(http.StatusOK)
}

// Section 12.4: the audit list tells what has happened, also after the client has gone.
func TestAChangeWhoseRequestIsCutOffIsCarriedOut(t *testing.T) {
	for name, c := range map[string]struct {
		method, path, body, want string
		status                   int
	}{
		"a registration": {"POST", "/api/v1/monitors", registration, "monitor.register", 201},
		"a change":       {"PATCH", "/api/v1/monitors/ID", `{"metadata":{}}`, "monitor.change", 200},
		"an end":         {"DELETE", "/api/v1/monitors/ID", "", "monitor.stop", 200},
	} {
		t.Run(name, func(t *testing.T) {
			api := newTestAPI(t)
			id := string(api.register("R"))
			ctx, cutOff := context.WithCancel(t.Context())
			api.audit.begin = func() error { cutOff(); return nil }
			api.store.Fail = func(ctx context.Context, op string) error {
				if _, limited := ctx.Deadline(); !limited {
					t.Errorf("%s has no time limit", op)
				}
				return ctx.Err()
			}
			a := api.do(newRequest(c.method, strings.Replace(c.path, "ID", id, 1), strings.NewReader(c.body)).WithContext(ctx)).hasStatus(c.status)
			if c.status == http.StatusCreated {
				id = a.json()["monitor_id"].(string)
			}
			if got, want := api.actions()[0], fmt.Sprintf("API_KEY %s [%s] %d", c.want, id, c.status); got != want {
				t.Errorf("the audit list has %s, want %s", got, want)
			}
		})
	}
}

// actions returns the audit list, newest first: key, action, objects and status of each entry.
func (api *testAPI) actions() (lines []string) {
	api.t.Helper()
	for _, e := range api.list("/api/v1/audit", "entries") {
		e := e.(map[string]any)
		lines = append(lines, fmt.Sprint(e["key"].(map[string]any)["name"], " ", e["action"], " ", e["objects"], " ", e["status"]))
	}
	return lines
}

func TestWhatAPersonDoesIsRecordedWithTheirKey(t *testing.T) { // section 12.4
	api := newTestAPI(t)
	ann := api.createKey("ann", "operate")
	a := api.as(ann, "POST", "/api/v1/monitors", registration).hasStatus(http.StatusCreated)
	id := a.json()["monitor_id"].(string)
	api.as(ann, "POST", "/api/v1/monitors/batch?dry_run=true", `{"monitors":[`+registration+`]}`).hasStatus(http.StatusOK)
	api.as(ann, "POST", "/api/v1/monitors?dry_run=true", registration).hasStatus(http.StatusConflict) // refused
	api.as(ann, "GET", "/api/v1/monitors/"+id, "").hasStatus(http.StatusOK)
	reportEvent(api, monitor.ID(id)) // a worker is no person
	api.as(ann, "POST", "/api/v1/routes", `{"name":"day"}`).hasStatus(http.StatusForbidden)
	api.as(ann, "DELETE", "/api/v1/monitors/"+id, "").hasStatus(http.StatusOK)
	api.post("/api/v1/routes", `{"name":"day"}`).hasStatus(http.StatusCreated)
	want := []string{"API_KEY route.create [0190a5d4-0000-7000-8000-000000000001] 201", "ann monitor.stop [" + id + "] 200", "ann monitor.register [" + id + "] 201", "API_KEY key.create [" + storedKey + "] 201"}
	if got := api.actions(); !slices.Equal(got, want) {
		t.Errorf("recorded is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if pages := api.pages("/api/v1/audit?limit=3", "entries", "action", "cursor"); len(pages) != len(want) {
		t.Errorf("the pages have %q", pages)
	}
}

func TestTheAuditListNamesWhatWasTouched(t *testing.T) { // section 12.4
	api := newTestAPI(t)
	addIncident(api, "")
	addEvidence(api, "")
	api.post("/api/v1/destinations", newDestination).hasStatus(http.StatusCreated)
	view := api.createKey("vera", "view")
	api.do(usedAction(actionURL(api, notify.Acknowledge, now.Add(time.Hour)), "bob")).hasStatus(http.StatusOK)
	api.do(usedAction(actionURL(api, notify.SilenceAnHour, now.Add(time.Hour)), "bob")).hasStatus(http.StatusOK)
	api.as(view, "POST", "/api/v1/evidence/"+evidenceID+"/link", `{"variant":"onset"}`).hasStatus(http.StatusOK)
	api.post("/api/v1/webhooks/test", `{"callback_url":"https://hooks.example:8443/secret"}`).hasStatus(http.StatusOK)
	api.post("/api/v1/deliveries/replay", `{"since":"2024-01-15T00:00:00Z","destination_id":"`+storedDestination+`"}`).hasStatus(http.StatusOK)
	api.do(newRequest("PATCH", "/api/v1/destinations/"+storedDestination+"?dry_run=true", strings.NewReader(`{"name":"x"}`))).hasStatus(http.StatusOK)
	got := api.actions()
	for _, want := range []string{
		"API_KEY destination.compare [" + storedDestination + "] 200",
		"API_KEY delivery.replay [" + storedDestination + "] 200",
		"API_KEY webhook.test [https://hooks.example:8443] 200",
		"vera evidence.link [" + evidenceID + "] 200",
		"link in a message incident.acknowledge [" + incidentID + "] 200",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, strings.Join(got, "\n"))
		}
	}
	if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "link in a message silence.create [") }) {
		t.Errorf("a silence by a link is missing in\n%s", strings.Join(got, "\n"))
	}
}

func TestNothingIsDoneThatCannotBeRecorded(t *testing.T) { // section 12.4
	api := newTestAPI(t)
	id := api.register("Q")
	full := func() error { return errors.New("disk full") }
	api.audit.begin = full
	api.delete("/api/v1/monitors/" + string(id)).hasStatus(http.StatusInternalServerError)
	api.get("/api/v1/monitors/"+string(id)).hasFields("status", "initializing")
	api.audit.begin, api.audit.finish = nil, full
	api.delete("/api/v1/monitors/" + string(id)).hasStatus(http.StatusOK)
	if got := api.actions()[0]; got != "API_KEY monitor.stop ["+string(id)+"] <nil>" || !strings.Contains(api.log.String(), "missing in the audit list") {
		t.Errorf("recorded is %s; the log is %s", got, api.log)
	}
}
