package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// actionURL returns a link of a message to the stored destination.
func actionURL(api *testAPI, a notify.Action, expires time.Time) string {
	api.t.Helper()
	token := must.Get(notify.SignAction(evidence.LinkKeys{linkKey}, notify.ActionLink{Action: a, IncidentID: incidentID, DestinationID: storedDestination, ExpiresAt: expires}))(api.t)
	return "/act/" + token
}

func usedAction(path, by string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(url.Values{"by": {by}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func actionCases() []responseCase {
	link := func(use bool, action notify.Action, expires time.Time, by, suffix string) func(*testAPI) *http.Request {
		return func(api *testAPI) *http.Request {
			path := actionURL(api, action, expires) + suffix
			if !use {
				return newRequestWithoutKey(path)
			}
			return usedAction(path, by)
		}
	}
	hour := now.Add(time.Hour)
	incident := func(api *testAPI) { addIncident(api, "") }
	usedByAnother := func(api *testAPI) {
		addIncident(api, "")
		api.do(usedAction(actionURL(api, notify.Acknowledge, hour), "bob")).hasStatus(http.StatusOK)
	}
	used := after(incident, link(true, notify.Acknowledge, hour, "ann", ""))
	list := []responseCase{
		{"link without a name", 400, after(incident, link(true, notify.SilenceAnHour, hour, " ", ""))},
		{"link that another has used", 409, after(usedByAnother, link(true, notify.Acknowledge, hour, "ann", ""))},
		{"link with a form that does not arrive", 408, with(used, withStalledBody)},
		{"link with a form that is too large", 413, with(used, func(_ *testAPI, r *http.Request) { r.ContentLength = 5000 })},
		{"link with a form of another type", 415, with(used, withHeader("Content-Type", "text/plain"))},
	}
	for name, use := range map[string]bool{"open a link": false, "use a link": true} {
		list = append(list, brokenCases(name, link(use, notify.Acknowledge, hour, "ann", ""), (*testAPI).breakStores)...)
		list = append(list,
			responseCase{name, 200, after(incident, link(use, notify.Acknowledge, hour, "ann", ""))},
			responseCase{name + " that was altered", 403, after(incident, link(use, notify.Acknowledge, hour, "ann", "x"))},
			responseCase{name + " that has expired", 410, after(incident, link(use, notify.Acknowledge, now, "ann", ""))},
			responseCase{name + " to no incident", 404, link(use, notify.Acknowledge, hour, "ann", "")})
	}
	return list
}

func TestALinkAsksBeforeItActs(t *testing.T) { // section 19.3
	api := newTestAPI(t)
	addRouting(api, "")
	addIncident(api, "")
	api.db.Exec(t, `UPDATE monitors SET metadata_text = '{"channel_name": "The <channel>"}'`)
	path := actionURL(api, notify.Acknowledge, now.Add(time.Hour))
	for range 3 { // previews of messages open links
		page := api.do(newRequestWithoutKey(path)).hasStatus(http.StatusOK)
		page.hasWords("Acknowledge: Black video", "Stream: 001 The &lt;channel&gt;", "JST", "<button>Acknowledge</button>", `name="by"`, `<html lang="en">`)
		page.lacksWords("<script", incidentStreamURL).hasHeaders("Referrer-Policy", "no-referrer")
		if policy := page.header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "unsafe") {
			t.Errorf("the policy is %s", policy)
		}
	}
	api.get(incidentURL).hasFields("acknowledged_by", nil)
	for range 2 { // a browser repeats
		api.do(usedAction(path, "ann")).hasStatus(http.StatusOK).hasWords("Acknowledged by ann")
	}
	i := api.get(incidentURL).json()
	if i["acknowledged_by"] != "ann" || strings.Count(fmt.Sprint(i["log"]), "kind:acknowledged") != 1 {
		t.Errorf("the incident is %v", i)
	}
	api.do(newRequestWithoutKey(path)).hasStatus(http.StatusOK).hasWords("ann has acknowledged it already")
	api.do(usedAction(path, "bob")).hasStatus(http.StatusConflict).hasWords("ann has acknowledged it already")
}

func TestAUsedLinkDoesNotAcknowledgeAReopenedIncident(t *testing.T) {
	api := newTestAPI(t)
	addIncident(api, "")
	path := actionURL(api, notify.Acknowledge, now.Add(time.Hour))
	api.do(usedAction(path, "ann")).hasStatus(http.StatusOK).hasWords("Acknowledged by ann")
	api.db.Exec(api.t, `UPDATE incidents SET reopened = 1, acknowledged_by = '', acknowledged_at = NULL, acknowledged_severity = 0`)
	for _, by := range []string{"ann", "bob"} {
		api.do(usedAction(path, by)).hasStatus(http.StatusConflict).hasWords("This link has been used, and the trouble has come back", "newest message").lacksWords(by)
	}
}

func TestALinkSilencesAStreamForAnHour(t *testing.T) { // section 19.3
	api := newTestAPI(t)
	addIncident(api, "")
	path := actionURL(api, notify.SilenceAnHour, now.Add(time.Hour))
	api.do(newRequestWithoutKey(path)).hasStatus(http.StatusOK).hasWords("Silence this stream for an hour", "Silence for an hour</button>")
	for range 2 {
		api.do(usedAction(path, "ann")).hasStatus(http.StatusOK).hasWords("Silenced until 2024-01-15 20:55:00 JST")
	}
	silences := api.list("/api/v1/silences", "silences")
	silence := silences[0].(map[string]any)
	if len(silences) != 1 || silence["by"] != "ann" || silence["to"] != "2024-01-15T20:55:00+09:00" || silence["match"].(map[string]any)["monitors"].([]any)[0] != noSuchID {
		t.Errorf("the silences are %v", silences)
	}
	api.do(usedAction(path, "bob")).hasStatus(http.StatusConflict).hasWords("ann has silenced it already")
	api.delete("/api/v1/silences/" + silence["silence_id"].(string)).hasStatus(http.StatusOK)
	api.do(usedAction(path, "ann")).hasStatus(http.StatusConflict).hasWords("The silence is over")
}

func TestASilenceBeginsByTheClockOfTheDatabase(t *testing.T) { // section 19.6
	for name, create := range map[string]func(*testAPI){
		"of a link": func(api *testAPI) {
			api.do(usedAction(actionURL(api, notify.SilenceAnHour, now.Add(time.Hour)), "ann"))
		},
		"without a start": func(api *testAPI) {
			api.post("/api/v1/silences", `{"by":"ann","match":{},"to":"2024-01-15T21:25:00+09:00"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := newTestAPI(t)
			addIncident(api, "")
			api.db.Exec(api.t, `UPDATE clock SET at = $1`, now.Add(30*time.Minute)) // the gateway's is behind
			create(api)
			for _, s := range api.list("/api/v1/silences", "silences") {
				if silence := s.(map[string]any); silence["from"] == "2024-01-15T20:25:00.123+09:00" && silence["to"] == "2024-01-15T21:25:00+09:00" {
					return
				}
			}
			t.Errorf("the silences are %s", api.get("/api/v1/silences").body)
		})
	}
}

func TestALinkSaysWhyNothingWasDone(t *testing.T) {
	for action, words := range map[notify.Action]string{notify.Acknowledge: "The incident cannot take this up", notify.SilenceAnHour: "Silence the stream on the dashboard"} {
		api := newTestAPI(t)
		addIncident(api, "")
		api.db.Exec(api.t, `INSERT INTO incident_log (incident_id, kind, at, op_id) SELECT $1, 'note', now(), n FROM generate_series(1, $2) n`, incidentID, incidents.MaxLog)
		api.db.Exec(api.t, `INSERT INTO silences (id, match, starts_at, by) SELECT gen_random_uuid(), '{}', now(), 'ann' FROM generate_series(1, $1)`, routing.MaxSilences)
		api.do(usedAction(actionURL(api, action, now.Add(time.Hour)), "ann")).hasStatus(http.StatusBadRequest).hasWords(words)
	}
}

func TestThePageIsInTheLanguageOfTheMessage(t *testing.T) {
	api := newTestAPI(t)
	addRouting(api, "")
	addIncident(api, "")
	api.patch(destinationURL, `{"language":"ja"}`).hasStatus(http.StatusOK)
	api.do(newRequestWithoutKey(actionURL(api, notify.Acknowledge, now.Add(time.Hour)))).hasStatus(http.StatusOK).hasWords("対応する: 映像が真っ黒", `<html lang="ja">`)
	expired := newRequestWithoutKey(actionURL(api, notify.Acknowledge, now))
	expired.Header.Set("Accept-Language", "ja-JP,ja;q=0.9")
	api.do(expired).hasStatus(http.StatusGone).hasWords("有効期限")
}

func TestAPageAboutAThirdDetectorHasTheWordsOfItsRow(t *testing.T) {
	detectortest.Add(t, detectortest.Imaginary)
	api := newTestAPI(t)
	addRouting(api, "")
	imagined := storedIncident(incidentID)
	imagined.Conditions[0].Name = detectortest.Imaginary.Condition
	api.storeIncident(imagined)
	path := actionURL(api, notify.SilenceAnHour, now.Add(time.Hour))
	api.do(newRequestWithoutKey(path)).hasStatus(http.StatusOK).hasWords("Silence this stream for an hour: Imagined video")
	api.patch(destinationURL, `{"language":"ja"}`).hasStatus(http.StatusOK)
	api.do(newRequestWithoutKey(path)).hasStatus(http.StatusOK).hasWords("この配信を1時間ミュート: 架空の映像")
}

func TestALinkOfAResolvedIncidentHasNothingToDo(t *testing.T) {
	api := newTestAPI(t)
	resolved := storedIncident(incidentID)
	resolved.State, resolved.ResolvedAt = incident.Resolved, now
	api.storeIncident(resolved)
	api.do(newRequestWithoutKey(actionURL(api, notify.Acknowledge, now.Add(time.Hour)))).hasStatus(http.StatusOK).hasWords("There is nothing to do").lacksWords("<form")
}

func TestAPageEscapesWhatPeopleWrite(t *testing.T) {
	api := newTestAPI(t)
	addIncident(api, "")
	api.do(usedAction(actionURL(api, notify.Acknowledge, now.Add(time.Hour)), `<img src=x onerror=alert(1)>`)).hasStatus(http.StatusOK).lacksWords("<img")
}

const stormID = "0190a5d7-0000-7000-8000-000000000001"

// addStorm stores a storm of three streams, of which ann has one. The stored destination is
// told of all.
func addStorm(api *testAPI) (path string) {
	api.t.Helper()
	addRouting(api, "")
	api.patch("/api/v1/routes/"+defaultRoute, `{"destinations":["`+storedDestination+`"]}`).hasStatus(http.StatusOK)
	api.db.Exec(api.t, `INSERT INTO deliveries (id, destination_id, state, created_at, storm) VALUES ($1, $2, 'delivered', now(), '{"opened_at":"2024-01-15T10:55:00Z"}')`,
		stormID, storedDestination)
	for n := range 3 {
		stored := incidentOfAnother(n)
		if n == 0 {
			stored.AcknowledgedBy, stored.AcknowledgedAt, stored.AcknowledgedSeverity = "ann", now, stored.Severity
		}
		api.storeIncident(stored)
	}
	api.db.Exec(api.t, `INSERT INTO deliveries (id, destination_id, incident_id, storm_id, state, created_at) SELECT gen_random_uuid(), $1, id, $2, 'idle', now() FROM incidents`,
		storedDestination, stormID)
	token := must.Get(notify.SignAction(evidence.LinkKeys{linkKey}, notify.ActionLink{Action: notify.Acknowledge, StormID: stormID, DestinationID: storedDestination, ExpiresAt: now.Add(time.Hour)}))(api.t)
	return "/act/" + token
}

// areAcknowledgedBy expects who has acknowledged the incidents of a storm.
func (api *testAPI) areAcknowledgedBy(names ...string) {
	api.t.Helper()
	for n, want := range names {
		if i := api.readIncident(incidentOfAnother(n).ID); i.AcknowledgedBy != want {
			api.t.Errorf("incident %d is acknowledged by %q, want %q", n, i.AcknowledgedBy, want)
		}
	}
}

func TestALinkOfAStormAcknowledgesAllOfItsIncidents(t *testing.T) { // section 19.7
	api := newTestAPI(t)
	path := addStorm(api)
	api.do(newRequestWithoutKey(path)).hasStatus(http.StatusOK).hasWords("Acknowledge: 3 streams", "Acknowledge</button>")
	api.do(usedAction(path, " ")).hasStatus(http.StatusBadRequest).hasWords("Write your name")
	api.do(usedAction(path, "bob")).hasStatus(http.StatusOK).hasWords("<h1>Acknowledged by bob</h1>")
	api.areAcknowledgedBy("ann", "bob", "bob")
	api.do(newRequestWithoutKey(path)).hasStatus(http.StatusOK).hasWords("ann, bob has acknowledged it already")
	api.do(usedAction(path, "eve")).hasStatus(http.StatusConflict).hasWords("ann, bob has acknowledged it already")
}

// The routes may lead nothing to the destination when somebody opens its link.
func TestALinkOfAStormNeverAcknowledgesWhatOthersAreNotifiedOf(t *testing.T) { // section 19.7
	const defaultRouteURL = "/api/v1/routes/" + defaultRoute
	for name, change := range map[string]func(*testAPI){
		"disabled":  func(api *testAPI) { api.patch(destinationURL, `{"enabled":false}`).hasStatus(http.StatusOK) },
		"deleted":   func(api *testAPI) { api.delete(destinationURL).hasStatus(http.StatusOK) },
		"no target": func(api *testAPI) { api.patch(defaultRouteURL, `{"destinations":[]}`).hasStatus(http.StatusOK) },
	} {
		t.Run(name, func(t *testing.T) {
			api := newTestAPI(t)
			path := addStorm(api)
			change(api)
			for _, request := range []*http.Request{newRequestWithoutKey(path), usedAction(path, "bob")} {
				api.do(request).hasStatus(http.StatusOK).hasWords("No stream of this message is sent here any more").lacksWords("<form")
			}
			api.areAcknowledgedBy("ann", "", "")
		})
	}
}

func TestALinkOfAStormThatIsNoLongerStoredSaysSo(t *testing.T) {
	api := newTestAPI(t)
	path := addStorm(api)
	api.db.Exec(api.t, `DELETE FROM deliveries`)
	api.do(newRequestWithoutKey(path)).hasStatus(http.StatusNotFound).hasWords("no longer stored")
}
