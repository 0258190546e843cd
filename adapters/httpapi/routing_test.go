package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// The IDs of all that addRouting stores, in the order of creation.
const (
	storedDestination = "0190a5d4-0000-7000-8000-000000000001"
	storedRoute       = "0190a5d4-0000-7000-8000-000000000002"
	storedSilence     = "0190a5d4-0000-7000-8000-000000000003"
	storedDelivery    = "0190a5d6-0000-7000-8000-000000000001"

	destinationURL = "/api/v1/destinations/" + storedDestination
	routeURL       = "/api/v1/routes/" + storedRoute
	silenceURL     = "/api/v1/silences/" + storedSilence

	botToken       = "xoxb-very-secret"
	newDestination = `{"name":"operations","kind":"slack","config":{"channel":"C1"},"secrets":{"bot_token":"` + botToken + `"}}`
	newSilence     = `{"match":{"monitors":["` + noSuchID + `"]},"to":"2024-01-15T21:00:00+09:00","by":"ann","comment":"work"}`
)

// exampleSender is a routing.TestSender that remembers what it was to send.
type exampleSender struct {
	to     notify.Destination
	kind   notify.MessageKind
	result message.Result
}

// SendExample implements routing.TestSender.
func (s *exampleSender) SendExample(_ context.Context, d notify.Destination, kind notify.MessageKind) message.Result {
	s.to, s.kind = d, kind
	return s.result
}

func addRouting(api *testAPI, _ monitor.ID) {
	api.post("/api/v1/destinations", newDestination).hasStatus(http.StatusCreated)
	api.post("/api/v1/routes", `{"name":"night","match":{"min_severity":2,"metadata":{"team":"a"}},"destinations":["`+storedDestination+`"],"delay_sec":600,"repeat_sec":900}`).hasStatus(http.StatusCreated)
	api.post("/api/v1/silences", newSilence).hasStatus(http.StatusCreated)
	api.db.Exec(api.t, `INSERT INTO deliveries (id, destination_id, state, created_at) VALUES ($1, $2, 'failed', now())`, storedDelivery, storedDestination)
}

// routingCases are the responses of the routes of section 19 beyond those of operations.
func routingCases() (list []responseCase) {
	stored := func(api *testAPI) { addRouting(api, "") }
	taken := func(api *testAPI) {
		addRouting(api, "")
		api.post("/api/v1/destinations", strings.Replace(newDestination, "operations", "taken", 1)).hasStatus(http.StatusCreated)
		api.post("/api/v1/routes", `{"name":"taken"}`).hasStatus(http.StatusCreated)
	}
	for _, missing := range []struct{ method, path, body string }{
		{"GET", destinationURL, ""}, {"PATCH", destinationURL, "{}"}, {"DELETE", destinationURL, ""}, {"POST", destinationURL + "/test", "{}"},
		{"GET", routeURL, ""}, {"PATCH", routeURL, "{}"}, {"DELETE", routeURL, ""},
		{"GET", silenceURL, ""}, {"PATCH", silenceURL, "{}"}, {"DELETE", silenceURL, ""},
		{"POST", "/api/v1/deliveries/" + storedDelivery + "/replay", ""},
	} {
		list = append(list, responseCase{missing.method + " " + missing.path + " of none", 404, request(missing.method, missing.path, missing.body)})
	}
	return append(list,
		responseCase{"explain no event", 404, request("POST", "/api/v1/routes/explain", `{"event_id":"`+storedDelivery+`"}`)},
		responseCase{"create a destination twice", 409, after(stored, request("POST", "/api/v1/destinations", newDestination))},
		responseCase{"create a route twice", 409, after(stored, request("POST", "/api/v1/routes", `{"name":"night"}`))},
		responseCase{"rename a destination like another", 409, after(taken, request("PATCH", destinationURL, `{"name":"taken"}`))},
		responseCase{"rename a route like another", 409, after(taken, request("PATCH", routeURL, `{"name":"taken"}`))},
		responseCase{"delete the default route", 400, request("DELETE", "/api/v1/routes/"+defaultRoute, "")},
		responseCase{"replay what failed at no destination", 404, request("POST", "/api/v1/deliveries/replay", `{"since":"2024-01-15T20:00:00Z","destination_id":"`+storedDelivery+`"}`)},
		responseCase{"replay since no time", 400, request("POST", "/api/v1/deliveries/replay", `{"since":null}`)},
	)
}

