package httpapi_test

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

// refusal is a request that is refused with the status 400. Its message has each of the words once, so it names
// everything that is wrong at once (decision A3).
type refusal struct {
	method, path, body string
	words              []string
	code               monitor.Code // default: monitor.InvalidConfig
	contentType        string       // default: application/json
}

func wrong(request, body string, words ...string) refusal {
	method, path, _ := strings.Cut(request, " ")
	return refusal{method: method, path: path, body: body, words: words}
}

// wrongURL is refused because of a URL.
func wrongURL(request, body string, words ...string) refusal {
	return coded(monitor.InvalidURL, request, body, words...)
}

// coded is refused with a code of its own.
func coded(code monitor.Code, request, body string, words ...string) refusal {
	r := wrong(request, body, words...)
	r.code = code
	return r
}

// wrongFile is a batch in CSV.
func wrongFile(body string, words ...string) refusal {
	r := wrong("POST "+batchPath, body, words...)
	r.contentType = "text/csv"
	return r
}

// refusals are wrong requests to an API that has what furnish stores.
func refusals() []refusal {
	return slices.Concat(wrongQueries(), wrongRegistrations(), wrongChanges(), wrongBatches(), wrongActions(), wrongRouting(), wrongReports())
}

func wrongQueries() (list []refusal) {
	const (
		monitors  = "GET /api/v1/monitors"
		events    = monitors + "/" + firstID + "/events"
		incidents = "GET /api/v1/incidents"
		timeline  = monitors + "/" + noSuchID + "/timeline"
		day       = "GET /api/v1/statistics?by=day"
		feed      = "GET /api/v1/feed"
		sent      = "GET " + deliveriesURL
		afterEnd  = "?ended=true&after=ZTEuMjAyNC0wMS0xNVQxMTo1NTowMFogbW9uLTAxOTBhNWM4ZTRiMDdkOGE5YzFkMmUzZjRhNWI2Yzdk"
		onInt     = "accepted is a whole number"
	)
	for _, of := range []string{monitors, events} {
		list = append(list,
			wrong(of+"?limit=0", "", "limit is 0; accepted is 1 to 200"), wrong(of+"?limit=201", "", "accepted is 1 to 200"), wrong(of+"?limit=1.5", "", onInt),
			wrong(of+"?limit=", "", onInt), wrong(of+"?limit=99999999999999999999", "", onInt), wrong(of+"?limit=%zz", "", "malformed"),
			wrong(of+"?offset=-1", "", "accepted is 0 to"), wrong(of+"?offset=2147483648", "", "accepted is 0 to"), wrong(of+"?offset=one", "", onInt))
	}
	for _, path := range []string{"destination-kinds", "destinations", "routes", "service", "presets", "detectors", "keys"} { // they take no parameter
		list = append(list, wrong("GET /api/v1/"+path+"?a=1", "", `"a" is not a parameter`))
	}
	return append(list,
		wrong(events+"?status=sent", "", "accepted are limit, offset"),
		wrong(monitors+"?status=running", "", "accepted is one of"), wrong(monitors+"?status=", "", "accepted is one of"),
		wrong(monitors+"?status=error&status=error", "", "given twice"),
		wrong(monitors+"?state=error", "", "accepted are status, active, ended, ended_from, ended_to, channel_id, trouble, blind, live, label, owner, q, after, limit, offset, config"),
		wrong(monitors+"?ended_from=2024-01-15T20:00:00Z", "", "with ended=true alone"), wrong(monitors+"?ended=true&ended_to=today", "", "ended_to is"),
		wrong(monitors+"?ended=true&ended_from=2024-01-15T20:00:00Z&ended_to=2024-01-15T20:00:00Z", "", "ended_from is not before"),
		wrong(monitors+"?ended=true&after=bTEuMg", "", "the next of an earlier page"), wrong(monitors+strings.Replace(afterEnd, "true", "false", 1), "", "the next of an earlier page"), // of the other order
		wrong(monitors+afterEnd+"&offset=1", "", "offset is not accepted with after"),
		wrong(monitors+"?channel_id=x", "", "channel_id is"), wrong(monitors+"?owner="+strings.Repeat("x", 101), "", "owner"),
		wrong(monitors+"?after=bTEuMg&offset=1", "", "offset is not accepted with after"),
		wrong(monitors+"?after=x", "", `after is "x"`), wrong(monitors+"?after=aTEuMQ", "", "the next of an earlier page"), // a cursor of incidents
		wrong(monitors+"?trouble=yes", "", `trouble is "yes"; accepted are true and false`),
		wrong(monitors+"?q="+strings.Repeat("x", 201), "", "at most 200 bytes"), wrong(monitors+"?q=%00", "", "without NUL"),

		wrong(incidents+"?state=closed&condition=overcast&severity=x&monitor_id=1&from=yesterday&to=2024-01-15T20:00:00&after=%2B&limit=0", "",
			"state is", "condition is", "severity is", "monitor_id is", "from is", "to is", "after is", "limit is"),
		wrong(incidents+"?severity=-1", "", "severity is"), wrong(incidents+"?severity=4", "", "severity is"), wrong(incidents+"?limit=201", "", "limit is"),
		wrong(incidents+"?after=aTEu", "", "after is"), wrong(incidents+"?after=aTEuMA", "", "after is"), wrong(incidents+"?state=", "", "state is"),
		wrong(incidents+"?sate=open", "", "sate"), wrong(incidents+"?from=2024-01-15T20:00:00Z&to=2024-01-15T20:00:00Z", "", "from"),
		wrong(incidents+"?from=1999-01-01T00:00:00Z", "", "from is"),

		wrong(timeline+"?buckets=0", "", "buckets is"), wrong(timeline+"?buckets=2001", "", "buckets is"), wrong(timeline+"?buckets=x", "", "buckets is"),
		wrong(timeline+"?from=today", "", "from is"), wrong(timeline+"?from=2024-01-15T10:00:00Z&to=2024-01-15T10:00:00Z", "", "from is"),
		wrong(timeline+"?from=2022-01-15T10:00:00Z", "", "from is"), wrong(timeline+"?to=0001-01-01T00:00:00Z", "", "to is"), wrong(timeline+"?bucket=3", "", `"bucket"`),
		wrong(monitors+"/"+noSuchID+"/sessions?limit=1", "", `"limit"`),
		wrong("GET /api/v1/monitors?label=team", "", "label is"), wrong("GET /api/v1/monitors?label=team:a&label=team:b", "", "label names"),
		wrong("GET /api/v1/incidents?label=Team:a", "", `called "Team"`), wrong("GET /api/v1/incidents?label=team:", "", "label is"),
		wrong("GET /api/v1/statistics?by=day&label=team:a&monitor_id="+firstID, "", "label is given with monitor_id"),
		wrong("GET /api/v1/statistics?by=day&group=a:b", "", "group has"),
		wrong("GET /api/v1/statistics", "", "by is"), wrong("GET /api/v1/statistics?by=week", "", "by is"),
		wrong(day+"&zone=Mars/Phobos", "", "zone is"), wrong(day+"&zone=../etc/passwd", "", "zone is"), wrong(day+"&zone=Local", "", "zone is"), wrong(day+"&zone=", "", "zone is"),
		wrong("GET /api/v1/statistics?by=hour&from=2023-10-01T00:00:00Z", "", "from"),

		wrong(sent+"?state=sent", "", "accepted are pending, delivered, failed, dropped"), wrong(sent+"?state=", "", "state is"),
		wrong(sent+"?limit=0", "", "1 to 100"), wrong(sent+"?limit=101", "", "1 to 100"), wrong(sent+"?limit=x", "", onInt),
		wrong(sent+"?monitor_id=1", "", "monitor_id is"), wrong(sent+"?event_id=1", "", "event_id is"), wrong(sent+"?incident_id=1", "", "incident_id is"),
		wrong(sent+"?event_id=urn:uuid:"+eventID, "", "event_id is"), wrong(sent+"?cursor=x", "", "cursor is"), wrong(sent+"?cursor=", "", "cursor is"),
		wrong(sent+"?cursor=ZDEuMQ", "", "cursor is"), wrong(sent+"?after=1", "", "accepted are monitor_id"),

		wrong(feed+"?after=9", "", "after is"), wrong(feed+"?follow=maybe", "", "follow is"), wrong(feed+"?since=1", "", "since"),
		wrong("GET /api/v1/audit?cursor=bTEuNDI", "", "cursor is"), // of another list
		wrong("GET /api/v1/evidence?event_id=1", "", "event_id is"),
		wrong("GET /api/v1/silences?state=over", "", "state is"))
}

