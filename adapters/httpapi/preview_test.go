package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	workerrequest "github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/monitor/sourcetest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

const previewURL = "/api/v1/preview"

func TestAPreviewShowsWhatTheResolverSees(t *testing.T) {
	hostile := `<img src=x onerror=alert(1)>` + "\u202egnp.exe " + strings.Repeat("🎤", 60)
	for _, c := range []struct {
		resolution watch.Resolution
		state      string
	}{
		{watch.Resolution{State: watch.Live, Title: hostile, Channel: "C"}, "live"},
		{watch.Resolution{State: watch.Offline}, "live"},
		{watch.Resolution{State: watch.Upcoming, ScheduledStart: now}, "upcoming"},
		{watch.Resolution{State: watch.Ended}, "ended"},
		{watch.Resolution{State: watch.Private, Detail: "Private video"}, "unavailable"},
		{watch.Resolution{State: watch.NotALiveStream}, "unavailable"},
		{watch.Resolution{State: watch.Blocked, Detail: "bot check"}, "unknown"},
		{watch.Resolution{State: watch.ServerDown, Detail: "refuses the connection"}, "unknown"},
		{watch.Resolution{State: watch.ManifestFound}, "unknown"},
	} {
		t.Run(string(c.resolution.State), func(t *testing.T) {
			api := newTestAPI(t)
			api.resolve = func(_ context.Context, url monitor.StreamURL) watch.Resolution {
				expect.Equal(t, "resolved", url, streamURL)
				return c.resolution
			}
			body := api.post(previewURL, `{"stream_url":"https://m.youtube.com/watch?v=dQw4w9WgXcQ&t=3"}`).hasStatus(http.StatusOK).json()
			orNil := func(s string) any {
				if s == "" {
					return nil
				}
				return s
			}
			var start any
			if !c.resolution.ScheduledStart.IsZero() {
				start = "2024-01-15T19:55:00.123+09:00"
			}
			want := map[string]any{
				"source": "youtube", "stream_url": streamURL, "title": orNil(c.resolution.Title), "channel": orNil(c.resolution.Channel), "state": c.state,
				"reason": string(c.resolution.State), "detail": orNil(c.resolution.Detail), "scheduled_start_at": start, "problems": []any{},
			}
			if fmt.Sprint(body) != fmt.Sprint(want) {
				t.Errorf("the preview is\n%v, want\n%v", body, want)
			}
			if page := api.list("/api/v1/monitors", "monitors"); len(page) > 0 || len(api.workers.Started()) > 0 {
				t.Error("the preview has registered something")
			}
		})
	}
}

func TestAPreviewNamesWhatWouldBeRefused(t *testing.T) {
	api := newTestAPI(t)
	api.resolve = func(context.Context, monitor.StreamURL) watch.Resolution {
		t.Error("a wrong URL is resolved")
		return watch.Resolution{}
	}
	body := api.post(previewURL, `{"stream_url":"https://example.com/","metadata":[],"color":1,"config":{"scheduled_start_time":"soon"}}`).hasStatus(http.StatusOK).json()
	if body["state"] != "unknown" || body["reason"] != nil || body["source"] != nil {
		t.Errorf("the preview is %v", body)
	}
	var problems []string
	for _, p := range body["problems"].([]any) {
		problem := p.(map[string]any)
		problems = append(problems, fmt.Sprint(problem["field"], " ", problem["code"]))
		if problem["message"] == "" {
			t.Errorf("%v has no message", problem)
		}
	}
	want := []string{"color INVALID_CONFIG", "config.scheduled_start_time INVALID_CONFIG", "stream_url INVALID_URL", "metadata INVALID_CONFIG"}
	expect.Equal(t, "the problems", problems, want)
}

func TestPreviewsAreFewAndShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newTestAPI(t)
		var running, most atomic.Int32
		api.resolve = func(ctx context.Context, _ monitor.StreamURL) watch.Resolution {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			<-ctx.Done()
			return watch.Resolution{State: watch.ToolFailed}
		}
		began := time.Now()
		states := make(chan string, 5)
		for range cap(states) {
			go func() {
				states <- fmt.Sprint(api.post(previewURL, registration).hasStatus(http.StatusOK).json()["reason"])
			}()
		}
		for range cap(states) {
			expect.Equal(t, "the reason", <-states, "unreachable")
		}
		if took := time.Since(began); most.Load() != 2 || took > 21*time.Second {
			t.Errorf("%d previews ran at a time, and all took %v", most.Load(), took)
		}
	})
}

// jpegOf returns a JPEG of a size.
func jpegOf(width, height int) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, width, height)), nil); err != nil {
		panic(err)
	}
	return b.Bytes()
}

const putThumbnailURL = "/internal/v1/monitors/" + noSuchID + "/thumbnail?generation=1&taken_at=2024-01-15T10:54:58.5Z"

func putThumbnail(url string, body []byte) *http.Request {
	r := newRequest("PUT", url, bytes.NewReader(body))
	r.Header.Set("Content-Type", "image/jpeg")
	return r
}

func addThumbnail(api *testAPI, id monitor.ID) {
	api.storeMonitor(id, streamURL)
	api.post("/api/v1/thumbnails/watch", `{"monitor_ids":["`+string(id)+`"]}`).hasStatus(http.StatusOK)
	api.do(putThumbnail(strings.Replace(putThumbnailURL, noSuchID, string(id), 1), jpegOf(256, 144))).hasStatus(http.StatusOK)
}

// thumbnailCases are the responses of the routes of thumbnails beyond those of operations.
func thumbnailCases() []responseCase {
	put := func(url string, body []byte) func(*testAPI) *http.Request {
		return func(api *testAPI) *http.Request {
			api.storeMonitor(noSuchID, streamURL)
			return putThumbnail(url, body)
		}
	}
	small := put(putThumbnailURL, jpegOf(16, 9))
	again := func(api *testAPI) *http.Request {
		id := api.register("Q")
		addThumbnail(api, id)
		return with(request("GET", "/api/v1/monitors/"+string(id)+"/thumbnail", ""), withHeader("If-None-Match", `"1705316098500000"`))(api)
	}
	return append(brokenCases("upload of a thumbnail", small, (*testAPI).breakStores),
		responseCase{"thumbnail again", 304, again},
		responseCase{"upload of a thumbnail", 200, small},
		responseCase{"upload of a thumbnail by no generation", 400, put(strings.Replace(putThumbnailURL, "generation=1", "generation=0", 1), jpegOf(16, 9))},
		responseCase{"upload of a thumbnail with a wrong key", 401, with(small, withWrongKey)},
		responseCase{"upload of a thumbnail with another worker's token", 403, with(small, withToken(noSuchID, 2))},
		responseCase{"upload of a thumbnail with the token of another monitor", 403, with(small, withToken(firstID, 1))},
		responseCase{"upload of a thumbnail of no monitor", 404, func(*testAPI) *http.Request { return putThumbnail(putThumbnailURL, jpegOf(16, 9)) }},
		responseCase{"upload of a thumbnail that does not arrive", 408, with(small, func(_ *testAPI, r *http.Request) { r.Body = io.NopCloser(stalledBody{}) })},
		responseCase{"upload of a thumbnail by an old worker", 409, put(strings.Replace(putThumbnailURL, "generation=1", "generation=2", 1), jpegOf(16, 9))},
		responseCase{"upload of a large thumbnail", 413, put(putThumbnailURL, make([]byte, 32<<10+1))},
		responseCase{"upload of a thumbnail of another type", 415, with(small, withHeader("Content-Type", "image/png"))},
	)
}