func TestADestinationIsShownWithoutItsSecrets(t *testing.T) { // section 19.1
	api := newTestAPI(t)
	addRouting(api, "")
	api.db.Exec(api.t, `UPDATE destinations SET failures = 1, failing_since = now(), last_error = 'HTTP 500', circuit_open_until = now() + interval '1 minute'`)
	api.db.Exec(api.t, `INSERT INTO destination_hours SELECT id, date_trunc('hour', now()), 5, 0 FROM destinations`)
	api.db.Exec(api.t, `INSERT INTO deliveries (id, destination_id, state, due_at, created_at)
		SELECT gen_random_uuid(), d.id, 'pending', now(), now() FROM destinations d, generate_series(1, 2)`)
	zeros := strings.Repeat("0,", 23)
	api.get(destinationURL).hasStatus(http.StatusOK).hasBody(`{"destination_id": "` + storedDestination + `", "name": "operations", "kind": "slack", "language": "en",
		"config": {"channel": "C1"}, "secrets": ["bot_token"], "fallback": null, "enabled": true, "disabled_reason": null, "owner": null,
		"health": {"state": "failing", "failing_since": "2024-01-15T19:55:00.123+09:00", "last_error": "HTTP 500", "delivered_at": null,
			"retry_at": "2024-01-15T19:56:00.123+09:00", "pending": 2, "delivered_24h": [` + zeros + `5], "failed_24h": [` + zeros + `0]},
		"created_at": "2024-01-15T19:55:00.123+09:00", "updated_at": "2024-01-15T19:55:00.123+09:00"}`)
}

// One that has asked for a pause has failed at nothing, and people still see why it is quiet.
func TestAPauseOfADestinationIsShown(t *testing.T) { // section 19.4
	api := newTestAPI(t)
	addRouting(api, "")
	api.db.Exec(api.t, `UPDATE destinations SET last_error = 'HTTP 429', delivered_at = now(), circuit_open_until = now() + interval '1 hour'`)
	health := api.get(destinationURL).hasStatus(http.StatusOK).json()["health"].(map[string]any)
	if health["state"] != "failing" || health["failing_since"] != nil || health["last_error"] != "HTTP 429" || health["retry_at"] != "2024-01-15T20:55:00.123+09:00" {
		t.Errorf("the health is %v", health)
	}
}

func TestNoSecretIsAnsweredOrLogged(t *testing.T) { // section 19.1
	api := newTestAPI(t)
	addRouting(api, "")
	const secret = "very-secret"
	answers := []response{
		api.get("/api/v1/destinations"), api.get(destinationURL), api.get("/api/v1/routes"),
		api.patch(destinationURL, `{"secrets":{"bot_token":"xoxb-very-secret-2"}}`),
		api.patch(destinationURL+"?dry_run=true", `{"secrets":{"bot_token":"xoxb-very-secret-3"}}`),
		api.post(destinationURL+"/test", `{}`),
		api.post("/api/v1/destinations", `{"name":"bad","kind":"webhook","secrets":{"url":"https://user:very-secret@x/#y","signing_key":"very-secret\u0001"}}`),
		api.post("/api/v1/destinations", `{"name":"bad","kind":"discord","secrets":{"webhook_url":"very-secret"}}`),
		api.post("/api/v1/destinations", `{"name":"bad","kind":"discord","secrets":{"webhook_url":["very-secret"]}}`),
		api.post("/api/v1/destinations", `{"name":"bad","kind":"discord","secrets":"very-secret"}`),
		api.post("/api/v1/routes/explain", `{"severity":3}`),
	}
	for i, a := range answers {
		if strings.Contains(string(a.body), secret) {
			t.Errorf("answer %d has a secret: %s", i, a.body)
		}
	}
	if strings.Contains(api.log.String(), secret) {
		t.Errorf("the log has a secret: %s", api.log)
	}
}