func wrongRegistrations() []refusal {
	const register, preview, check, other = "POST /api/v1/monitors", "POST " + previewURL, "POST /api/v1/webhooks/test", `"https://example.com/hook"`
	with := func(fields string) string { return strings.TrimSuffix(registration, "}") + fields + "}" }
	urls := func(stream, callback string) string {
		return `{"stream_url":` + stream + `,"callback_url":` + callback + `}`
	}
	return []refusal{
		wrong(register, `{"stream_url":"https://example.com/dQw4w9WgXcQ","callback_url":7,"colour":"red","metadata":[],
			"config":{"check_interval_sec":0,"blackout_threshold_sec":"30","silence_db_threshold":1,"silence_threshold_sec":3601,
			"start_delay_tolerance_sec":-1,"scheduled_start_time":"tomorrow","sharpness":1,"on_callback_failure":""}}`,
			"stream_url: is not", "callback_url is 7; accepted is a string", `"colour" is not a field`, "metadata: is not an object",
			"config.check_interval_sec is 0; accepted is 1 to 300", `config.blackout_threshold_sec is "30"; accepted is a whole number, 1 to 3600`,
			"config.silence_db_threshold is 1; accepted is -100 to 0", "config.silence_threshold_sec is 3601; accepted is 1 to 3600",
			"config.start_delay_tolerance_sec is -1; accepted is 0 to 86400", `config.scheduled_start_time is "tomorrow"; accepted is`,
			`config."sharpness" is not a field`, "config.on_callback_failure is"),
		wrongURL(register, urls(`null`, other), "stream_url"),
		wrongURL(register, urls(`"https://www.youtube.com/@news"`, other), "stream_url"),
		coded(monitor.NobodyTold, register, urls(`"`+streamURL+`"`, `null`), "callback_url is null", "no route"),
		wrong(register, urls(`"`+streamURL+`"`, `""`), `callback_url is ""`, "or null"),
		wrongURL(register, urls(`"`+streamURL+`"`, `"file:///etc/passwd"`), "callback_url"),
		wrong(register, urls(`5`, other), "stream_url is 5; accepted is a string"),
		wrong(register, with(`,"metadata":null`), "metadata"),
		wrong(register, with(`,"labels":{"Team":"a","show":"","line":"a\u000ab"}`), `labels has a label called "Team"`, "labels.show has 0 characters", "labels.line has line breaks"),
		wrong(register, with(`,"labels":["team"]`), "labels is no object"),
		wrong(register, with(`,"labels":{"team":"a","team":"b"}`), "labels.team is given twice"),
		wrong(register, ``, "ends early"),
		wrong(register, `{"stream_url":"`, "ends early"),
		wrong(register, `stream_url=x`, "not valid JSON"),
		wrong(register, `[`+registration+`]`, "not a JSON object"),
		wrong(register, `null`, "not a JSON object"),
		wrong(register, `{"stream_url":"x",}`, "not valid JSON"),
		wrong(register, registration+registration, "after the end"),
		wrong(register, registration+`x`, "after the end"),
		wrong(register, with(`,"interval":5`), `"interval" is not a field; accepted are stream_url, callback_url, config, metadata`),
		wrong(register, with(`,"Metadata":{}`), `"Metadata" is not a field`),
		wrong(register, with(`,"stream_url":"`+streamURL+`"`), "stream_url is given twice"),
		wrong(register, with(`,"config":{"check_interval_sec":5,"check_interval_sec":6}`), "config.check_interval_sec is given twice"),
		wrong(register, with(`,"config":null`), "config is not a JSON object"),
		wrong(register, with(`,"config":"{}"`), "config is not a JSON object"),
		wrong(register, with(`,"config":{"scheduled_start_time":"2024-01-15T20:00:00Z","scheduled_end_time":"2024-01-15T19:00:00Z"}`), "must be after"),
		wrong(register, with(",\"metadata\":{\"a\":\"\xff\"}"), "the body is not valid UTF-8"),
		wrong(register, with(`,"metadata":`+strings.Repeat(`[`, 20000)), "not valid JSON"),
		wrong(preview, `{"stream_url":"`, "ends early"),
		wrongURL(check, `{}`, "callback_url"),
		wrongURL(check, `{"callback_url":"ftp://x"}`, "callback_url"),
		wrong(check, `{"url":"https://example.com"}`, "accepted are callback_url"),
	}
}

