package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const watchedID = "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c70"

// ago returns the time this many seconds before now.
func ago(seconds int) time.Time { return now.Add(-time.Duration(seconds) * time.Second) }

func TestTheTimelineShowsBuckets(t *testing.T) {
	api := newTestAPI(t)
	api.history.Life = histories.MonitorLife{
		CreatedAt: ago(90),
		Current:   history.Current{Lanes: map[history.Lane]history.Open{history.Video: {State: "ok", Since: ago(40)}}, Seen: ago(5)},
	}
	api.history.Spans = []history.Span{{Lane: history.Video, State: "ok", From: ago(90), To: ago(50)}, {Lane: history.Video, State: "black", From: ago(50), To: ago(40)}}
	api.history.Minutes = []monitor.Minute{{At: ago(55), Luma: monitor.Range{Min: 1, Mean: 20.04, Max: 99, N: 3}}}
	path := fmt.Sprintf("/api/v1/monitors/%s/timeline?from=%s&to=%s&buckets=4", watchedID, query(ago(180)), query(ago(-60)))
	unknown := `{"state":"unknown","share":{"unknown":1}}`
	half := `{"state":"unknown","share":{"unknown":0.5}}`
	bucket := func(from, video, others, luma string) string {
		return fmt.Sprintf(`{"from":%q,"stream":%s,"video":%s,"audio":%s,"segments":%s,"luma":%s,"level":null}`, from, others, video, others, others, luma)
	}
	api.get(path).hasStatus(http.StatusOK).hasBody(`{"monitor_id":"` + watchedID + `","from":"2024-01-15T19:52:00.123+09:00","to":"2024-01-15T19:56:00.123+09:00","bucket_sec":60,"buckets":[` +
		bucket("2024-01-15T19:52:00.123+09:00", "null", "null", "null") + "," +
		bucket("2024-01-15T19:53:00.123+09:00", `{"state":"ok","share":{"ok":0.5}}`, half, "null") + "," +
		bucket("2024-01-15T19:54:00.123+09:00", `{"state":"black","share":{"ok":0.8333,"black":0.1667}}`, unknown, `{"min":1,"mean":20,"max":99}`) + "," +
		bucket("2024-01-15T19:55:00.123+09:00", "null", "null", "null") + `]}`)

	if n := len(api.get("/api/v1/monitors/" + watchedID + "/timeline").hasStatus(http.StatusOK).json()["buckets"].([]any)); n != 288 {
		t.Errorf("%d buckets by default", n)
	}
}

// query writes a time as a parameter.
func query(at time.Time) string { return url.QueryEscape(at.Format(time.RFC3339Nano)) }

func TestQuestionsAboutTheHistoryAreChecked(t *testing.T) {
	api := newTestAPI(t)
	api.history.Unknown = map[monitor.ID]bool{noSuchID: true}
	timeline := "/api/v1/monitors/" + watchedID + "/timeline?"
	for path, code := range map[string]monitor.Code{
		timeline + "buckets=0":    monitor.InvalidConfig,
		timeline + "buckets=2001": monitor.InvalidConfig,
		timeline + "buckets=x":    monitor.InvalidConfig,
		timeline + "from=today":   monitor.InvalidConfig,
		timeline + "from=2024-01-15T10:00:00Z&to=2024-01-15T10:00:00Z": monitor.InvalidConfig,
		timeline + "from=2022-01-15T10:00:00Z":                         monitor.InvalidConfig,
		timeline + "to=0001-01-01T00:00:00Z":                           monitor.InvalidConfig,
		timeline + "bucket=3":                                          monitor.InvalidConfig,
		"/api/v1/monitors/mon-1/timeline":                              monitor.NotFound,
		"/api/v1/monitors/" + noSuchID + "/timeline":                   monitor.NotFound,
		"/api/v1/monitors/" + noSuchID + "/sessions":                   monitor.NotFound,
		"/api/v1/monitors/" + watchedID + "/sessions?limit=1":          monitor.InvalidConfig,
		"/api/v1/statistics":                                           monitor.InvalidConfig,
		"/api/v1/statistics?by=week":                                   monitor.InvalidConfig,
		"/api/v1/statistics?by=day&zone=Mars/Phobos":                   monitor.InvalidConfig,
		"/api/v1/statistics?by=day&zone=../etc/passwd":                 monitor.InvalidConfig,
		"/api/v1/statistics?by=day&zone=Local":                         monitor.InvalidConfig,
		"/api/v1/statistics?by=day&zone=":                              monitor.InvalidConfig,
		"/api/v1/statistics?by=hour&from=2023-10-01T00:00:00Z":         monitor.InvalidConfig,
		"/api/v1/statistics?by=day&monitor_id=" + noSuchID:             monitor.NotFound,
	} {
		t.Run(path, func(t *testing.T) {
			api.get(path).hasError(map[monitor.Code]int{monitor.InvalidConfig: http.StatusBadRequest, monitor.NotFound: http.StatusNotFound}[code], code)
		})
	}
}

func TestStatisticsAreOfTheDaysOfTheCallersZone(t *testing.T) {
	api := newTestAPI(t)
	api.history.Counted = map[monitor.ID][]history.Span{watchedID: {
		{Lane: history.Segments, State: "ok", From: ago(3600), To: ago(0)},
		{Lane: history.Audio, State: "silent", From: ago(100), To: ago(50)},
	}}
	api.history.Alerts = []history.Alert{{MonitorID: watchedID, At: ago(70), Onset: ago(100)}}
	api.history.Incidents = map[monitor.ID]time.Time{watchedID: ago(70)}
	totals := `"seconds":{"watched":3600,"black":0,"silent":50,"out":0,"blind":0},"alerts":1,"incidents":1,"time_to_alert_sec":{"mean":30,"max":30}}`
	api.get("/api/v1/statistics?by=day&zone=Europe/Berlin&from=2024-01-15T00:00:00Z").hasStatus(http.StatusOK).hasBody(
		`{"by":"day","zone":"Europe/Berlin","from":"2024-01-15T00:00:00+01:00","to":"2024-01-16T00:00:00+01:00","total":{` + totals +
			`,"monitors":[{"monitor_id":"` + watchedID + `",` + totals + `],"periods":[{"from":"2024-01-15T00:00:00+01:00","to":"2024-01-16T00:00:00+01:00",` + totals + `]}`)
}

func TestSessionsHaveTheirTotals(t *testing.T) {
	api := newTestAPI(t)
	path := "/api/v1/monitors/" + watchedID + "/sessions"
	api.get(path).hasStatus(http.StatusOK).hasBody(`{"monitor_id":"` + watchedID + `","sessions":[]}`)
	api.history.Life.CreatedAt = ago(7200)
	api.history.Started = []time.Time{ago(3600)}
	api.get(path).hasStatus(http.StatusOK).hasBody(`{"monitor_id":"` + watchedID + `","sessions":[{"started_at":"2024-01-15T18:55:00.123+09:00","ended_at":null,
		"seconds":{"watched":0,"black":0,"silent":0,"out":0,"blind":0},"alerts":0,"incidents":0,"time_to_alert_sec":null}]}`)
}