func TestEveryWrongFieldOfADestinationIsNamedOnce(t *testing.T) {
	requireNamedOnce(t, newTestAPI(t).post("/api/v1/destinations",
		`{"name":"","kind":"webhook","language":"fr","config":{"topic":"x"},"secrets":{"url":"ftp://x"},"fallback":"`+storedDelivery+`","enabled":1,"owner":7,"colour":"red"}`),
		"name has 0", "language is", "config.topic", "secrets.url", "secrets.signing_key", "fallback is", "enabled is", "owner is", "colour")
	requireNamedOnce(t, newTestAPI(t).post("/api/v1/destinations", `{"config":5}`), "name", "kind", "config is")
	requireNamedOnce(t, newTestAPI(t).post("/api/v1/destinations", `{"name":"a","kind":"ntfy","config":5}`), "config")
	requireNamedOnce(t, newTestAPI(t).post("/api/v1/destinations", `{"name":"a","kind":"teams","secrets":{"workflow_url":"https://a.example/x"},"fallback":""}`), "fallback is")
}

func TestAWebhookIsRefusedAsFallback(t *testing.T) { // section 19.1
	api := newTestAPI(t)
	addRouting(api, "")
	hook := api.post("/api/v1/destinations", `{"name":"hook","kind":"webhook","secrets":{"url":"https://hooks.example.com/x","signing_key":"0123456789abcdef"}}`)
	id := hook.hasStatus(http.StatusCreated).json()["destination_id"].(string)
	api.patch(destinationURL, `{"fallback":"`+id+`"}`).hasError(http.StatusBadRequest, monitor.InvalidConfig, "fallback is the webhook")
}

func TestAChangeMergesConfigAndSecrets(t *testing.T) { // section 19.1
	api := newTestAPI(t)
	addRouting(api, "")
	changed := api.patch(destinationURL, `{"config":{"api_url":"https://slack.example.com"},"secrets":{"bot_token":"`+botToken+`"}}`).hasStatus(http.StatusOK).json()
	if config := changed["config"].(map[string]any); config["channel"] != "C1" || config["api_url"] != "https://slack.example.com" {
		t.Errorf("config is %v", config)
	}
	if names := changed["changed"].([]any); len(names) != 1 || names[0] != "config.api_url" {
		t.Errorf("changed is %v", names)
	}
	changed = api.patch(destinationURL, `{"config":{"api_url":null,"channel":null},"secrets":{"bot_token":null,"webhook_url":"https://hooks.example.com/x"}}`).hasStatus(http.StatusOK).json()
	if len(changed["config"].(map[string]any)) != 0 || changed["secrets"].([]any)[0] != "webhook_url" {
		t.Errorf("the destination is %v", changed)
	}
	api.patch(destinationURL, `{"secrets":{"webhook_url":null}}`).hasError(http.StatusBadRequest, monitor.InvalidConfig, "secrets.bot_token")
}

func TestAStoredSecretIsSentToNoOtherServer(t *testing.T) { // section 19.1
	api := newTestAPI(t)
	addRouting(api, "")
	before := api.db.RoutingVersion(t)
	for _, body := range []string{`{"config":{"api_url":"https://thief.example.com"}}`, `{"kind":"telegram","config":{"chat_id":"1","channel":null}}`} {
		for _, dryRun := range []string{"", "?dry_run=true"} {
			api.patch(destinationURL+dryRun, body).hasError(http.StatusBadRequest, monitor.InvalidConfig, "secrets.bot_token must be given again")
		}
	}
	if api.db.RoutingVersion(t) != before {
		t.Error("a change was stored")
	}
}

func TestADestinationWhoseSecretsAreLostCanBeRenamedAndDisabled(t *testing.T) { // section 19.1
	api := newTestAPI(t)
	addRouting(api, "")
	api.db.Exec(api.t, `UPDATE destinations SET secrets = 'of another key'`)
	if d := api.patch(destinationURL, `{"name":"ops","enabled":false}`).hasStatus(http.StatusOK).json(); d["name"] != "ops" || d["enabled"] != false {
		t.Errorf("the destination is %v", d)
	}
	api.patch(destinationURL, `{"name":""}`).hasError(http.StatusBadRequest, monitor.InvalidConfig, "name has 0")
	for _, body := range []string{`{"config":{"api_url":"https://thief.example.com"}}`, `{"kind":"telegram","config":{"chat_id":"1","channel":null}}`} {
		api.patch(destinationURL, body).hasError(http.StatusBadRequest, monitor.InvalidConfig, "secrets.bot_token")
	}
	api.patch(destinationURL, `{"secrets":{"bot_token":"`+botToken+`"}}`).hasStatus(http.StatusOK)
}

