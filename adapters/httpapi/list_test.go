package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

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
	buckets := api.get("/api/v1/monitors/" + string(api.register("Q")) + "/timeline").hasStatus(http.StatusOK).json()["buckets"].([]any)
	if len(buckets) != 288 {
		t.Errorf("there are %d", len(buckets))
	}
}
