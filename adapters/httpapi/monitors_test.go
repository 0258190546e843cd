package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const firstID = "mon-00000000000070008000000000000001"

func TestATooLargeBodyIsRefused(t *testing.T) {
	padded := func(n int) string { return registration + strings.Repeat(" ", n-len(registration)) }
	t.Run("64 KiB are accepted", func(t *testing.T) {
		newTestAPI(t).post("/api/v1/monitors", padded(64<<10)).hasStatus(http.StatusCreated)
	})
	t.Run("one byte more is refused", func(t *testing.T) {
		newTestAPI(t).post("/api/v1/monitors", padded(64<<10+1)).hasError(http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE", "65536").hasHeaders("Connection", "close")
	})
	t.Run("the internal API accepts 1 MiB", func(t *testing.T) {
		api := newTestAPI(t)
		path := "/internal/v1/monitors/" + string(api.register("Q")) + "/status"
		api.put(path, `{"generation":1}`+strings.Repeat(" ", 1<<20-16)).hasStatus(http.StatusOK)
		api.put(path, `{"generation":1}`+strings.Repeat(" ", 1<<20-15)).hasError(http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE", "1048576")
	})
}

func TestOnlyJSONBodiesAreAccepted(t *testing.T) {
	for given, accepted := range map[string]bool{
		"":                                  true,
		"application/json":                  true,
		"Application/JSON; charset=UTF-8":   true,
		"application/json; charset=latin-1": false,
		"text/plain":                        false,
		"application/x-www-form-urlencoded": true, // set by curl -d
		"multipart/form-data; boundary=x":   false,
		";;;":                               false,
	} {
		t.Run(strconv.Quote(given)+" is accepted: "+strconv.FormatBool(accepted), func(t *testing.T) {
			r := newRequest("POST", "/api/v1/monitors", strings.NewReader(registration))
			r.Header.Del("Content-Type")
			if given != "" {
				r.Header.Set("Content-Type", given)
			}
			a := newTestAPI(t).do(r)
			if accepted {
				a.hasStatus(http.StatusCreated)
				return
			}
			a.hasError(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", "application/json")
		})
	}
	t.Run("a compressed body is refused", func(t *testing.T) {
		r := newRequest("POST", "/api/v1/monitors", strings.NewReader(registration))
		r.Header.Set("Content-Encoding", "gzip")
		newTestAPI(t).do(r).hasError(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
	})
}

func TestAnUnknownMonitorIsNotFound(t *testing.T) {
	for name, id := range map[string]string{"is unknown": noSuchID, "has another form": "42", "has capitals": strings.ToUpper(firstID), "contains SQL": "'%20or%201=1--"} {
		t.Run("answers 404 for an id that "+name, func(t *testing.T) {
			api := newTestAPI(t)
			api.register("Q")
			api.get("/api/v1/monitors/"+id).hasError(http.StatusNotFound, monitor.NotFound)
			api.delete("/api/v1/monitors/"+id).hasError(http.StatusNotFound, monitor.NotFound)
		})
	}
}

func TestAChangeKeepsWhatItLeavesOut(t *testing.T) { // section 16.6
	api := newTestAPI(t)
	created := api.post("/api/v1/monitors", strings.TrimSuffix(registration, "}")+
		`,"config":{"silence_db_threshold":-40,"scheduled_start_time":"2024-01-15T20:00:00+09:00","scheduled_end_time":"2024-01-15T23:00:00+09:00"},"metadata":{"name":"one"}}`)
	id := monitor.ID(created.hasStatus(http.StatusCreated).json()["monitor_id"].(string))
	path := "/api/v1/monitors/" + string(id)

	a := api.patch(path, `{"config":{"blackout_threshold_sec":12,"scheduled_end_time":null}}`).hasStatus(http.StatusOK)
	config := a.json()["config"].(map[string]any)
	for field, want := range map[string]any{
		"blackout_threshold_sec": 12.0, "silence_db_threshold": -40.0, "check_interval_sec": 10.0,
		"scheduled_start_time": "2024-01-15T20:00:00+09:00", "scheduled_end_time": nil,
	} {
		expect.Equal(t, field, config[field], want)
	}
	api.patch(path, `{"callback_url":"https://example.com/night","metadata":{"name":"two"}}`).hasStatus(http.StatusOK)
	expect.Equal(t, "the revision is shown as", api.get(path).json()["revision"], 2.0)
	m, err := api.store.Get(t.Context(), id)
	if err != nil || m.CallbackURL != "https://example.com/night" || string(m.Metadata) != `{"name":"two"}` ||
		m.Config.ThresholdSec("blackout") != 12 || m.Config.ScheduledStartTime == nil || m.Revision != 2 {
		t.Errorf("stored is %+v, %v", m, err)
	}
	expect.Equal(t, "the answer to a change that changes nothing", string(api.get(path).body), string(api.patch(path, `{}`).body))
	if m, _ := api.store.Get(t.Context(), id); m.Revision != 2 {
		t.Errorf("the revision is %d after a change that changes nothing", m.Revision)
	}
}

func TestAPauseIsShownUntilItsEnd(t *testing.T) { // section 16.9
	api := newTestAPI(t)
	id := api.register("Q")
	path := "/api/v1/monitors/" + string(id)
	until := now.Add(time.Hour).Truncate(time.Millisecond)
	pause := fmt.Sprintf(`{"paused_until":%q}`, until.Format(time.RFC3339Nano))
	inDatabase := func(shift string) { // whose clock is another one than that of the test
		t.Helper()
		api.db.Exec(t, `UPDATE monitors SET paused_until = now() + $2::interval WHERE id = $1`, id, shift)
	}
	isShown := func(what string, paused bool) {
		t.Helper()
		expect.Equal(t, what, api.get(path).json()["paused_until"] != nil, paused)
		expect.Equal(t, what+", in the list", api.get("/api/v1/monitors").json()["monitors"].([]any)[0].(map[string]any)["paused_until"] != nil, paused)
	}
	isShown("before", false)
	status := api.get(path).json()["status"]
	api.patch(path, pause).hasStatus(http.StatusOK)
	api.db.Exec(t, `UPDATE monitors SET paused_until = paused_until + (now() - $2) WHERE id = $1`, id, now) // what was stored, by its clock
	isShown("in the pause", true)
	stored := must.Get(api.store.Get(t.Context(), id))(t).Pause.Until
	api.patch(path, fmt.Sprintf(`{"labels":{"team":"a"},"paused_until":%q}`, stored.Format(time.RFC3339Nano))).hasStatus(http.StatusOK)
	isShown("after another change", true)
	expect.Equal(t, "the status", api.get(path).json()["status"], status)
	inDatabase("0")
	isShown("after its end", false)
	inDatabase("1 hour")
	api.patch(path, `{"paused_until":null}`).hasStatus(http.StatusOK)
	isShown("after it was ended", false)
	for body, want := range map[string]string{
		`{"paused_until":"2024-01-15T10:00:00Z"}`: "accepted is a time in the future, at most 7 days ahead",
		`{"paused_until":"2024-01-23T10:00:00Z"}`: "at most 7 days ahead (2024-01-22T10:55:00Z)",
		`{"paused_until":"tomorrow"}`:             "paused_until is",
		`{"paused_until":0}`:                      "paused_until is",
	} {
		api.patch(path, body).hasError(http.StatusBadRequest, monitor.InvalidConfig, want)
	}
	api.delete(path).hasStatus(http.StatusOK)
	api.patch(path, pause).hasError(http.StatusConflict, monitor.Ended)
	expect.Equal(t, "a registration with a pause", api.post("/api/v1/monitors", strings.TrimSuffix(registration, "}")+`,"paused_until":null}`).status, http.StatusBadRequest)
}

func TestARepeatedChangeIsNotCheckedAgain(t *testing.T) { // section 16.6
	api := newTestAPI(t)
	id := api.register("Q")
	change := `{"callback_url":"https://example.com/other","config":{"scheduled_end_time":"2024-01-15T12:00:00Z"}}`
	api.patch("/api/v1/monitors/"+string(id), change).hasStatus(http.StatusOK)
	api.policy = monitor.Errorf(monitor.InvalidURL, "callback_url: 10.0.0.1 is a private address")
	past := now.Add(-time.Hour).Truncate(time.Millisecond)
	api.db.Exec(t, `UPDATE monitors SET config = jsonb_set(config, '{scheduled_end_time}', to_jsonb($2::text)) WHERE id = $1`, id, past.Format(time.RFC3339Nano))
	api.patch("/api/v1/monitors/"+string(id), strings.Replace(change, "12:00:00Z", past.Format("15:04:05.000000000Z07:00"), 1)).hasStatus(http.StatusOK)
	api.patch("/api/v1/monitors/"+string(id), `{"callback_url":"https://example.com/third"}`).hasError(http.StatusBadRequest, monitor.InvalidURL, "10.0.0.1")
}

func TestMonitorsAreListedInPages(t *testing.T) { // section 3.4
	api := newTestAPI(t)
	ids := []monitor.ID{api.register("A"), api.register("B"), api.register("C")}
	got := api.pages("/api/v1/monitors?limit=2", "monitors", "monitor_id", "after")
	if want := []string{string(ids[2]), string(ids[1]), string(ids[0])}; strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the pages are %v, want %v", got, want)
	}
}

func TestATimelineHas288BucketsByDefault(t *testing.T) {
	api := newTestAPI(t)
	buckets := api.list("/api/v1/monitors/"+string(api.register("Q"))+"/timeline", "buckets")
	expect.Equal(t, "buckets", len(buckets), 288)
}

// batchResults is the response to a batch.
type batchResults struct {
	DryRun                       bool `json:"dry_run"`
	Registered, Changed, Refused int
	Results                      []struct {
		Index     int
		StreamURL string `json:"stream_url"`
		MonitorID string `json:"monitor_id"`
		Status    string
		Changed   []monitor.Difference
		Error     *struct{ Code, Message string }
	}
}

func (api *testAPI) postBatch(path, contentType, body string) (response, batchResults) {
	api.t.Helper()
	r := newRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	answer := api.do(r)
	var results batchResults
	if answer.status == http.StatusOK {
		must.Do(api.t, json.Unmarshal(answer.body, &results))
	}
	return answer, results
}

func TestEndedStreamsAreReadPageByPageFromTheNewestEnd(t *testing.T) { // section 16.6
	api := newTestAPI(t, rateLimits(0, 0))
	var want []string
	for _, last := range []string{"A", "B", "C"} {
		id := api.register(last)
		api.delete("/api/v1/monitors/" + string(id)).hasStatus(http.StatusOK)
		want = append([]string{string(id)}, want...)
	}
	api.register("D")
	const list = "/api/v1/monitors?limit=1&ended=true"
	expect.Equal(t, "the ended ones", strings.Join(api.pages(list, "monitors", "monitor_id", "after"), ","), strings.Join(want, ","))
	for query, found := range map[string]int{
		"ended_from=2000-01-01T00:00:00%2B09:00": 3, "ended_to=2000-01-01T00:00:00Z": 0, "status=stopped&q=XcB": 1, "status=error": 0,
		"channel_id=0190A5D8-1C2B-7D8A-9C1D-2E3F4A5B6C7D": 0,
	} {
		page := api.get(list + "&" + query).hasStatus(http.StatusOK).json()
		expect.Equal(t, "how many have "+query, page["pagination"].(map[string]any)["total"], any(float64(found)))
	}
}

const batchPath = "/api/v1/monitors/batch"

func TestEachRegistrationOfABatchHasItsOwnResult(t *testing.T) { // section 16.6
	other := func(id string) string { return strings.Replace(registration, "dQw4w9WgXcQ", id, 1) }
	body := `{"monitors":[` + registration + `,[],{"stream_url":7,"callback_url":"https://example.com/"},` + registration + `,` +
		other("aaaaaaaaaaa") + `,` + other("bbbbbbbbbbb") + `,` + other("ccccccccccc") + `]}`
	codes := []monitor.Code{"", monitor.InvalidConfig, monitor.InvalidConfig, monitor.Duplicate, "", "", monitor.MaxMonitorsExceeded} // beyond 3
	for _, dryRun := range []bool{true, false} {
		api := newTestAPI(t)
		path := fmt.Sprintf("%s?dry_run=%t", batchPath, dryRun)
		_, got := api.postBatch(path, "application/json", body)
		if got.DryRun != dryRun || got.Registered != 3 || got.Refused != 4 || len(got.Results) != len(codes) {
			t.Fatalf("got %+v", got)
		}
		for i, want := range codes {
			r := got.Results[i]
			if r.Index != i || (r.Error == nil) != (want == "") || r.Error != nil && r.Error.Code != string(want) {
				t.Errorf("result %d is %+v, want %q", i, r, want)
			}
			if registered := want == "" && !dryRun; registered != (r.MonitorID != "") {
				t.Errorf("result %d has the monitor_id %q", i, r.MonitorID)
			}
		}
		if message := got.Results[2].Error.Message; !strings.Contains(message, "stream_url is 7") || strings.Contains(message, "callback_url") {
			t.Errorf("the refusal is %q", message)
		}
		if stored := api.list("/api/v1/monitors", "monitors"); (len(stored) == 3) == dryRun {
			t.Errorf("%d monitors are stored, dry run %t", len(stored), dryRun)
		}
		if started := len(api.workers.Started()); (started == 3) == dryRun {
			t.Errorf("%d workers were started, dry run %t", started, dryRun)
		}
	}
}

func TestARefusedDuplicateNamesWhatIsThereAlready(t *testing.T) { // section 3.5
	api := newTestAPI(t, rateLimits(0, 0))
	const monitor, channel, other = "/api/v1/monitors", "/api/v1/channels", `{"stream_url":"https://youtu.be/AAAAAAAAAAA","callback_url":"https://example.com/hook"}`
	const ofChannel = `{"channel":"@one","callback_url":"https://example.com/hook"}`
	watched := api.post(monitor, registration).hasStatus(http.StatusCreated).json()["monitor_id"]
	registered := api.post(channel, ofChannel).hasStatus(http.StatusCreated).json()["channel_id"]
	existing := func(path, body string) (ids []any) {
		var find func(any)
		find = func(in any) {
			switch in := in.(type) {
			case map[string]any:
				if id, has := in["existing_id"]; has {
					ids = append(ids, id)
				}
				for _, of := range in {
					find(of)
				}
			case []any:
				for _, of := range in {
					find(of)
				}
			}
		}
		find(api.post(path, body).json())
		return ids
	}
	for request, want := range map[[2]string][]any{
		{monitor, registration}: {watched}, {previewURL, registration}: {watched},
		{batchPath, `{"monitors":[` + registration + `]}`}:                                               {watched},
		{batchPath + "?dry_run=true", `{"monitors":[` + registration + `,` + other + `,` + other + `]}`}: {watched}, // the third comes before in the batch
		{channel, ofChannel}: {registered}, {channel + "/preview", ofChannel}: {registered},
		{channel + "/batch?dry_run=true", `{"channels":[` + ofChannel + `]}`}: {registered},
		{monitor, `{"stream_url":"x"}`}:                                       nil,
	} {
		expect.Equal(t, fmt.Sprint("existing_id of ", request), fmt.Sprint(slices.Compact(existing(request[0], request[1]))), fmt.Sprint(want)) // an error has it, and its problem
	}
}

func TestABatchChangesWhatIsWatchedAlready(t *testing.T) { // section 16.6
	api := newTestAPI(t, rateLimits(0, 0))
	api.post("/api/v1/monitors", strings.TrimSuffix(registration, "}")+`,"config":{"blackout_threshold_sec":20}}`).hasStatus(http.StatusCreated)
	const file = "stream_url,callback_url,blackout_threshold_sec,labels.team,on_callback_failure\r\n" +
		streamURL + ",https://example.com/other,10,a,\r\n" + // watched already
		"https://youtu.be/AAAAAAAAAAA,https://example.com/hook,,,\r\n" +
		streamURL + ",,10000,,\r\n" // wrong
	send := func(parameters string) string {
		_, got := api.postBatch(batchPath+parameters, "text/csv", file)
		said := fmt.Sprint(got.Registered, " ", got.Changed, " ", got.Refused)
		for _, r := range got.Results {
			said += fmt.Sprint("; ", r.MonitorID != "", " ", r.Changed)
			if r.Error != nil {
				said += " " + r.Error.Code
			}
		}
		return said
	}
	const wrong = "; false [] INVALID_CONFIG"
	expect.Equal(t, "a batch without update", send("?dry_run=true"), "1 0 2; false [] DUPLICATE_MONITOR; false []"+wrong)
	changed := "; true [callback_url config.blackout_threshold_sec 20 → 10 labels.team none → a]"
	const wrongChange = "; true [] INVALID_CONFIG" // it names the monitor
	expect.Equal(t, "a dry run", send("?dry_run=true&update=true"), "1 1 1"+changed+"; false []"+wrongChange)
	expect.Equal(t, "monitors after the dry run", len(api.list("/api/v1/monitors", "monitors")), 1)
	expect.Equal(t, "the update", send("?update=true"), "1 1 1"+changed+"; true []"+wrongChange)
	expect.Equal(t, "the update again", send("?update=true"), "0 0 1; true []; true []"+wrongChange)
	m := api.list("/api/v1/monitors", "monitors")[1].(map[string]any)
	expect.Equal(t, "the revision, and the labels", fmt.Sprint(m["revision"], m["labels"]), "1 map[team:a]")
}

func TestABatchGivesAPresetOnlyToWhatHasAnother(t *testing.T) { // section 16.6
	for list, registered := range map[string]string{
		"monitors": `{"stream_url":"` + streamURL + `","callback_url":"https://example.com/hook","config":{"preset":"game","blackout_threshold_sec":45}}`,
		"channels": `{"channel":"@one","callback_url":"https://example.com/hook","config":{"preset":"game","blackout_threshold_sec":45}}`,
	} {
		api := newTestAPI(t, rateLimits(0, 0))
		api.post("/api/v1/"+list, registered).hasStatus(http.StatusCreated)
		what, place, _ := strings.Cut(strings.Trim(strings.Split(registered, ",")[0], `{"`), `":"`)
		for _, c := range [][2]string{
			{"game,", ""},
			{"game,50", "config.blackout_threshold_sec 45 → 50"},
			{"music,", "config.blackout_threshold_sec 45 → 30"},
			{"music,45", "config.preset game → music"},
		} {
			_, got := api.postBatch("/api/v1/"+list+"/batch?update=true&dry_run=true", "text/csv", what+",preset,blackout_threshold_sec\n"+place+","+c[0]+"\n")
			said := fmt.Sprint(got.Results[0].Changed)
			if c[1] == "" && said != "[]" || !strings.Contains(said, c[1]) || strings.Contains(c[0], ",45") && strings.Contains(said, "blackout") {
				t.Errorf("%s with %s: the changes are %s, want %s", list, c[0], said, c[1])
			}
		}
		_, got := api.postBatch("/api/v1/"+list+"/batch?update=true", "application/json", `{"`+list+`":[`+strings.Replace(registered, `,"blackout_threshold_sec":45`, "", 1)+`]}`)
		expect.Equal(t, "changes of "+list+" in JSON", fmt.Sprint(got.Results[0].Changed), "[]")
	}
}

func TestTheSampleFileCanBeImported(t *testing.T) { // section 16.6
	file, err := os.ReadFile("ui/public/monitors.csv")
	must.Do(t, err)
	api := newTestAPI(t)
	api.post("/api/v1/destinations", newDestination).hasStatus(http.StatusCreated)
	api.patch("/api/v1/routes/"+defaultRoute, `{"destinations":["`+storedDestination+`"]}`).hasStatus(http.StatusOK)
	answer, got := api.postBatch(batchPath+"?dry_run=true", "text/csv", string(file))
	if got.Registered != 3 || got.Refused != 0 {
		t.Errorf("the answer is %s", answer.body)
	}
}

func TestACSVFileIsRegisteredLikeJSON(t *testing.T) { // section 16.6
	api := newTestAPI(t)
	_, got := api.postBatch(batchPath, "text/csv; charset=utf-8", "\ufeffstream_url,callback_url,blackout_threshold_sec,silence_db_threshold,scheduled_start_time,metadata.name,metadata.note\r\n"+
		streamURL+",https://example.com/hook,20,-42.5,2030-01-15T20:00:00+09:00,\"Kanata, \"\"live\"\"\",\r\n"+
		strings.Replace(streamURL, "dQ", "aQ", 1)+",https://example.com/hook,soon,,,,\r\n")
	if got.Registered != 1 || got.Refused != 1 || !strings.Contains(got.Results[1].Error.Message, `blackout_threshold_sec is "soon"`) {
		t.Fatalf("got %+v", got)
	}
	stored := api.get("/api/v1/monitors/" + got.Results[0].MonitorID)
	var m struct {
		Config   map[string]any
		Metadata map[string]string
	}
	must.Do(t, json.Unmarshal(stored.body, &m))
	if m.Config["blackout_threshold_sec"] != 20.0 || m.Config[detector.SilenceDB] != -42.5 || m.Config["scheduled_start_time"] != "2030-01-15T20:00:00+09:00" ||
		len(m.Metadata) != 1 || m.Metadata["name"] != `Kanata, "live"` {
		t.Errorf("stored is %s", stored.body)
	}
}

func TestAHeaderOfManyColumnsIsRefusedInTime(t *testing.T) { // its names were compared in pairs
	var header strings.Builder
	for i := 0; header.Len() < 2<<20-64; i++ {
		fmt.Fprintf(&header, "metadata.%x,", i)
	}
	api := newTestAPI(t)
	api.unvalidated = true
	answer := make(chan response, 1)
	go func() {
		r := newRequest("POST", batchPath, strings.NewReader(header.String()+"stream_url\nx\n"))
		r.Header.Set("Content-Type", "text/csv")
		answer <- api.do(r)
	}()
	select {
	case got := <-answer:
		if got.status != http.StatusBadRequest || !strings.Contains(string(got.body), "1 to 200") {
			t.Errorf("%d %s", got.status, got.body)
		}
	case <-time.After(time.Minute):
		t.Fatal("no answer in a minute")
	}
}

func TestABatchTakesTheRateLimitOfOneRegistration(t *testing.T) { // section 16.6
	api := newTestAPI(t, rateLimits(2, 1))
	for _, status := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests} {
		answer, _ := api.postBatch(batchPath, "application/json", `{"monitors":[`+registration+`,`+registration+`]}`)
		answer.hasStatus(status)
	}
}

func TestAStreamMayHaveNoCallbackIfARouteTellsOfIt(t *testing.T) { // section 3.1
	api := newTestAPI(t, rateLimits(0, 0))
	none := strings.Replace(registration, `"https://example.com/hook"`, `null`, 1)
	api.post("/api/v1/monitors", none).hasError(http.StatusBadRequest, monitor.NobodyTold, "no route")
	preview := api.post(previewURL, none).hasStatus(http.StatusOK)
	expect.Text(t, "the preview", string(preview.body), string(monitor.NobodyTold))
	api.post("/api/v1/destinations", newDestination).hasStatus(http.StatusCreated)
	api.post("/api/v1/routes", `{"name":"team a","match":{"metadata":{"team":"a"}},"destinations":["`+storedDestination+`"]}`).hasStatus(http.StatusCreated)
	api.post("/api/v1/monitors", none).hasError(http.StatusBadRequest, monitor.NobodyTold, "no route") // it has no team

	id := api.post("/api/v1/monitors", strings.TrimSuffix(none, "}")+`,"metadata":{"team":"a"}}`).hasStatus(http.StatusCreated).json()["monitor_id"].(string)
	shown := api.get("/api/v1/monitors/" + id).json()
	if callback, given := shown["callback_url"]; !given || callback != nil || shown["untold"] != nil {
		t.Errorf("the monitor is shown as %v", shown)
	}
	_, batch := api.postBatch(batchPath, "text/csv", "stream_url,callback_url,metadata.team\r\nhttps://youtu.be/AAAAAAAAAAA,null,a\r\nhttps://youtu.be/BBBBBBBBBBB,null,b\r\nhttps://youtu.be/CCCCCCCCCCC,,a\r\n")
	if batch.Registered != 1 || batch.Results[1].Error.Code != string(monitor.NobodyTold) || batch.Results[2].Error.Code != string(monitor.InvalidURL) {
		t.Errorf("the batch answers %+v", batch)
	}
	api.patch("/api/v1/monitors/"+id, `{"metadata":{"team":"b"}}`).hasStatus(http.StatusOK)
	if shown := api.get("/api/v1/monitors/" + id).json(); shown["untold"] != true {
		t.Errorf("after its team has changed, the monitor is shown as %v", shown)
	}
	api.patch("/api/v1/monitors/"+id, `{"callback_url":"https://example.com/hook"}`).hasStatus(http.StatusOK)
	if shown := api.get("/api/v1/monitors/" + id).json(); shown["untold"] != nil || shown["callback_url"] != nil {
		t.Errorf("with a callback, the monitor is shown as %v", shown)
	}
	api.patch("/api/v1/monitors/"+id, `{"callback_url":null}`).hasError(http.StatusBadRequest, monitor.NobodyTold, "no route")
	channel := func(team string) response {
		return api.post("/api/v1/channels", `{"channel":"@`+team+`team","callback_url":null,"metadata":{"team":"`+team+`"}}`)
	}
	channel("b").hasError(http.StatusBadRequest, monitor.NobodyTold, "no route")
	channel("a").hasStatus(http.StatusCreated)
}