func TestWhatCannotBeReadCanBeDeleted(t *testing.T) {
	api := newTestAPI(t)
	addRouting(api, "")
	api.db.Exec(api.t, `UPDATE destinations SET config = '7'`)
	api.db.Exec(api.t, `UPDATE routes SET match = '7' WHERE NOT is_default`)
	api.get(destinationURL).hasStatus(http.StatusInternalServerError)
	api.get(routeURL).hasStatus(http.StatusInternalServerError)
	api.delete(destinationURL).hasStatus(http.StatusOK)
	api.delete(routeURL).hasStatus(http.StatusNoContent)
	if names := api.get("/api/v1/destinations").json()["destinations"].([]any); len(names) != 0 {
		t.Errorf("left: %v", names)
	}
}

func TestADryRunSaysWhatWouldChange(t *testing.T) { // section 19.8
	api := newTestAPI(t)
	addRouting(api, "")
	before := api.db.RoutingVersion(t)
	for body, want := range map[string]string{
		`{"secrets":{"bot_token":"` + botToken + `"},"config":{"channel":"C1"}}`: "",
		`{"secrets":{"bot_token":"xoxb-other"},"name":"ops","enabled":false}`:    "name secrets.bot_token enabled",
	} {
		var names []string
		for _, name := range api.patch(destinationURL+"?dry_run=true", body).hasStatus(http.StatusOK).json()["changed"].([]any) {
			names = append(names, name.(string))
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s changes %q, want %q", body, got, want)
		}
	}
	api.patch(destinationURL, `{"secrets":{"bot_token":"`+botToken+`"}}`).hasStatus(http.StatusOK) // the same
	if n := api.db.RoutingVersion(t); n != before {
		t.Errorf("%d changes were stored", n-before)
	}
}

func TestTheFormerSigningKeyOfAWebhookSignsForADay(t *testing.T) { // section 19.1
	api := newTestAPI(t)
	const first, second = "first-signing-key-0123456789abcdef", "second-signing-key-0123456789abcdef"
	api.post("/api/v1/destinations", `{"name":"tickets","kind":"webhook","secrets":{"url":"https://example.com/x","signing_key":"`+first+`"}}`).hasStatus(http.StatusCreated)
	api.patch(destinationURL, `{"name":"tickets 2"}`).hasStatus(http.StatusOK)
	stored := func() notify.Destination {
		r, err := api.db.Destination(t.Context(), storedDestination)
		if err != nil {
			t.Fatal(err)
		}
		return r.Destination
	}
	if d := stored(); d.Secrets["previous_signing_key"] != "" || !d.PreviousUntil.IsZero() {
		t.Errorf("another change has begun a rotation until %v", d.PreviousUntil)
	}
	api.patch(destinationURL, `{"secrets":{"signing_key":"`+second+`"}}`).hasStatus(http.StatusOK)
	if d := stored(); d.Secrets["previous_signing_key"] != first || !d.PreviousUntil.Equal(now.Add(24*time.Hour)) {
		t.Errorf("the former key is %q until %v", d.Secrets["previous_signing_key"], d.PreviousUntil)
	}
	api.patch(destinationURL, `{"secrets":{"previous_signing_key":null}}`).hasStatus(http.StatusOK)
	if d := stored(); !d.PreviousUntil.IsZero() {
		t.Errorf("a rotation without a former key lasts until %v", d.PreviousUntil)
	}
}

func TestEnablingADestinationForgetsWhyItWasDisabled(t *testing.T) {
	api := newTestAPI(t)
	addRouting(api, "")
	api.db.Exec(api.t, `UPDATE destinations SET enabled = false, disabled_reason = 'HTTP 410 Gone'`)
	if d := api.get(destinationURL).json(); d["enabled"] != false || d["disabled_reason"] != "HTTP 410 Gone" || d["health"].(map[string]any)["state"] != "disabled" {
		t.Errorf("the destination is %v", d)
	}
	if d := api.patch(destinationURL, `{"enabled":true}`).json(); d["enabled"] != true || d["disabled_reason"] != nil {
		t.Errorf("the destination is %v", d)
	}
}

