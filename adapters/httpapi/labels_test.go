package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

func TestLabelsAreRegisteredChangedAndFilteredBy(t *testing.T) { // section 16.8
	api := newTestAPI(t, rateLimits(0, 0))
	first := api.post("/api/v1/monitors", strings.TrimSuffix(registration, "}")+`,"labels":{"team":"a","show":"朝の番組"}}`).hasStatus(http.StatusCreated).json()["monitor_id"].(string)
	path := "/api/v1/monitors/" + first
	labels := func() string {
		encoded, _ := json.Marshal(api.get(path).hasStatus(http.StatusOK).json()["labels"])
		return string(encoded)
	}
	for change, want := range map[string]string{
		`{"labels":{}}`: `{"show":"朝の番組","team":"a"}`,
		`{"labels":{"team":"b","show":null,"none":null}}`: `{"team":"b"}`,
	} {
		api.patch(path, `{"labels":{"team":"a","show":"朝の番組"}}`).hasStatus(http.StatusOK)
		api.patch(path, change).hasStatus(http.StatusOK)
		expect.Equal(t, "the labels after "+change, labels(), want)
	}
	api.patch(path, `{"labels":{"team":"b","show":"朝の番組"}}`).hasStatus(http.StatusOK)

	_, got := api.postBatch(batchPath, "text/csv", "stream_url,callback_url,labels.team,labels.show,labels\r\n"+
		strings.Replace(streamURL, "dQ", "aQ", 1)+",https://example.com/hook,a,夜,\r\n"+
		strings.Replace(streamURL, "dQ", "bQ", 1)+",https://example.com/hook,,,\"{\"\"team\"\":\"\"b\"\"}\"\r\n"+
		strings.Replace(streamURL, "dQ", "cQ", 1)+",https://example.com/hook, a,,\r\n")
	if got.Registered != 2 || got.Refused != 1 || !strings.Contains(got.Results[2].Error.Message, "labels.team begins or ends with a space") {
		t.Fatalf("got %+v", got)
	}
	for query, want := range map[string]int{
		"label=team:a": 1, "label=team:b": 2, "label=team:b&label=show:%E6%9C%9D%E3%81%AE%E7%95%AA%E7%B5%84": 1, "label=team:b&status=stopped": 0, "label=team:c": 0,
	} {
		page := api.get("/api/v1/monitors?" + query).hasStatus(http.StatusOK).json()
		found, total := page["monitors"].([]any), page["pagination"].(map[string]any)["total"]
		if len(found) != want || total != float64(want) {
			t.Errorf("%s finds %d of %v, want %d", query, len(found), total, want)
		}
	}
	statistics := api.get("/api/v1/statistics?by=day&group=team").hasStatus(http.StatusOK).json()
	if statistics["groups"] != nil {
		t.Errorf("the groups of what nobody watched are %v", statistics["groups"])
	}
}

func TestStatisticsAreGroupedByALabel(t *testing.T) { // section 16.8
	api := newTestAPI(t)
	id := api.register("Q")
	addHistory(api, id)
	seconds := func(query string) string {
		said := ""
		for _, group := range api.get("/api/v1/statistics?by=day&from=2024-01-15T00:00:00Z&" + query).hasStatus(http.StatusOK).json()["groups"].([]any) {
			of := group.(map[string]any)
			said += fmt.Sprint(of["value"], " ", of["seconds"].(map[string]any)["watched"].(float64) > 0, ";")
		}
		return said
	}
	expect.Equal(t, "the groups before it has labels", seconds("group=team"), "<nil> true;")
	api.patch("/api/v1/monitors/"+string(id), `{"labels":{"team":"a"}}`).hasStatus(http.StatusOK)
	expect.Equal(t, "the groups", seconds("group=team&label=team:a"), "a true;")
}
