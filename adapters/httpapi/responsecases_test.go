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
	"time"

	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/domain/egress"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
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
	return []responseCase{
		{name + " on a broken store", 500, with(request, func(api *testAPI, _ *http.Request) { breaks(api, errors.New("disk full exploded")) })},
		{name + " on a slow store", 503, func(api *testAPI) *http.Request {
			r := request(api)
			breaks(api, context.DeadlineExceeded)
			late, cancel := context.WithDeadline(r.Context(), time.Now())
			api.t.Cleanup(cancel)
			return r.WithContext(late)
		}},
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
		{"batch of channels", 200, "POST", "/api/v1/channels/batch", `{"channels":[` + newChannel + `]}`, nil},
		{"batch", 200, "POST", "/api/v1/monitors/batch", `{"monitors":[` + another + `]}`, nil},
		{"list", 200, "GET", "/api/v1/monitors?trouble=true&blind=true", "", makeTrouble},
		{"get", 200, "GET", "/api/v1/monitors/ID", "", reportEvent},
		{"change", 200, "PATCH", "/api/v1/monitors/ID", `{"config":{"check_interval_sec":5}}`, nil},
		{"stop", 200, "DELETE", "/api/v1/monitors/ID", "", nil},
		{"events", 200, "GET", "/api/v1/monitors/ID/events", "", sendEvent},
		{"redeliver", 202, "POST", "/api/v1/monitors/ID/events/" + eventID + "/redeliver", "", reportEvent},
		{"webhook test", 200, "POST", "/api/v1/webhooks/test", `{"callback_url":"https://example.com/hook"}`, nil},
		{"deliveries", 200, "GET", "/api/v1/deliveries?state=delivered", "", sendEvent},
		{"service", 200, "GET", "/api/v1/service", "", blockEgress},
		{"presets", 200, "GET", "/api/v1/presets", "", nil},
		{"detectors", 200, "GET", "/api/v1/detectors", "", nil},
		{"preview", 200, "POST", "/api/v1/preview", registration, nil},
		{"incidents", 200, "GET", "/api/v1/incidents", "", addIncident},
		{"incident", 200, "GET", incidentURL, "", addIncident},
		{"acknowledge", 200, "POST", incidentURL + "/acknowledge", `{"op_id":"1","by":"ann"}`, addIncident},
		{"resolve", 200, "POST", incidentURL + "/resolve", `{"op_id":"1","by":"ann"}`, addIncident},
		{"note", 200, "POST", incidentURL + "/notes", `{"op_id":"1","by":"ann","text":"the encoder hangs"}`, addIncident},
		{"label", 200, "POST", incidentURL + "/label", `{"op_id":"1","by":"ann","false_positive":null}`, addIncident},
		{"timeline", 200, "GET", "/api/v1/monitors/ID/timeline?buckets=4&" + fourMinutes, "", addHistory},
		{"sessions", 200, "GET", "/api/v1/monitors/ID/sessions", "", addHistory},
		{"statistics", 200, "GET", "/api/v1/statistics?by=day&zone=Europe/Berlin&from=2024-01-15T00:00:00Z&monitor_id=ID", "", addHistory},
		{"list evidence", 200, "GET", "/api/v1/evidence", "", addEvidence},
		{"evidence", 200, "GET", evidenceURL, "", addEvidence},
		{"link", 200, "POST", evidenceURL + "/link", `{"variant":"onset"}`, addEvidence},
		{"class", 200, "POST", evidenceURL + "/class", `{"class":"case"}`, addEvidence},
		{"thumbnails watch", 200, "POST", "/api/v1/thumbnails/watch", `{"monitor_ids":["` + noSuchID + `"]}`, nil},
		{"thumbnail", 200, "GET", "/api/v1/monitors/ID/thumbnail", "", addThumbnail},
		{"references", 200, "GET", "/api/v1/monitors/ID/references", "", addReference},
		{"remove reference", 200, "DELETE", "/api/v1/monitors/ID/references/" + storedReference, "", addReference},
		{"image of a reference", 200, "GET", "/api/v1/monitors/ID/references/" + storedReference + "/image", "", addReference},
		{"references of a channel", 200, "GET", channelURL + "/references", "", func(api *testAPI, _ monitor.ID) { addChannelReference(api) }},
		{"remove reference of a channel", 200, "DELETE", channelURL + "/references/" + storedReference, "", func(api *testAPI, _ monitor.ID) { addChannelReference(api) }},
		{"image of a reference of a channel", 200, "GET", channelURL + "/references/" + storedReference + "/image", "", func(api *testAPI, _ monitor.ID) { addChannelReference(api) }},
		{"register channel", 201, "POST", "/api/v1/channels", newChannel, nil},
		{"preview channel", 200, "POST", "/api/v1/channels/preview", newChannel, nil},
		{"channels", 200, "GET", "/api/v1/channels?stopped=true", "", findStreams},
		{"channel", 200, "GET", channelURL, "", findStreams},
		{"change channel", 200, "PATCH", channelURL, `{"config":{"preset":"music"},"cookie_jar":null}`, findStreams},
		{"stop channel", 200, "DELETE", channelURL + "?running=keep", "", findStreams},
		{"events of a channel", 200, "GET", channelURL + "/events", "", findStreams},
		{"kinds", 200, "GET", "/api/v1/destination-kinds", "", nil},
		{"destinations", 200, "GET", "/api/v1/destinations", "", addRouting},
		{"create destination", 201, "POST", "/api/v1/destinations", strings.Replace(newDestination, "operations", "another", 1), addRouting},
		{"destination", 200, "GET", destinationURL, "", failDestination},
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
		{"duty", 200, "GET", "/api/v1/duty", "", addDuty},
		{"change duty", 200, "PATCH", "/api/v1/duty", `{"owner":"team"}`, addDuty},
		{"override duty", 201, "POST", "/api/v1/duty/overrides", `{"person":"Ben","to":"2024-01-15T23:00:00+09:00","by":"ann"}`, addDuty},
		{"end override", 204, "DELETE", overrideURL, "", addDuty},
		{"replay", 200, "POST", "/api/v1/deliveries/" + storedDelivery + "/replay", "", addRouting},
		{"replay failed", 200, "POST", "/api/v1/deliveries/replay", `{"since":"2024-01-15T20:00:00+09:00"}`, addRouting},
		{"keys", 200, "GET", "/api/v1/keys", "", useKey},
		{"create key", 201, "POST", "/api/v1/keys", `{"name":"ann","role":"operate"}`, nil},
		{"revoke key", 200, "DELETE", keyURL, "", addKey},
		{"cookie jars", 200, "GET", "/api/v1/cookie-jars", "", addCookieJar},
		{"delete cookie jar", 200, "DELETE", jarURL, "", addCookieJar},
		{"list logins of owners", 200, "GET", "/api/v1/ingest-logins", "", addIngestLogin},
		{"create login of an owner", 201, "POST", "/api/v1/ingest-logins", loginBody, nil},
		{"replace login of an owner", 200, "PUT", loginURL, tokenBody, addIngestLogin},
		{"delete login of an owner", 200, "DELETE", loginURL, "", addIngestLogin},
		{"return cookies", 200, "PUT", "/internal/v1/monitors/ID/cookies?generation=1", `{"name":"members","version":1,"accepted":true}`, useCookieJar},
		{"audit", 200, "GET", "/api/v1/audit", "", nil},
		{"feed", 200, "GET", "/api/v1/feed?after=", "", nil},
		{"assignment", 200, "GET", "/internal/v1/monitors/ID?generation=1", "", reportEvent},
		{"report", 200, "PUT", "/internal/v1/monitors/ID/status", `{"generation":1,"status":"monitoring"}`, nil},
		{"note of evidence", 200, "PUT", noteURL, "", func(api *testAPI, _ monitor.ID) { addAlert(api) }},
	}
}