func TestADeletionWarnsOfRoutesWithoutDestination(t *testing.T) {
	api := newTestAPI(t)
	addRouting(api, "")
	api.delete(destinationURL).hasStatus(http.StatusOK).hasBody(`{"destination_id": "` + storedDestination + `", "warning": "these routes have no destination any more: night"}`)
	if route := api.get(routeURL).json(); len(route["destinations"].([]any)) != 0 {
		t.Errorf("the route is %v", route)
	}
}

func TestATestShowsWhatCameOfIt(t *testing.T) { // section 19.1
	api := newTestAPI(t)
	addRouting(api, "")
	api.tests.result = message.Result{Attempt: event.Attempt{At: now, Status: 404, Error: "channel_not_found"}, Note: "499 are left"}
	api.post(destinationURL+"/test", `{"example":"recovered"}`).hasStatus(http.StatusOK).
		hasBody(`{"delivered": false, "attempt": {"at": "2024-01-15T19:55:00.123+09:00", "status": 404, "error": "channel_not_found", "request": null, "response": null}, "note": "499 are left"}`)
	if api.tests.kind != notify.Recovered || api.tests.to.Secrets["bot_token"] != botToken {
		t.Errorf("sent %v to %v", api.tests.kind, api.tests.to)
	}
	api.post(destinationURL+"/test", `{"example":"worse"}`).hasError(http.StatusBadRequest, monitor.InvalidConfig, "accepted are opened, recovered")
}

func TestATestCountsAsATestOfAWebhook(t *testing.T) { // section 12.3
	api := newTestAPI(t)
	addRouting(api, "")
	for range requestsPerMin {
		api.post("/api/v1/webhooks/test", "")
	}
	api.post(destinationURL+"/test", `{}`).hasError(http.StatusTooManyRequests, monitor.RateLimitExceeded)
}

func TestARouteIsShownAsItWasCreated(t *testing.T) {
	api := newTestAPI(t)
	addRouting(api, "")
	api.get(routeURL).hasStatus(http.StatusOK).hasBody(`{"route_id": "` + storedRoute + `", "name": "night",
		"match": {"events": [], "conditions": [], "min_severity": 2, "monitors": [], "metadata": {"team": "a"}},
		"destinations": ["` + storedDestination + `"], "delay_sec": 600, "repeat_sec": 900, "continue": false, "default": false, "owner": null}`)
}

func TestEveryWrongFieldOfARouteIsNamedOnce(t *testing.T) {
	requireNamedOnce(t, newTestAPI(t).post("/api/v1/routes",
		`{"name":"x","match":{"events":["alert.rain"],"conditions":["overcast"],"min_severity":9,"monitors":["m"],"metadata":{"a":1},"colour":1},"destinations":["`+storedDelivery+`"],"delay_sec":90000,"repeat_sec":5,"continue":"yes"}`),
		"match.events has", "match.conditions has", "match.min_severity is", "match.monitors has", "match.metadata is", "colour", "destinations has", "delay_sec is", "repeat_sec is", "continue is")
}

func TestTheDefaultRouteKeepsItsMatch(t *testing.T) { // section 19.2
	api := newTestAPI(t)
	addRouting(api, "")
	path := "/api/v1/routes/" + defaultRoute
	requireNamedOnce(t, api.patch(path, `{"name":"last","match":{"min_severity":1},"continue":true}`), "name of", "match of", "continue of")
	api.patch(path, `{"destinations":["`+storedDestination+`"],"name":"default","match":{},"continue":false}`).hasStatus(http.StatusOK)
}

