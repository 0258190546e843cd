package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// The IDs of all that addRouting stores, in the order of creation.
const (
	storedDestination = "0190a5d4-0000-7000-8000-000000000001"
	storedRoute       = "0190a5d4-0000-7000-8000-000000000002"
	storedSilence     = "0190a5d4-0000-7000-8000-000000000003"
	storedOverride    = "0190a5d4-0000-7000-8000-000000000004" // by addDuty
	storedDelivery    = "0190a5d6-0000-7000-8000-000000000001"

	destinationURL = "/api/v1/destinations/" + storedDestination
	routeURL       = "/api/v1/routes/" + storedRoute
	silenceURL     = "/api/v1/silences/" + storedSilence
	overrideURL    = "/api/v1/duty/overrides/" + storedOverride

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

// addDuty also stores two people, of whom the first is on duty: it is 19:55 in Tokyo.
func addDuty(api *testAPI, _ monitor.ID) {
	addRouting(api, "")
	person := func(name, start, end string) string {
		return fmt.Sprintf(`{"name":%q,"destination_id":"`+storedDestination+`","windows":[{"start":%q,"end":%q,"timezone":"Asia/Tokyo"}]}`, name, start, end)
	}
	api.patch("/api/v1/duty", `{"people":[`+person("Ann", "18:00", "06:00")+`,`+person("Ben", "06:00", "18:00")+`]}`).hasStatus(http.StatusOK)
	api.post("/api/v1/duty/overrides", `{"person":"Ben","from":"2024-01-15T22:00:00+09:00","to":"2024-01-16T00:00:00+09:00","by":"ann"}`).hasStatus(http.StatusCreated)
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
		{"GET", silenceURL, ""}, {"PATCH", silenceURL, "{}"}, {"DELETE", silenceURL, ""}, {"DELETE", overrideURL, ""},
		{"POST", "/api/v1/deliveries/" + storedDelivery + "/replay", ""},
	} {
		list = append(list, responseCase{missing.method + " " + missing.path + " of none", 404, request(missing.method, missing.path, missing.body)})
	}
	return append(list,
		responseCase{"destination that pauses", 200, after(pauseDestination, request("GET", destinationURL, ""))},
		responseCase{"explain an incident", 200, after(explainIncident, request("POST", "/api/v1/routes/explain", `{"incident_id":"`+incidentID+`"}`))},
		responseCase{"explain no event", 404, request("POST", "/api/v1/routes/explain", `{"event_id":"`+storedDelivery+`"}`)},
		responseCase{"explain an event of a channel", 200, after(func(api *testAPI) { addRouting(api, ""); registerChannel(api) }, request("POST", "/api/v1/routes/explain", `{"event_type":"channel.unreadable","channel_id":"`+storedChannel+`"}`))},
		responseCase{"explain an event of no channel", 404, request("POST", "/api/v1/routes/explain", `{"event_type":"channel.unreadable","channel_id":"`+storedChannel+`"}`)},
		responseCase{"create a destination twice", 409, after(stored, request("POST", "/api/v1/destinations", newDestination))},
		responseCase{"create a route twice", 409, after(stored, request("POST", "/api/v1/routes", `{"name":"night"}`))},
		responseCase{"rename a destination like another", 409, after(taken, request("PATCH", destinationURL, `{"name":"taken"}`))},
		responseCase{"rename a route like another", 409, after(taken, request("PATCH", routeURL, `{"name":"taken"}`))},
		responseCase{"replay what failed at no destination", 404, request("POST", "/api/v1/deliveries/replay", `{"since":"2024-01-15T20:00:00Z","destination_id":"`+storedDelivery+`"}`)},
	)
}

// failDestination stores a destination that has failed, with two messages that wait.
func failDestination(api *testAPI, id monitor.ID) {
	addRouting(api, id)
	api.db.Exec(api.t, `UPDATE destinations SET failures = 1, failing_since = now(), last_error = 'HTTP 500', circuit_open_until = now() + interval '1 minute'`)
	api.db.Exec(api.t, `INSERT INTO destination_hours SELECT id, date_trunc('hour', now()), 5, 0 FROM destinations`)
	api.db.Exec(api.t, `INSERT INTO deliveries (id, destination_id, state, due_at, created_at)
		SELECT gen_random_uuid(), d.id, 'pending', now(), now() FROM destinations d, generate_series(1, 2)`)
}