func reportEvent(api *testAPI, id monitor.ID) {
	api.put("/internal/v1/monitors/"+string(id)+"/status", completeReport).hasStatus(http.StatusOK)
}

// sendEvent adds an event that was delivered by its second attempt.
func sendEvent(api *testAPI, id monitor.ID) {
	reportEvent(api, id)
	api.attempt(notify.Decision{RetryAt: now}, event.Attempt{At: now.Add(-time.Second), Error: "no answer"})
	api.attempt(notify.Decision{Delivered: true}, event.Attempt{At: now, Status: 200, Exchange: &event.Exchange{
		URL: "https://example.com/…", Header: map[string]string{"X-Timestamp": "1705316100"}, DurationMS: 12,
		Answer: &event.Answer{ContentType: "text/html", Body: "<b>thanks</b>", Truncated: true},
	}})
	api.db.Exec(api.t, `UPDATE monitor_events SET resolved_at = $1, incident_id = NULL, webhook_last_error = 'no answer'`, now)
	api.db.Exec(api.t, `UPDATE deliveries SET last_error = 'no answer'`)
}

// makeTrouble lets a monitor fail in the middle of an incident.
func makeTrouble(api *testAPI, id monitor.ID) {
	change := fmt.Sprintf(`{"metadata":{"name":"one"},"config":{"scheduled_start_time":%q}}`, now.Add(time.Hour).Format(time.RFC3339Nano))
	api.patch("/api/v1/monitors/"+string(id), change).hasStatus(http.StatusOK)
	api.db.Exec(api.t, `UPDATE monitors SET status = 'error', reason = 'worker_lost', ended_at = $3, stream_status = 'live', health_video = 'black', health_audio = 'ok',
		last_error = 'no answer', blind_since = $2, record_parked_since = $2, revision = 0 WHERE id = $1`, id, now, now.Add(time.Hour))
	api.db.Exec(api.t, `UPDATE monitor_stats SET last_check_at = $2 WHERE monitor_id = $1`, id, now)
	api.storeIncident(incidents.Incident{Incident: storedIncident(incidentID).Incident, MonitorID: id, StreamURL: streamURL})
}