func TestAThumbnailIsStoredOnlyWhileAPageShowsItsMonitor(t *testing.T) {
	api := newTestAPI(t)
	api.storeMonitor(noSuchID, streamURL)
	thumbnailURL := "/api/v1/monitors/" + noSuchID + "/thumbnail"
	picture := jpegOf(256, 144)
	api.do(putThumbnail(putThumbnailURL, picture)).hasStatus(http.StatusOK).hasBody(`{"thumbnail_wanted":false}`)
	api.get(thumbnailURL).hasError(http.StatusNotFound, monitor.NotFound)
	api.post("/api/v1/thumbnails/watch", `{"monitor_ids":["`+noSuchID+`"]}`).hasStatus(http.StatusOK).hasBody(`{"expires_in_sec":30}`)
	api.do(putThumbnail(putThumbnailURL, picture)).hasStatus(http.StatusOK).hasBody(`{"thumbnail_wanted":true}`)
	got := api.get(thumbnailURL).hasStatus(http.StatusOK)
	if !bytes.Equal(got.body, picture) {
		t.Errorf("%d other bytes are read", len(got.body))
	}
	for name, want := range map[string]string{
		"Content-Type": "image/jpeg", "X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-cache", "ETag": `"1705316098500000"`,
		"X-Taken-At": "2024-01-15T19:54:58.5+09:00", "Content-Security-Policy": "default-src 'none'; sandbox",
	} {
		got.hasHeaders(name, want)
	}
}

func TestOnlyReadersThatAskGetAnnouncements(t *testing.T) {
	api := newTestAPI(t)
	lines := http.Header{"Accept": {"application/x-ndjson"}}
	with, without := api.openFeed("/api/v1/feed?follow=true&thumbnails=true", lines), api.openFeed("/api/v1/feed?follow=true", lines)
	with.until("state.replace")
	without.until("state.replace")
	api.hub.Announce(feed.NewThumbnail(noSuchID, now))
	if line := with.until("thumbnail.updated"); strings.Contains(line, `{"id"`) {
		t.Errorf("the announcement has an id: %s", line)
	}
	api.feed.Append(1)
	for without.lines.Scan() && !strings.Contains(without.lines.Text(), "monitor.updated") {
		if strings.Contains(without.lines.Text(), "thumbnail") {
			t.Errorf("the other reader gets %s", without.lines.Text())
		}
	}
}