func wrongChanges() []refusal {
	const change = "PATCH /api/v1/monitors/" + firstID
	return []refusal{
		wrong(change, `{"stream_url":"https://youtu.be/jNQXAC9IVRw","colour":1,"callback_url":7,"metadata":[],"config":{"check_interval_sec":0,"blackout_threshold_sec":"30","sharpness":1,"scheduled_start_time":"tomorrow"}}`,
			"stream_url cannot be changed", `"colour" is not a field; accepted are stream_url, callback_url, config, metadata`, "callback_url is 7; accepted is a string",
			"metadata: is not an object", "config.check_interval_sec is 0", `config.blackout_threshold_sec is "30"`, `config."sharpness" is not a field`, `config.scheduled_start_time is "tomorrow"`),
		coded(monitor.NobodyTold, change, `{"callback_url":null}`, "callback_url is null"),
		wrong(change, `{"metadata":null}`, "metadata: is not an object"),
		wrong(change, `{"config":null}`, "config is not a JSON object"),
		wrong(change, `{"labels":null}`, "labels is no object"),
		wrong(change, `{"labels":{"team":1}}`, "labels is no object"),
		wrong(change, `{"config":{"on_callback_failure":null}}`, "config.on_callback_failure is"),
		wrong(change, `{"config":{"scheduled_start_time":"2024-01-15T21:00:00Z","scheduled_end_time":"2024-01-15T20:00:00Z"}}`, "config.scheduled_end_time must be after"),
		wrong(change, `{"config":{"scheduled_end_time":"2024-01-15T10:00:00Z"}}`, "which has passed"),
	}
}