func blockEgress(api *testAPI, _ monitor.ID) {
	blocked := egress.Blocked
	api.egress = []egress.Status{{Name: "proxy.example:3128", Source: monitor.YouTube, RestSec: 1740, Failures: 10, LastFailure: &blocked, Streams: 2, Questions: 9}, {Name: "direct", Source: monitor.YouTube, Budget: 60, PollIntervalSec: 45}}
	api.eventSub = &eventsub.Status{Transport: "conduit", ConnectedAt: new(ago(3600)), Subscriptions: 4, Missing: 2, UnknownLogins: []string{"nobody"}, MessageAt: new(ago(9)), Failure: new("the socket is lost")}
	api.youTubeAPI = &officialstate.Status{
		UnitsUsed: 7001, UnitsPerDay: 10_000, ResetsAt: now.Add(5 * time.Hour), Rounds: officialstate.Rounds{
			Streams: 120, AskedAt: new(ago(60)), NextAt: new(now.Add(5 * time.Hour)),
			Failure: &officialstate.Failure{Kind: officialstate.QuotaExceeded, Detail: "HTTP 403: quotaExceeded: You have exceeded your quota."},
		},
	}
	api.twitchAPI = &officialstate.Rounds{
		Streams: 12, AskedAt: new(ago(20)), NextAt: new(now.Add(10 * time.Second)), Failure: &officialstate.Failure{Kind: officialstate.KeyRefused, Detail: "HTTP 403: invalid client secret"},
	}
}

// ago returns the time this many seconds before now.
func ago(seconds int) time.Time { return now.Add(-time.Duration(seconds) * time.Second) }

const fourMinutes = "from=2024-01-15T19:52:00.123%2B09:00&to=2024-01-15T19:56:00.123%2B09:00"