// Workers and resolvers get query and header fields; callers, receivers and the log see the canonical URL and names.
func TestTheSecretOfAStreamIsForWorkersAlone(t *testing.T) { // decision A1
	sourcetest.Add(t, sourcetest.Imaginary)
	const stream = string(sourcetest.Stream)
	api := newTestAPI(t)
	api.resolve = func(ctx context.Context, url monitor.StreamURL) watch.Resolution {
		secret := workerrequest.SecretOf(ctx)
		expect.Equal(t, "resolved", string(url)+secret.Query+secret.Headers["authorization"], stream+"?token=s3cr3t1"+"Bearer s3cr3t2")
		return watch.Resolution{State: watch.Live}
	}
	const registration = `{"stream_url":"` + stream + `?token=s3cr3t1","callback_url":"https://example.com/hook","config":{"http_headers":{"Authorization":"Bearer s3cr3t2"}}}`
	var shown []byte
	ask := func(method, path, body string, status int) response {
		t.Helper()
		r := api.do(newRequest(method, path, strings.NewReader(body))).hasStatus(status)
		shown = append(shown, r.body...)
		return r
	}
	ask("POST", previewURL, registration, http.StatusOK)
	id := ask("POST", "/api/v1/monitors", registration, http.StatusCreated).json()["monitor_id"].(string)
	path := "/api/v1/monitors/" + id
	assigned := func(want string) {
		t.Helper()
		a := api.get("/internal/v1/monitors/" + id + "?generation=1").hasStatus(http.StatusOK).json()
		expect.Equal(t, "the worker gets", fmt.Sprint(a["stream_url"], a["stream_secret"]), want)
	}
	assigned(stream + "map[headers:map[authorization:Bearer s3cr3t2] query:?token=s3cr3t1]")
	for body, want := range map[string]string{
		`{"metadata":{"a":1}}`: "", `{"stream_url":"` + stream + `"}`: "", `{"config":{"http_headers":{"authorization":null}}}`: "", // which keep it
		`{"stream_url":"https://live.example.com/other?token=s3cr3t4"}`:                     "stream_url cannot be changed",
		`{"config":{"http_headers":{"Authorization":"a\ns3cr3t4"}}}`:                        "config.http_headers has a value for authorization that",
		`{"config":{"http_headers":{"authorization":"s3cr3t4","Authorization":"s3cr3t4"}}}`: "config.http_headers has authorization twice",
		`{"config":{"http_headers":{"x":"s3cr3t4","x":"s3cr3t4"}}}`:                         "config.http_headers.x is given twice",
		`{"config":{"http_headers":{"x":null}}}`:                                            "config.http_headers has no value for x",
		`{"config":{"http_headers":{"Host":"s3cr3t4"}}}`:                                    "config.http_headers has host, which every request sets itself",
		`{"config":{"http_headers":{"a b":"s3cr3t4"}}}`:                                     `config.http_headers has the name "a b"`,
		`{"config":{"http_headers":"s3cr3t4"}}`:                                             "config.http_headers is of the wrong type",
	} {
		if want == "" {
			ask("PATCH", path, body, http.StatusOK)
			continue
		}
		if refused := string(ask("PATCH", path, body, http.StatusBadRequest).body); !strings.Contains(refused, strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("%s is refused with %s, want %s", body, refused, want)
		}
	}
	assigned(stream + "map[headers:map[authorization:Bearer s3cr3t2] query:?token=s3cr3t1]")
	changed := ask("PATCH", path, `{"stream_url":"`+stream+`?token=s3cr3t3","config":{"http_headers":{"authorization":null,"X-Key":"s3cr3t4"}}}`, http.StatusOK)
	expect.Equal(t, "the names", fmt.Sprint(changed.json()["config"].(map[string]any)["http_headers"]), "map[authorization:<nil> x-key:<nil>]")
	assigned(stream + "map[headers:map[authorization:Bearer s3cr3t2 x-key:s3cr3t4] query:?token=s3cr3t3]")
	ask("PATCH", path, `{"config":{"http_headers":null}}`, http.StatusOK)
	assigned(stream + "map[query:?token=s3cr3t3]")

	ask("POST", "/api/v1/monitors", strings.Replace(registration, "s3cr3t1", "s3cr3t5", 1), http.StatusConflict)
	ask("POST", "/api/v1/monitors/batch", `{"monitors":[`+registration+`]}`, http.StatusOK)
	for _, path := range []string{"/api/v1/monitors", path, "/api/v1/audit"} {
		ask("GET", path, "", http.StatusOK)
	}
	shown = append(shown, api.logged().body...)
	if bytes.Contains(shown, []byte("s3cr3t")) || !bytes.Contains(shown, []byte(stream)) {
		t.Errorf("it is shown: %s", shown)
	}
}

