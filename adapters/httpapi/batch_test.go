package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// batchResults is the response to a batch.
type batchResults struct {
	DryRun              bool `json:"dry_run"`
	Registered, Refused int
	Results             []struct {
		Index     int
		StreamURL string `json:"stream_url"`
		MonitorID string `json:"monitor_id"`
		Status    string
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