// pauseDestination stores one that has asked for a pause. It has failed at nothing, and people still see why it is quiet.
func pauseDestination(api *testAPI) {
	addRouting(api, "")
	api.db.Exec(api.t, `UPDATE destinations SET last_error = 'HTTP 429', delivered_at = now(), circuit_open_until = now() + interval '1 hour'`)
}

// explainIncident stores an incident whose metadata match the default route alone.
func explainIncident(api *testAPI) {
	addRouting(api, "")
	api.patch("/api/v1/routes/"+defaultRoute, `{"destinations":["`+storedDestination+`"]}`).hasStatus(http.StatusOK)
	addIncident(api, "")
	api.db.Exec(api.t, `UPDATE monitors SET metadata_text = '{"team":"b"}'`)
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
	for _, a := range answers {
		a.lacksWords(secret)
	}
	api.logged().lacksWords(secret)
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
	api.patch(destinationURL, `{"name":"ops","enabled":false}`).hasStatus(http.StatusOK).hasFields("name", "ops", "enabled", false)
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
	if names := api.list("/api/v1/destinations", "destinations"); len(names) != 0 {
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
		expect.Equal(t, fmt.Sprintf("%s changes", body), strings.Join(names, " "), want)
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
		return must.Get(api.db.Destination(t.Context(), storedDestination))(t).Destination
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
	api.db.Exec(api.t, `UPDATE destinations SET enabled = false, disabled_reason = 'gone'`)
	if d := api.get(destinationURL).json(); d["enabled"] != false || d["disabled_reason"] != "gone" || d["health"].(map[string]any)["state"] != "disabled" {
		t.Errorf("the destination is %v", d)
	}
	api.patch(destinationURL, `{"enabled":true}`).hasFields("enabled", true, "disabled_reason", nil)
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
	expect.Equal(t, "the order", order(api.get("/api/v1/routes")), "night day default ")
	expect.Equal(t, "the order", order(api.put("/api/v1/routes/order", `{"routes":["`+second+`","`+storedRoute+`"]}`)), "day night default ")
}

func TestASilenceHasAStateAndItsNextTime(t *testing.T) { // section 19.6
	api := newTestAPI(t)
	api.post("/api/v1/silences", newSilence).hasStatus(http.StatusCreated)
	api.post("/api/v1/silences", `{"match":{},"window":{"weekdays":["tue"],"start":"02:00","end":"04:00","timezone":"Asia/Tokyo"},"by":"ann"}`).hasStatus(http.StatusCreated).
		hasFields("state", "scheduled", "next_at", "2024-01-16T02:00:00+09:00", "to", nil)
	recovery := api.post("/api/v1/silences", `{"match":{"monitors":["`+noSuchID+`"]},"until_recovered":true,"by":"ann"}`).hasStatus(http.StatusCreated).
		hasFields("state", "active", "next_at", nil).json()["silence_id"].(string)
	api.delete("/api/v1/silences/"+recovery).hasStatus(http.StatusOK).hasFields("state", "ended")
	api.patch("/api/v1/silences/"+recovery, `{"comment":"x"}`).hasError(http.StatusBadRequest, monitor.InvalidConfig, "ended")
	addIncident(api, "")
	api.storeIncident(incidentOfAnother(1))
	for _, listed := range api.list("/api/v1/silences", "silences") {
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
		if got := len(api.list("/api/v1/silences?state="+state, "silences")); got != want {
			t.Errorf("%d silences are %s", got, state)
		}
	}
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
}

const deliveriesURL = "/api/v1/deliveries"

func TestDeliveriesAreFiltered(t *testing.T) {
	api := newTestAPI(t)
	id := api.register("Q")
	sendEvent(api, id)
	for query, found := range map[string]int{
		"state=delivered&monitor_id=" + string(id) + "&event_id=" + eventID: 1, "state=failed": 0, "monitor_id=" + noSuchID: 0,
		"event_id=0190a5d0-1c2b-7d8a-9c1d-000000000009": 0, "incident_id=" + eventID: 0,
	} {
		if got := api.pages(deliveriesURL+"?"+query, "deliveries", "event_id", "cursor"); len(got) != found {
			t.Errorf("%s finds %q", query, got)
		}
	}
}

func TestDeliveriesHavePages(t *testing.T) {
	api := newTestAPI(t)
	id := api.register("Q")
	reportEvent(api, id)
	api.put("/internal/v1/monitors/"+string(id)+"/status", strings.ReplaceAll(completeReport, "000000000001", "000000000002")).hasStatus(http.StatusOK)
	got := api.pages(deliveriesURL+"?limit=1", "deliveries", "event_id", "cursor")
	expect.Equal(t, "the pages", got, []string{strings.Replace(eventID, "000000000001", "000000000002", 1), eventID})
}

func TestWhoIsOnDutyFollowsThePlanAndItsOverrides(t *testing.T) { // section 19.10
	api := newTestAPI(t)
	addDuty(api, "")
	onDuty := func(a response) string {
		got := a.json()
		return fmt.Sprint(got["on_duty"], got["handover_at"], got["next"])
	}
	expect.Equal(t, "on duty", onDuty(api.get("/api/v1/duty")), "[Ann]2024-01-15T22:00:00+09:00[Ben]")
	expect.Equal(t, "on duty after a take-over", onDuty(api.post("/api/v1/duty/overrides", `{"person":"Ben","to":"2024-01-15T23:00:00+09:00","by":"ben"}`)), "[Ben]2024-01-16T00:00:00+09:00[Ann]")
	api.delete(overrideURL).hasStatus(http.StatusNoContent)
	expect.Equal(t, "on duty without the first override", onDuty(api.get("/api/v1/duty")), "[Ben]2024-01-15T23:00:00+09:00[Ann]")

	api.post("/api/v1/routes", `{"name":"duty","on_duty":true}`).hasStatus(http.StatusCreated)
	named := func(at string) string {
		return fmt.Sprint(api.post("/api/v1/routes/explain", `{"severity":1`+at+`}`).json()["destinations"])
	}
	if got := named(""); !strings.Contains(got, "operations") {
		t.Errorf("told are %s", got)
	}
	api.delete(destinationURL).hasStatus(http.StatusOK)
	if got := named(""); got != "[]" {
		t.Errorf("after the destination was deleted %s are told", got)
	}
	if got := api.get("/api/v1/duty").json()["people"].([]any)[0].(map[string]any)["destination_id"]; got != nil {
		t.Errorf("Ann is told at %v", got)
	}
	api.patch("/api/v1/duty", `{"people":[]}`).hasFields("on_duty", []any{}, "overrides", []any{}, "handover_at", nil)
}

func TestARouteWithWindowsIsExplainedForAnyTime(t *testing.T) { // section 19.2
	api := newTestAPI(t)
	addRouting(api, "")
	api.patch(routeURL, `{"match":{},"windows":[{"weekdays":["mon","tue"],"start":"22:00","end":"06:00","timezone":"Asia/Tokyo"}]}`).hasStatus(http.StatusOK)
	for at, want := range map[string]string{
		`null`:                        "not_matched mon 19:55 Asia/Tokyo",
		`"2024-01-15T22:00:00+09:00"`: "matched mon 22:00 Asia/Tokyo",
		`"2024-01-16T20:59:59Z"`:      "matched wed 05:59 Asia/Tokyo",
		`"2024-01-18T03:00:00+09:00"`: "not_matched thu 03:00 Asia/Tokyo",
	} {
		route := api.post("/api/v1/routes/explain", `{"severity":1,"at":`+at+`}`).hasStatus(http.StatusOK).json()["routes"].([]any)[0].(map[string]any)
		reason := route["reasons"].([]any)[0].(map[string]any)
		expect.Equal(t, at, fmt.Sprint(route["result"], " ", reason["got"]), want)
		expect.Equal(t, "wanted", reason["wanted"].(string), "mon tue 22:00-06:00 Asia/Tokyo")
	}
}

func TestAnExplanationSaysOfAWebhookHowItBegins(t *testing.T) { // section 19.2
	api := newTestAPI(t)
	hook := api.post("/api/v1/destinations", `{"name":"hook","kind":"webhook","secrets":{"url":"https://hook.example/","signing_key":"0123456789abcdef0123456789abcdef"}}`).hasStatus(http.StatusCreated).json()["destination_id"].(string)
	api.post("/api/v1/routes", `{"name":"night","match":{"min_severity":2},"destinations":["`+hook+`"]}`).hasStatus(http.StatusCreated)
	got := api.post("/api/v1/routes/explain", `{"conditions":["black"],"severity":3}`).hasStatus(http.StatusOK).json()
	route := got["routes"].([]any)[0].(map[string]any)
	of := route["destinations"].([]any)[0].(map[string]any)
	expect.Equal(t, "the route, the hook by it, and who is told", fmt.Sprintf("%v %v %v %v", route["result"], of["result"], of["reasons"], got["destinations"]),
		"matched not_matched [map[criterion:min_severity got:1 ok:false wanted:2]] []")
}

func TestAnExplanationSaysUntilWhenNobodyLooks(t *testing.T) { // sections 16.9 and 19.2
	api := newTestAPI(t)
	id := api.register("Q")
	api.db.Exec(t, `UPDATE monitors SET paused_until = '2024-01-15T21:00:00+09:00'`)
	about := `"conditions":["black"],"severity":1,"monitor_id":"` + string(id) + `"`
	for body, want := range map[string]any{
		`{` + about + `}`: "2024-01-15T21:00:00+09:00",
		`{` + about + `,"at":"2024-01-15T21:00:00+09:00"}`: nil,
		`{"conditions":["black"],"severity":1}`:            nil,
	} {
		api.post("/api/v1/routes/explain", body).hasStatus(http.StatusOK).hasFields("paused_until", want)
	}
}

func TestAnOccurrenceOfASilenceEnds(t *testing.T) { // section 19.6
	api := newTestAPI(t)
	made := api.post("/api/v1/silences", `{"match":{"max_severity":1},"window":{"start":"19:00","end":"20:00","timezone":"Asia/Tokyo"},"by":"ann"}`).hasStatus(http.StatusCreated).json()
	expect.Equal(t, "silences everything", made["everything"].(bool), false)
	url := "/api/v1/silences/" + made["silence_id"].(string)
	api.patch(url, fmt.Sprintf(`{"skip_until":%q}`, made["next_at"])).hasStatus(http.StatusOK).
		hasFields("state", "scheduled", "skip_until", "2024-01-15T20:00:00+09:00", "next_at", "2024-01-16T19:00:00+09:00")
	api.patch(url, `{"comment":"nights"}`).hasFields("state", "scheduled")
	api.patch(url, `{"skip_until":null}`).hasFields("state", "active", "skip_until", nil)
	api.patch(url, `{"match":{}}`).hasFields("everything", true)
	api.patch(url, `{"window":null}`).hasError(http.StatusBadRequest, monitor.InvalidConfig, "to is missing")
}

func TestAnExplanationHasTheLabelsAndMetadataOfTheMonitor(t *testing.T) { // section 19.2
	api := newTestAPI(t, rateLimits(0, 0))
	id := api.post("/api/v1/monitors", strings.TrimSuffix(registration, "}")+`,"labels":{"team":"a"},"metadata":{"show":{"name":"x"}}}`).hasStatus(http.StatusCreated).json()["monitor_id"].(string)
	for given, want := range map[string]string{
		"":                                      "map[team:a] map[show.name:x]",
		`,"labels":{"team":"b"}`:                "map[team:b] map[show.name:x]",
		`,"metadata":{"show":{"name":"other"}}`: "map[team:a] map[show.name:other]",
	} {
		subject := api.post("/api/v1/routes/explain", `{"severity":2,"monitor_id":"`+id+`"`+given+`}`).hasStatus(http.StatusOK).json()["subject"].(map[string]any)
		expect.Equal(t, "the subject of "+given, fmt.Sprint(subject["labels"], " ", subject["metadata"]), want)
	}
	api.post("/api/v1/routes/explain", `{"severity":2,"monitor_id":"`+noSuchID+`"}`).hasStatus(http.StatusNotFound)
}