func wrongBatches() []refusal {
	const post = "POST " + batchPath
	return []refusal{
		wrong(post, `{"monitors":[`, "ends early"),
		wrong(post, `{"monitors":{}}`, "array of 1 to 100"),
		wrong(post, `{"monitors":[]}`, "empty"),
		wrong(post, `{"streams":[]}`, "accepted are monitors"),
		wrong(post, `{"monitors":[`+strings.TrimSuffix(strings.Repeat(registration+",", 101), ",")+`]}`, "1 to 100"),
		wrong(post+"?dry_run=yes", `{"monitors":[`+registration+`]}`, "dry_run is"),
		wrong(post+"?dry_run=yes&update=yes&adopt=yes", `{"monitors":[`+registration+`]}`, "dry_run is"), // the first of several
		wrong(post+"?dry_run=", `{"monitors":[`+registration+`]}`, "dry_run is"),
		wrongFile("stream_url\n"+strings.Repeat("x\n", 101), "1 to 100"),
		wrongFile("", "names the columns"),
		wrongFile("stream_url\n", "empty"),
		wrongFile("stream_url,colour\nx,y\n", "column 2 is"),
		wrongFile("stream_url,stream_url\nx,y\n", "twice"),
		wrongFile("stream_url,callback_url\nx\n", "valid CSV"),
		wrongFile("stream_url\n\"x\n", "valid CSV"),
	}
}