func TestRoutesAreOrdered(t *testing.T) { // section 19.2
	api := newTestAPI(t)
	addRouting(api, "")
	second := api.post("/api/v1/routes", `{"name":"day"}`).json()["route_id"].(string)
	order := func(a response) (names string) {
		for _, r := range a.hasStatus(http.StatusOK).json()["routes"].([]any) {
			names += r.(map[string]any)["name"].(string) + " "
		}
		return names
	}
	if names := order(api.get("/api/v1/routes")); names != "night day default " {
		t.Errorf("the order is %s", names)
	}
	if names := order(api.put("/api/v1/routes/order", `{"routes":["`+second+`","`+storedRoute+`"]}`)); names != "day night default " {
		t.Errorf("the order is %s", names)
	}
	api.put("/api/v1/routes/order", `{"routes":["`+second+`"]}`).hasError(http.StatusBadRequest, monitor.InvalidConfig, "routes")
	api.get("/api/v1/routes/order").hasStatus(http.StatusMethodNotAllowed)
	api.get("/api/v1/routes/explain").hasStatus(http.StatusMethodNotAllowed)
}

func TestAnExplanationNamesReasonsDestinationsAndSilences(t *testing.T) { // section 19.2
	api := newTestAPI(t)
	addRouting(api, "")
	api.patch("/api/v1/routes/"+defaultRoute, `{"destinations":["`+storedDestination+`"]}`).hasStatus(http.StatusOK)
	addIncident(api, "")
	api.db.Exec(api.t, `UPDATE monitors SET metadata_text = '{"team":"b"}'`)
	api.post("/api/v1/routes/explain", `{"incident_id":"`+incidentID+`"}`).hasStatus(http.StatusOK).hasBody(`{
		"subject": {"event_id": null, "event_type": null, "incident_id": "` + incidentID + `", "conditions": ["black"], "severity": 2, "monitor_id": "` + noSuchID + `", "metadata": {"team": "b"}},
		"routes": [
			{"route_id": "` + storedRoute + `", "name": "night", "result": "not_matched", "reasons": [
				{"criterion": "min_severity", "wanted": "2", "got": "2", "ok": true},
				{"criterion": "metadata.team", "wanted": "a", "got": "b", "ok": false}
			], "destinations": [{"destination_id": "` + storedDestination + `", "name": "operations", "delay_sec": 600, "gets": "incidents", "enabled": true}]},
			{"route_id": "` + defaultRoute + `", "name": "default", "result": "matched", "reasons": [],
				"destinations": [{"destination_id": "` + storedDestination + `", "name": "operations", "delay_sec": 0, "gets": "incidents", "enabled": true}]}
		],
		"silences": [{"silence_id": "` + storedSilence + `", "until": "2024-01-15T21:00:00+09:00", "reasons": [{"criterion": "monitors", "wanted": "` + noSuchID + `", "got": "` + noSuchID + `", "ok": true}]}],
		"destinations": [{"destination_id": "` + storedDestination + `", "name": "operations", "route_id": "` + defaultRoute + `", "delay_sec": 0, "silenced": true}]
	}`)
	requireNamedOnce(t, api.post("/api/v1/routes/explain", `{"event_type":"x","conditions":["y"],"severity":7,"monitor_id":"z","metadata":[]}`),
		"event_type is", "conditions has", "severity is", "monitor_id is", "metadata is")
	api.post("/api/v1/routes/explain", `{"event_id":"`+storedDelivery+`","severity":1}`).hasError(http.StatusBadRequest, monitor.InvalidConfig, "event_id is given with other fields")
}

