package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// evidenceCases are the responses of the routes of evidence.
func evidenceCases() []responseCase {
	const link, class = evidenceURL + "/link", evidenceURL + "/class"
	request := func(method, path, body string) func(*testAPI) *http.Request {
		return func(api *testAPI) *http.Request {
			api.upload(uploadURL("onset", aPicture), aPicture).hasStatus(http.StatusOK)
			if body == "" {
				return newRequest(method, path, nil)
			}
			return newRequest(method, path, strings.NewReader(body))
		}
	}
	download := func(change func(path string) string, headers ...string) func(*testAPI) *http.Request {
		return func(api *testAPI) *http.Request {
			api.upload(uploadURL("onset", aPicture), aPicture).hasStatus(http.StatusOK)
			r := newRequestWithoutKey(change(api.link("onset")))
			for i := 0; i < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
			return r
		}
	}
	unchanged := func(path string) string { return path }
	list := []responseCase{
		{"list evidence", 200, request("GET", "/api/v1/evidence", "")},
		{"list evidence of a bad event", 400, request("GET", "/api/v1/evidence?event_id=1", "")},
		{"evidence", 200, request("GET", evidenceURL, "")},
		{"no evidence", 404, request("GET", evidenceURL[:len(evidenceURL)-1]+"0", "")},
		{"link", 200, request("POST", link, `{"variant":"onset"}`)},
		{"link to nothing", 400, request("POST", link, `{}`)},
		{"link to a file that is not there", 404, request("POST", link, `{"variant":"clip"}`)},
		{"class", 200, request("POST", class, `{"class":"case"}`)},
		{"bad class", 400, request("POST", class, `{"class":"eternal"}`)},
		{"class of no evidence", 404, request("POST", strings.Replace(class, "7d8a", "7d8b", 1), `{"class":"case"}`)},
		{"download", 200, download(unchanged)},
		{"download a part", 206, download(unchanged, "Range", "bytes=0-3")},
		{"download again", 304, download(unchanged, "If-None-Match", `"`+sha256Of(aPicture)+`"`)},
		{"download beyond the end", 416, download(unchanged, "Range", "bytes=100-")},
		{"download with an altered link", 403, download(func(path string) string { return strings.Replace(path, "/onset", "/clip", 1) })},
		{"download what has expired", 404, func(api *testAPI) *http.Request {
			r := download(unchanged)(api)
			api.evidence.Fail = func(context.Context, string) error { return errNoEvidence }
			return r
		}},
		{"download on a broken store", 500, func(api *testAPI) *http.Request {
			r := download(unchanged)(api)
			api.blobs.Fail = func(context.Context, string) error { return errors.New("disk full") }
			return r
		}},
		{"download on a slow store", 503, func(api *testAPI) *http.Request {
			r := download(unchanged)(api)
			api.blobs.Fail = func(context.Context, string) error { return context.DeadlineExceeded }
			return r
		}},
		{"note", 200, request("PUT", noteURL, "")},
		{"note of no generation", 400, request("PUT", strings.Replace(noteURL, "generation=1", "generation=x", 1), "")},
		{"note with another worker's token", 403, func(api *testAPI) *http.Request {
			r := newRequest("PUT", noteURL, nil)
			withToken(noSuchID, 2)(api, r)
			return r
		}},
		{"upload with another worker's token", 403, func(api *testAPI) *http.Request {
			r := upload(uploadURL("onset", aPicture), aPicture)(api)
			withToken(noSuchID, 2)(api, r)
			return r
		}},
		{"note of an old generation", 409, request("PUT", strings.Replace(noteURL, "generation=1", "generation=2", 1), "")},
		{"upload", 200, upload(uploadURL("onset", aPicture), aPicture)},
		{"upload with another digest", 400, upload(uploadURL("onset", "another"), aPicture)},
		{"upload another picture", 409, func(api *testAPI) *http.Request {
			api.upload(uploadURL("onset", aPicture), aPicture).hasStatus(http.StatusOK)
			return upload(uploadURL("onset", "another"), "another")(api)
		}},
		{"upload that does not arrive", 408, func(api *testAPI) *http.Request {
			r := upload(uploadURL("onset", aPicture), aPicture)(api)
			r.Body = io.NopCloser(stalledBody{})
			return r
		}},
		{"upload too much", 413, upload(uploadURL("level", aPicture), strings.Repeat("x", 128<<10+1))},
		{"upload of another type", 415, func(api *testAPI) *http.Request {
			r := upload(uploadURL("onset", aPicture), aPicture)(api)
			r.Header.Set("Content-Type", "image/png")
			return r
		}},
		{"upload beyond the quota", 429, func(api *testAPI) *http.Request {
			api.evidence.Fail = func(context.Context, string) error { return monitor.Errorf(evidence.QuotaExceeded, "too much") }
			return upload(uploadURL("onset", aPicture), aPicture)(api)
		}},
		{"upload of a blob that is being deleted", 503, func(api *testAPI) *http.Request {
			api.evidence.Fail = func(context.Context, string) error { return evidences.ErrBlobBusy }
			return upload(uploadURL("onset", aPicture), aPicture)(api)
		}},
	}
	for _, op := range []struct {
		name    string
		request func(*testAPI) *http.Request
		json    bool
		limited bool
		monitor bool
	}{
		{"list evidence", request("GET", "/api/v1/evidence", ""), false, true, false},
		{"evidence", request("GET", evidenceURL, ""), false, true, false},
		{"link", request("POST", link, `{"variant":"onset"}`), true, true, false},
		{"class", request("POST", class, `{"class":"case"}`), true, true, false},
		{"note", func(*testAPI) *http.Request { return newRequest("PUT", noteURL, nil) }, false, false, true},
		{"upload", upload(uploadURL("onset", aPicture), aPicture), false, false, true},
	} {
		with := func(name string, status int, change func(*testAPI, *http.Request)) {
			list = append(list, responseCase{op.name + " " + name, status, func(api *testAPI) *http.Request {
				r := op.request(api)
				change(api, r)
				return r
			}})
		}
		fail := func(err error) func(*testAPI, *http.Request) {
			return func(api *testAPI, _ *http.Request) {
				api.evidence.Fail = func(context.Context, string) error { return err }
			}
		}
		with("with a wrong key", 401, func(_ *testAPI, r *http.Request) {
			r.Header.Set(publicKeyHeader, "wrong")
			r.Header.Set(internalKeyHeader, "wrong")
		})
		with("on a broken store", 500, fail(errors.New("disk full")))
		with("on a slow store", 503, fail(context.DeadlineExceeded))
		if op.limited {
			with("beyond the rate limit", 429, func(api *testAPI, _ *http.Request) { api.exhaustRateLimits() })
		}
		if op.monitor {
			with("of no monitor", 404, func(api *testAPI, _ *http.Request) { api.evidence.Unknown = map[monitor.ID]bool{noSuchID: true} })
		}
		if op.json {
			with("with a body that does not arrive", 408, func(_ *testAPI, r *http.Request) { r.Body, r.ContentLength = io.NopCloser(stalledBody{}), -1 })
			with("with a body that is too large", 413, func(_ *testAPI, r *http.Request) {
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat(" ", 2<<20))), -1
			})
			with("with plain text", 415, func(_ *testAPI, r *http.Request) { r.Header.Set("Content-Type", "text/plain") })
		}
	}
	return list
}