func wrongActions() []refusal {
	const notes, label, watch = "POST " + incidentURL + "/notes", "POST " + incidentURL + "/label", "POST /api/v1/thumbnails/watch"
	many := strings.Repeat(`"`+noSuchID+`",`, 200) + `"` + noSuchID + `"`
	return []refusal{
		wrong(notes, `{}`, "op_id is", "by has", "text has"),
		wrong(notes, `{"op_id":1,"by":[],"text":{}}`, "op_id is", "by is", "text is"),
		wrong(notes, `{"op_id":"a b","by":" ","text":"\u0000"}`, "op_id is", "by has", "text has control"),
		wrong(notes, `{"op_id":"1","by":"`+strings.Repeat("é", 101)+`","text":"x","x":1}`, "by has 101", `"x" is not a field`),
		wrong(notes, `{"op_id":"`+strings.Repeat("a", 101)+`","by":"a","text":"`+strings.Repeat("a", 2001)+`"}`, "op_id is", "text has 2001"),
		wrong(label, `{"op_id":"1","by":"ann"}`, "false_positive"),
		wrong(label, `{"op_id":"1","by":"ann","false_positive":1}`, "false_positive"),
		wrong(label, `{"op_id":"1","by":"ann","false_positive":"true"}`, "false_positive"),
		wrong(watch, `{}`, "monitor_ids"),
		wrong(watch, `{"monitor_ids":[]}`, "monitor_ids"),
		wrong(watch, `{"monitor_ids":"a"}`, "monitor_ids"),
		wrong(watch, `{"monitor_ids":[`+many+`]}`, "monitor_ids"),
		wrong(watch, `{"monitor_ids":["mon-1"]}`, "monitor_ids"),
		wrong(watch, `{"monitor_ids":["`+noSuchID+`"],"x":1}`, `"x" is not a field`),
		wrong("POST "+evidenceURL+"/link", `{}`, "variant"),
		wrong("POST "+evidenceURL+"/class", `{"class":"eternal"}`, "class is"),
		wrong("POST /api/v1/keys", `{"name":"ann","role":"boss"}`, "role is"),
	}
}