func TestASilenceHasAStateAndItsNextTime(t *testing.T) { // section 19.6
	api := newTestAPI(t)
	api.post("/api/v1/silences", newSilence).hasStatus(http.StatusCreated).hasBody(`{"silence_id": "` + storedDestination + `",
		"match": {"events": [], "conditions": [], "min_severity": 0, "monitors": ["` + noSuchID + `"], "metadata": {}},
		"from": "2024-01-15T19:55:00.123+09:00", "to": "2024-01-15T21:00:00+09:00", "until_recovered": false, "window": null,
		"by": "ann", "comment": "work", "state": "active", "next_at": "2024-01-15T21:00:00+09:00", "owner": null}`)
	maintenance := api.post("/api/v1/silences", `{"match":{},"window":{"weekdays":["tue"],"start":"02:00","end":"04:00","timezone":"Asia/Tokyo"},"by":"ann"}`).hasStatus(http.StatusCreated).json()
	if maintenance["state"] != "scheduled" || maintenance["next_at"] != "2024-01-16T02:00:00+09:00" || maintenance["to"] != nil {
		t.Errorf("the maintenance is %v", maintenance)
	}
	recovery := api.post("/api/v1/silences", `{"match":{"monitors":["`+noSuchID+`"]},"until_recovered":true,"by":"ann"}`).hasStatus(http.StatusCreated).json()
	if recovery["state"] != "active" || recovery["next_at"] != nil {
		t.Errorf("the silence until recovery is %v", recovery)
	}
	ended := api.delete("/api/v1/silences/" + recovery["silence_id"].(string)).hasStatus(http.StatusOK).json()
	if ended["state"] != "ended" {
		t.Errorf("the ended silence is %v", ended)
	}
	api.patch("/api/v1/silences/"+recovery["silence_id"].(string), `{"comment":"x"}`).hasError(http.StatusBadRequest, monitor.InvalidConfig, "ended")
	addIncident(api, "")
	api.storeIncident(incidentOfAnother(1))
	for _, listed := range api.get("/api/v1/silences").json()["silences"].([]any) {
		s := listed.(map[string]any)
		want := "[]"
		if s["state"] == "active" {
			want = "[" + incidentID + "]"
		}
		if got, _ := s["incidents"].([]any); fmt.Sprint(got) != want {
			t.Errorf("a silence that is %s holds back %v, want %s", s["state"], got, want)
		}
	}
	for state, want := range map[string]int{"active": 1, "scheduled": 1, "ended": 1} {
		if got := len(api.get("/api/v1/silences?state=" + state).json()["silences"].([]any)); got != want {
			t.Errorf("%d silences are %s", got, state)
		}
	}
}

func TestEveryWrongFieldOfASilenceIsNamedOnce(t *testing.T) {
	requireNamedOnce(t, newTestAPI(t).post("/api/v1/silences",
		`{"match":{"min_severity":"high"},"from":"now","to":5,"until_recovered":"x","window":{"weekdays":["monday"],"start":"2","end":"04:00","timezone":"Mars/Base"},"by":" ","comment":7}`),
		"match.min_severity is", "from is", "to is", "until_recovered is", "window.weekdays has", "window.start", "window.timezone", "by has", "comment is")
	requireNamedOnce(t, newTestAPI(t).post("/api/v1/silences", `{}`), "match is missing", "by ", "to is missing")
}

func TestDeliveriesAreReplayed(t *testing.T) { // section 19.4
	api := newTestAPI(t)
	addRouting(api, "")
	api.post("/api/v1/deliveries/"+storedDelivery+"/replay", "").hasStatus(http.StatusOK).hasBody(`{"delivery_id": "` + storedDelivery + `", "state": "pending"}`)
	api.db.Exec(api.t, `UPDATE deliveries SET state = 'failed'`)
	for _, c := range []struct{ since, replayed string }{{"20:00:00+09:00", "0"}, {"19:00:00+09:00", "1"}} {
		api.post("/api/v1/deliveries/replay", `{"since":"2024-01-15T`+c.since+`","destination_id":"`+storedDestination+`"}`).
			hasStatus(http.StatusOK).hasBody(`{"replayed": ` + c.replayed + `}`)
	}
	requireNamedOnce(t, api.post("/api/v1/deliveries/replay", `{"since":"yesterday","destination_id":"x"}`), "since is", "destination_id is")
	api.post("/api/v1/deliveries/replay", `{"since":"2024-01-15T20:00:00Z","destination_id":"`+storedDelivery+`"}`).hasError(http.StatusNotFound, routing.DestinationNotFound)
}

func FuzzRoutingBodies(f *testing.F) {
	for _, body := range []string{newDestination, newSilence, `{"name":"x","match":{"metadata":{"a":"b"}},"destinations":[]}`, `{"window":{"weekdays":["mon"]}}`, `{"match":null}`} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		api := newTestAPI(t)
		for _, path := range []string{"/api/v1/destinations", "/api/v1/routes", "/api/v1/silences", "/api/v1/routes/explain", "/api/v1/deliveries/replay"} {
			if a := api.post(path, body); a.status >= http.StatusInternalServerError {
				t.Errorf("POST %s answers %d: %s", path, a.status, a.body)
			}
		}
	})
}
