package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/jpeg"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

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
	api.post("/api/v1/thumbnails/watch", `{"monitor_ids":["`+string(id)+`"]}`).hasStatus(http.StatusOK)
	api.do(putThumbnail(strings.Replace(putThumbnailURL, noSuchID, string(id), 1), jpegOf(256, 144))).hasStatus(http.StatusOK)
}

// thumbnailCases are the responses of the routes of thumbnails beyond those of operations.
func thumbnailCases() []responseCase {
	put := func(url string, body []byte, change ...func(*testAPI, *http.Request)) func(*testAPI) *http.Request {
		return func(api *testAPI) *http.Request {
			r := putThumbnail(url, body)
			for _, c := range change {
				c(api, r)
			}
			return r
		}
	}
	small, fail := jpegOf(16, 9), func(err error) func(*testAPI, *http.Request) {
		return func(api *testAPI, _ *http.Request) {
			api.thumbnails.Fail = func(context.Context, string) error { return err }
		}
	}
	return []responseCase{
		{"thumbnails of nothing", 400, func(*testAPI) *http.Request {
			return newRequest("POST", "/api/v1/thumbnails/watch", strings.NewReader(`{}`))
		}},
		{"thumbnail again", 304, func(api *testAPI) *http.Request {
			id := api.register("Q")
			addThumbnail(api, id)
			r := newRequest("GET", "/api/v1/monitors/"+string(id)+"/thumbnail", nil)
			r.Header.Set("If-None-Match", `"1705316098500000"`)
			return r
		}},
		{"upload of a thumbnail", 200, put(putThumbnailURL, small)},
		{"upload of a thumbnail by no generation", 400, put(strings.Replace(putThumbnailURL, "generation=1", "generation=0", 1), small)},
		{"upload of a thumbnail with a wrong key", 401, put(putThumbnailURL, small, func(_ *testAPI, r *http.Request) { r.Header.Set(internalKeyHeader, "wrong") })},
		{"upload of a thumbnail with another worker's token", 403, put(putThumbnailURL, small, withToken(noSuchID, 2))},
		{"upload of a thumbnail of no monitor", 404, put(putThumbnailURL, small, func(api *testAPI, _ *http.Request) { api.thumbnails.Unknown = noSuchID })},
		{"upload of a thumbnail that does not arrive", 408, put(putThumbnailURL, small, func(_ *testAPI, r *http.Request) { r.Body = io.NopCloser(stalledBody{}) })},
		{"upload of a thumbnail by an old worker", 409, put(strings.Replace(putThumbnailURL, "generation=1", "generation=2", 1), small)},
		{"upload of a large thumbnail", 413, put(putThumbnailURL, make([]byte, 32<<10+1))},
		{"upload of a thumbnail of another type", 415, put(putThumbnailURL, small, func(_ *testAPI, r *http.Request) { r.Header.Set("Content-Type", "image/png") })},
		{"upload of a thumbnail to a broken store", 500, put(putThumbnailURL, small, fail(errors.New("disk full")))},
		{"upload of a thumbnail to a slow store", 503, put(putThumbnailURL, small, fail(context.DeadlineExceeded))},
	}
}

func TestAThumbnailIsStoredOnlyWhileAPageShowsItsMonitor(t *testing.T) {
	api := newTestAPI(t)
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
		if got.header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.header.Get(name), want)
		}
	}
}

func TestWrongThumbnailsAreRefused(t *testing.T) {
	api := newTestAPI(t)
	for name, body := range map[string][]byte{"nothing": nil, "text": []byte("<script>"), "half a header": jpegOf(16, 9)[:20], "too wide": jpegOf(257, 9), "too high": jpegOf(16, 145)} {
		t.Run(name, func(*testing.T) {
			api.do(putThumbnail(putThumbnailURL, body)).hasStatus(http.StatusBadRequest)
		})
	}
	many := strings.Repeat(`"`+noSuchID+`",`, 200) + `"` + noSuchID + `"`
	for name, body := range map[string]string{"no ids": `{"monitor_ids":[]}`, "no array": `{"monitor_ids":"a"}`, "too many": `{"monitor_ids":[` + many + `]}`, "no id": `{"monitor_ids":["mon-1"]}`, "another field": `{"monitor_ids":["` + noSuchID + `"],"x":1}`} {
		t.Run(name, func(*testing.T) {
			api.post("/api/v1/thumbnails/watch", body).hasError(http.StatusBadRequest, monitor.InvalidConfig, "monitor_ids")
		})
	}
}

// TestOnlyReadersThatAskGetAnnouncements follows the feed with two readers.
func TestOnlyReadersThatAskGetAnnouncements(t *testing.T) {
	api := newTestAPI(t)
	server := httptest.NewServer(api.handlers.Public())
	t.Cleanup(server.Close)
	connect := func(query string) (next func() string) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/feed?follow=true"+query, http.NoBody)
		r.Header.Set(publicKeyHeader, apiKey)
		r.Header.Set("Accept", "application/x-ndjson")
		response, err := http.DefaultClient.Do(r)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatal(response, err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		lines := bufio.NewScanner(response.Body)
		return func() string {
			for lines.Scan() {
				var m struct{ Type, ID string }
				if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
					t.Fatal(err)
				}
				if m.Type == "thumbnail.updated" && m.ID != "" {
					t.Errorf("the announcement has an id: %s", lines.Bytes())
				}
				if m.Type != "heartbeat" {
					return m.Type
				}
			}
			return "the end"
		}
	}
	with, without := connect("&thumbnails=true"), connect("")
	for _, next := range []func() string{with, without} {
		if first := next(); first != "state.replace" {
			t.Fatalf("the first message is %s", first)
		}
	}
	api.hub.Announce(feed.NewThumbnail(noSuchID, now))
	if got := with(); got != "thumbnail.updated" {
		t.Errorf("the reader that asks gets %s", got)
	}
	api.feed.Append(1)
	if got := without(); got != "monitor.updated" {
		t.Errorf("the other reader gets %s", got)
	}
}