func wrongRouting() []refusal {
	const (
		destination, route, silence = "POST /api/v1/destinations", "POST /api/v1/routes", "POST /api/v1/silences"
		explain, replay             = "POST /api/v1/routes/explain", "POST /api/v1/deliveries/replay"
		last                        = "/api/v1/routes/" + defaultRoute
	)
	return []refusal{
		wrong(destination, `{"name":"","kind":"webhook","language":"fr","config":{"topic":"x"},"secrets":{"url":"ftp://x"},"fallback":"`+storedDelivery+`","enabled":1,"owner":7,"colour":"red"}`,
			"name has 0", "language is", "config.topic", "secrets.url", "secrets.signing_key", "fallback is", "enabled is", "owner is", "colour"),
		wrong(destination, `{"config":5}`, "name", "kind", "config is"),
		wrong(destination, `{"name":"a","kind":"ntfy","config":5}`, "config"),
		wrong(destination, `{"name":"a","kind":"teams","secrets":{"workflow_url":"https://a.example/x"},"fallback":""}`, "fallback is"),
		wrong("PATCH "+destinationURL, `{"fallback":"`+storedWebhook+`"}`, "fallback is the webhook"),
		wrong("PATCH "+routeURL, `{"match":{"hints":["quieter"]},"destinations":["`+storedWebhook+`"]}`, `destinations has the webhook "hook", which gets no hints`),
		wrong("POST "+destinationURL+"/test", `{"example":"worse"}`, "accepted are opened, recovered"),
		wrong(route, `{"name":"x","match":{"events":["alert.rain"],"conditions":["overcast"],"min_severity":9,"monitors":["m"],"metadata":{"a":1},"labels":{"team":null},"colour":1},"destinations":["`+storedDelivery+`"],"delay_sec":90000,"repeat_sec":5,"continue":"yes"}`,
			"match.events has", "match.conditions has", "match.min_severity is", "match.monitors has", "match.metadata is", "match.labels.team is null", "colour", "destinations has", "delay_sec is", "repeat_sec is", "continue is"),
		wrong("PATCH "+last, `{"name":"last","match":{"min_severity":1},"continue":true}`, "name of", "match of", "continue of"), // section 19.2
		wrong("DELETE "+last, "", "default"),
		wrong("PUT /api/v1/routes/order", `{"routes":[]}`, "routes"),
		wrong(explain, `{"event_type":"x","conditions":["y"],"severity":7,"monitor_id":"z","metadata":[],"labels":{"A":"b"}}`, "event_type is", "conditions has", "severity is", "monitor_id is", "metadata is", `called "A"`),
		wrong(explain, `{"event_type":"channel.unreadable","conditions":["black"],"severity":1,"monitor_id":"`+noSuchID+`","channel_id":"`+storedChannel+`","metadata":{"a":1},"labels":{"team":"a"}}`, "conditions is given", "severity is given", "monitor_id is given", "metadata is given", "labels is given"),
		wrong(explain, `{"event_type":"alert.blackout","channel_id":"`+storedChannel+`"}`, "channel_id is given without"),
		wrong(explain, `{"channel_id":"latest"}`, "channel_id is"),
		wrong(explain, `{"event_id":"`+storedDelivery+`","severity":1}`, "event_id is given with other fields"),
		wrong(silence, `{"match":{"min_severity":"high"},"from":"now","to":5,"until_recovered":"x","window":{"weekdays":["monday"],"start":"2","end":"04:00","timezone":"Mars/Base"},"by":" ","comment":7}`,
			"match.min_severity is", "from is", "to is", "until_recovered is", "window.weekdays has", "window.start", "window.timezone", "by has", "comment is"),
		wrong(silence, `{"match":null,"window":{"weekdays":["mon"]},"by":"ann"}`, "match is", "window.start"),
		wrong(silence, `{"match":{"min_severity":2,"max_severity":1},"to":"2024-01-15T21:00:00+09:00","skip_until":"2024-01-15T20:00:00+09:00","by":"ann"}`, "match.max_severity is", "skip_until is given without window"),
		wrong(route, `{"name":"x","match":{"max_severity":1},"windows":[{"start":"25:00","end":"06:00","timezone":"Mars"},null],"on_duty":"yes"}`,
			"match.max_severity is for silences", "windows[0].start", "windows[0].timezone", "windows[1] is", "on_duty is"),
		wrong(route, `{"name":"x","windows":{}}`, "windows is"),
		wrong("PATCH "+last, `{"windows":[{"start":"22:00","end":"06:00","timezone":"UTC"}]}`, "windows of"),
		wrong(explain, `{"at":"tonight"}`, "at is"),
		wrong("GET /api/v1/duty?at=now", "", "at"),
		wrong("PATCH /api/v1/duty", `{"people":[{"name":"Ann","destination_id":"`+storedWebhook+`","windows":[{"start":"9"}]},{"name":"Ann","destination_id":"`+storedDelivery+`"},{"name":"Eve","destination_id":null},7],"owner":5,"overrides":[]}`,
			"people[0].destination_id is the webhook", "people[0].windows[0].start", "people[0].windows[0].end", "people[1].name is", "people[1].destination_id is", "people[2].destination_id is missing", "people[3] is", "owner is", "overrides"),
		wrong("POST /api/v1/duty/overrides", `{"person":"Eve","from":"2024-01-15T21:00:00+09:00","to":"2024-01-15T21:00:00+09:00"}`, "person is", "to must be after from", "by is missing"),
		wrong("POST /api/v1/duty/overrides", `{"person":5,"from":"now"}`, "person is", "from is", "to is missing", "by is missing"),
		wrong(silence, `{}`, "match is missing", "by ", "to is missing"),
		wrong(replay, `{"since":"yesterday","destination_id":"x"}`, "since is", "destination_id is"),
		wrong(replay, `{"since":null}`, "since"),
	}
}