// addHistory adds an hour of one monitor, with a minute and a half that a timeline shows.
func addHistory(api *testAPI, id monitor.ID) {
	api.db.Exec(api.t, `UPDATE monitors SET created_at = $2, reported_at = $3 WHERE id = $1`, id, ago(3600), ago(5))
	api.db.Exec(api.t, `INSERT INTO history_lanes VALUES ($1, 'video', 'ok', $2)`, id, ago(40))
	api.db.Exec(api.t, `INSERT INTO history_spans VALUES ($1, 'video', 'ok', $2, $3), ($1, 'video', 'black', $3, $4), ($1, 'segments', 'ok', $5, $6),
		($1, 'audio', 'silent', $2, $4)`, id, ago(90), ago(50), ago(40), ago(3600), ago(5))
	api.db.Exec(api.t, `INSERT INTO history_minutes (monitor_id, minute, since, luma_min, luma_mean, luma_max, luma_n) VALUES ($1, $2, $2, 1, 20.04, 99, 3)`, id, ago(55))
	for kind, at := range map[string]time.Time{"stream.started": ago(3600), "alert.blackout": ago(50)} {
		api.db.Exec(api.t, `INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
			VALUES (gen_random_uuid(), $1, $2, json_build_object('data', json_build_object('started_at', CAST($3 AS text))), '{}', 'sent', $4)`,
			id, kind, at.Format(time.RFC3339Nano), at.Add(30*time.Second))
	}
	stored := storedIncident(incidentID).Incident
	stored.OpenedAt = ago(20)
	api.storeIncident(incidents.Incident{Incident: stored, MonitorID: id, StreamURL: streamURL})
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
	if slices.Contains([]string{"batch", "batch of channels", "service", "presets", "detectors", "kinds", "feed"}, op.name) { // they need no store, or answer for each monitor
		breaks = (*testAPI).breakRateLimits
	}
	list := append(brokenCases(op.name, op.ready, breaks),
		responseCase{op.name + " valid", op.success, op.ready},
		responseCase{op.name + " with a wrong key", 401, with(op.ready, withWrongKey)})
	add := func(name string, status int, change func(*testAPI, *http.Request)) {
		list = append(list, responseCase{op.name + " " + name, status, with(op.ready, change)})
	}
	if strings.HasPrefix(op.path, "/internal/") {
		id := monitor.ID(firstID)
		if strings.Contains(op.path, noSuchID) {
			id = noSuchID
		}
		add("with a token of another monitor", 403, withToken(firstID+"0", 1))
		add("with a token of another generation", 403, withToken(id, 2))
	} else {
		add("after too many wrong keys", 429, func(api *testAPI, r *http.Request) {
			api.guessKeys()
			r.Header.Set(publicKeyHeader, "guess")
		})
		if !slices.Contains([]string{"stop", "stop channel", "thumbnail"}, op.name) { // section 12.3
			add("beyond the rate limit", 429, func(api *testAPI, _ *http.Request) { api.exhaustRateLimits() })
		}
	}
	if strings.Contains(op.path, "ID") {
		list = append(list, responseCase{op.name + " of no monitor", 404, request(op.method, strings.Replace(op.path, "ID", noSuchID, 1), op.body)})
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
	api.advanceGeneration(api.register("Q"))
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
		{"get when not checked", 200, after(registered, request("GET", first, ""))},
		{"list of two", 200, after(func(api *testAPI) { api.register("A"); api.register("B") }, request("GET", "/api/v1/monitors?q=YOUTUBE&limit=1&offset=1", ""))},
		{"webhook test of no receiver", 200, after(func(api *testAPI) { api.sender.Answer = event.Attempt{At: now, Error: "connection refused"} },
			request("POST", "/api/v1/webhooks/test", `{"callback_url":"https://example.com/hook"}`))},
		{"service without egress", 200, request("GET", "/api/v1/service", "")},
		{"assignment without a snapshot", 200, after(registered, request("GET", assignment+"?generation=1", ""))},
		{"redeliver no UUID", 404, after(registered, request("POST", first+"/events/latest/redeliver", ""))},
		{"no route", 404, request("GET", "/nowhere", "")},
		{"no method", 405, request("DELETE", "/api/v1/monitors", "")},
		{"from a page of another site", 403, func(api *testAPI) *http.Request {
			return sessionRequest(api.signIn(), http.MethodPost, "/api/v1/monitors", "Sec-Fetch-Site", "cross-site")
		}},
		{"with a key that may not", 403, func(api *testAPI) *http.Request {
			return with(register, withHeader(publicKeyHeader, api.createKey("ann", "view")))(api)
		}},
		{"register twice", 409, after(registered, register)},
		{"register with a key of another request", 409, after(registeredWithKey, with(other, withKey))},
		{"register again with a key", 201, after(registeredWithKey, with(register, withKey))},
		{"register with a bad key", 400, with(register, withHeader(idempotencyKey, "a key"))},
		{"register too many", 429, after(func(api *testAPI) { api.register("A"); api.register("B"); api.register("C") }, register)},
		{"change of an ended monitor", 409, after(func(api *testAPI) {
			api.register("Q")
			api.delete(first).hasStatus(http.StatusOK)
		}, request("PATCH", first, `{}`))},
		{"stop with a wrong release", 400, after(registered, request("DELETE", first+"?release=maybe", ""))},
		{"assignment of an old generation", 409, after(takenOver, request("GET", assignment+"?generation=1", ""))},
		{"report of an old generation", 409, after(takenOver, report)},
	}
	list = slices.Concat(list, evidenceCases(), incidentCases(), sessionCases(), thumbnailCases(), referenceCases(), cookieJarCases(), ingestLoginCases(), channelCases(), routingCases(), actionCases(), eventSubCases(), keyCases())
	for _, op := range operations() {
		list = append(list, op.cases()...)
	}
	return list
}