func TestTheTokenURLOfAStreamIsForItsWorkersAlone(t *testing.T) { // decision S27
	api := newTestAPI(t)
	api.resolve = func(ctx context.Context, _ monitor.StreamURL) watch.Resolution {
		expect.Equal(t, "the preview gets", workerrequest.SecretOf(ctx).TokenURL, "https://tokens.example/s3cr3t1")
		return watch.Resolution{State: watch.Live}
	}
	const given = `{"stream_url":"https://cdn.example/live.m3u8?a=s3cr3t2","callback_url":"https://example.com/hook","config":{"token_url":"https://tokens.example/s3cr3t1","copy_query":true}}`
	api.post(previewURL, given).hasStatus(http.StatusOK).hasWords(`"problems":[]`)
	id := api.post("/api/v1/monitors", given).hasStatus(http.StatusCreated).json()["monitor_id"].(string)
	path := "/api/v1/monitors/" + id
	assigned := func() string {
		t.Helper()
		return fmt.Sprint(api.get("/internal/v1/monitors/" + id + "?generation=1").hasStatus(http.StatusOK).json()["stream_secret"])
	}
	config := func(r response) string {
		c := r.hasStatus(http.StatusOK).json()["config"].(map[string]any)
		return fmt.Sprint(c["token_url"], " ", c["copy_query"])
	}
	expect.Equal(t, "shown", config(api.get(path)), "set true")
	for _, c := range []struct{ change, assigned, shown string }{
		{`{"token_url":"set"}`, "map[copy_query:true query:?a=s3cr3t2 token_url:https://tokens.example/s3cr3t1]", "set true"},
		{`{"token_url":"http://10.0.0.1:8080/s3cr3t3"}`, "map[copy_query:true query:?a=s3cr3t2 token_url:http://10.0.0.1:8080/s3cr3t3]", "set true"},
		{`{"copy_query":false}`, "map[query:?a=s3cr3t2 token_url:http://10.0.0.1:8080/s3cr3t3]", "set <nil>"},
		{`{"token_url":null}`, "map[query:?a=s3cr3t2]", "<nil> <nil>"},
	} {
		expect.Equal(t, "shown after "+c.change, config(api.patch(path, `{"config":`+c.change+`}`)), c.shown)
		expect.Equal(t, "assigned after "+c.change, assigned(), c.assigned)
	}
	for given, says := range map[string]string{
		`"set"`: "none is stored", `["s3cr3t4"]`: "of the wrong type", `"s3cr3t4"`: "is no such URL", `"https://a:s3cr3t4@tokens.example/"`: "user name",
	} {
		if refused := string(api.patch(path, `{"config":{"token_url":`+given+`}}`).hasError(http.StatusBadRequest, monitor.InvalidConfig, says).body); strings.Contains(refused, "s3cr3t4") {
			t.Errorf("%s is shown: %s", given, refused)
		}
	}
	csv := newRequest("POST", "/api/v1/monitors/batch", strings.NewReader("stream_url,callback_url,token_url,copy_query,http_headers\nhttps://cdn.example/csv.mpd,https://example.com/hook,https://tokens.example/s3cr3t5,true,\"{\"\"x-key\"\": \"\"s3cr3t6\"\"}\"\n"))
	csv.Header.Set("Content-Type", "text/csv")
	api.do(csv).hasStatus(http.StatusOK).hasWords(`"registered":1`)
	api.patch(path, `{"config":{"copy_query":1}}`).hasError(http.StatusBadRequest, monitor.InvalidConfig, "accepted is true or false")
	api.post("/api/v1/monitors", registration[:len(registration)-1]+`,"config":{"token_url":"https://tokens.example/s3cr3t4","copy_query":true}}`).
		hasError(http.StatusBadRequest, monitor.InvalidConfig, "config.token_url is given; a stream of YouTube has no token", "config.copy_query is given")
	api.post("/api/v1/channels", `{"channel":"@example","callback_url":"https://example.com/hook","config":{"copy_query":true}}`).
		hasError(http.StatusBadRequest, monitor.InvalidConfig, "the streams of a channel have no token")
	if said := string(api.logged().body); strings.Contains(said, "s3cr3t") {
		t.Errorf("the log shows it: %s", said)
	}
}

func TestAStreamOfASourceThatTakesNoHeadersIsRefusedWithThem(t *testing.T) {
	api := newTestAPI(t)
	given := registration[:len(registration)-1] + `,"config":{"http_headers":{"Authorization":"s3cr3t"}}}`
	api.post("/api/v1/monitors", given).hasError(http.StatusBadRequest, monitor.InvalidConfig, "config.http_headers is given; a stream of YouTube takes none")
	api.post("/api/v1/channels", `{"channel":"@example","callback_url":"https://example.com/hook","config":{"http_headers":{"a":"b"}}}`).
		hasError(http.StatusBadRequest, monitor.InvalidConfig, "config.http_headers is given; the streams of a channel carry none")
}