func wrongReports() (list []refusal) {
	const worker = "/internal/v1/monitors/" + firstID
	const report = "PUT " + worker + "/status"
	for _, query := range []string{"", "generation=0", "generation=-1", "generation=x", "generation=2147483648"} {
		list = append(list, wrong("GET "+worker+"?"+query, "", "generation is"))
	}
	for _, picture := range []string{"", "<script>", string(jpegOf(16, 9)[:20]), string(jpegOf(257, 9)), string(jpegOf(16, 145))} {
		r := wrong("PUT "+putThumbnailURL, picture)
		r.contentType = "image/jpeg"
		list = append(list, r)
	}
	event := `{"generation":1,"events":[{"event_id":"` + eventID + `","event_type":"%","timestamp":"2024-01-15T11:30:00Z","data":null}]}`
	return append(list,
		wrong("GET "+worker+"?gen=1", "", `"gen" is not a parameter`),
		wrong(report, strings.Replace(completeReport, `"generation": 1,`, "", 1), "generation is 0; accepted is 1 or more"),
		wrong(report, `[]`, "not a JSON object"),
		wrong(report, `{"status":`, "not valid JSON"),
		wrong(report, `{}{}`, "not valid JSON"),
		wrong(report, `{"generation":1,"status":"running"}`, "status is"),
		wrong(report, `{"generation":1,"status":1}`, "status cannot be a JSON number"),
		wrong(report, `{"generation":1,"status":null}`, "status is null or empty"),
		wrong(report, `{"generation":1,"statistics":{"silence_events":1.5}}`, "silence_events cannot be"),
		wrong(report, `{"generation":1,"health":{"video":"silent"}}`, "health.video"),
		wrong(report, `{"generation":1,"at":"now"}`, `time "now"`),
		wrong(report, strings.Replace(event, "%", "stream.ended", 1), "null"),
		wrong(report, strings.Replace(event, "%", "alert.unknown", 1), "alert.unknown"),
		wrong(report, `{"generation":1,"snapshot":"`+strings.Repeat("x", 256<<10)+`"}`, "snapshot"),
		wrong("PUT "+strings.Replace(noteURL, "generation=1", "generation=x", 1), "", "generation is"))
}

const storedWebhook = "0190a5d4-0000-7000-8000-000000000004"

// furnish stores one of each object.
func furnish(api *testAPI) {
	api.register("Q")
	addRouting(api, "")
	addIncident(api, "")
	addEvidence(api, "")
	hook := api.post("/api/v1/destinations", `{"name":"hook","kind":"webhook","secrets":{"url":"https://hooks.example.com/x","signing_key":"0123456789abcdef"}}`)
	if id := hook.hasStatus(http.StatusCreated).json()["destination_id"]; id != storedWebhook {
		api.t.Fatalf("the webhook is %v", id)
	}
}

func TestEverythingThatIsWrongIsNamedAtOnce(t *testing.T) { // decisions A3, A7; sections 3.1, 3.4, 16.6, 19
	api := newTestAPI(t, rateLimits(0, 0))
	furnish(api)
	before, version := api.actions(), api.db.RoutingVersion(t)
	for _, c := range refusals() {
		t.Run(c.method+" "+c.path+" "+c.body[:min(len(c.body), 40)], func(t *testing.T) {
			api.t = t
			r := newRequest(c.method, c.path, strings.NewReader(c.body))
			r.Header.Set("Content-Type", cmp.Or(c.contentType, "application/json"))
			a := api.do(r)
			a.hasError(http.StatusBadRequest, cmp.Or(c.code, monitor.InvalidConfig))
			detail := a.json()["error"].(map[string]any)
			message := detail["message"].(string)
			if of := eachProblem(detail, "message"); len(of) > 0 && strings.Join(of, ". ") != message {
				t.Errorf("its problems are %q, its message is %s", of, message)
			}
			for _, word := range c.words {
				if strings.Count(message, word) != 1 {
					t.Errorf("%q is not named once: %s", word, message)
				}
			}
		})
	}
	api.t = t
	if got := api.actions(); !slices.Equal(got, before) || api.db.RoutingVersion(t) != version || len(api.workers.Started()) != 1 {
		t.Errorf("something was done: %v", got)
	}
}

// eachProblem returns what each problem of an error says in one of its fields.
func eachProblem(detail map[string]any, name string) (all []string) {
	problems, _ := detail["problems"].([]any)
	for _, p := range problems {
		said, _ := p.(map[string]any)[name].(string)
		all = append(all, said)
	}
	return all
}

func TestARefusalNamesItsFields(t *testing.T) { // decision A3
	api := newTestAPI(t, rateLimits(0, 0))
	furnish(api)
	for _, c := range []struct {
		request, body string
		want          []string
	}{
		{"POST /api/v1/destinations", `{"name":"a","kind":"email","language":"en","config":{"host":"a.example","from":"a","to":"b@c.example"}}`, []string{"config.from"}},
		{"POST /api/v1/destinations", `{"name":"a","kind":"slack","language":"en","secrets":{"bot_token":"x","webhook_url":"ftp://x"}}`, []string{"secrets.webhook_url", "secrets.bot_token"}},
		{"POST /api/v1/destinations", `{"name":"hook","kind":"ntfy","language":"en","config":{"topic":"x"}}`, []string{"name"}},
		{"POST /api/v1/monitors", `{"stream_url":"x","callback_url":null,"config":{"check_interval_sec":0}}`, []string{"stream_url", "config.check_interval_sec", "callback_url"}},
		{"POST /api/v1/silences", `{"match":{"labels":{"A":"b"}},"window":{"start":"22:00","end":"06:00","timezone":"Mars"},"by":"ann"}`, []string{"match.labels", "window.timezone"}},
		{"GET /api/v1/destinations/0190a5d4-0000-7000-8000-00000000ffff", "", nil},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		r := newRequest(method, path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		a := api.do(r)
		detail, _ := a.json()["error"].(map[string]any)
		if got := eachProblem(detail, "field"); detail == nil || !slices.Equal(got, c.want) {
			t.Errorf("%s %s: the fields are %q, want %q: %s", c.request, c.body, got, c.want, a.body)
		}
	}
}

func TestPagesOfAListBeginWhereTheRequestSays(t *testing.T) { // section 3.4
	api := newTestAPI(t)
	for _, path := range []string{"/api/v1/monitors", "/api/v1/monitors/" + string(api.register("Q")) + "/events"} {
		for _, page := range [][2]string{{"1", "0"}, {"200", "2147483647"}} {
			query := url.Values{"limit": page[:1], "offset": page[1:]}.Encode()
			shown := api.get(path + "?" + query).hasStatus(http.StatusOK).body
			expect.Text(t, "the answer", string(shown), `"limit":`+page[0]+`,"offset":`+page[1]+`}`)
		}
	}
	api.get("/api/v1/monitors?status=error&after=bTEuMg").hasStatus(http.StatusOK)
}
