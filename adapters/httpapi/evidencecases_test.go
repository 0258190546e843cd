package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// evidenceCases are the responses of the routes of evidence beyond those of operations.
func evidenceCases() []responseCase {
	stored := func(api *testAPI) { addEvidence(api, "") }
	download := func(api *testAPI) *http.Request {
		stored(api)
		return newRequestWithoutKey(api.link("onset"))
	}
	picture := after(addAlert, upload(uploadURL("onset", aPicture), aPicture))
	changed := func(statement string) func(*testAPI, *http.Request) {
		return func(api *testAPI, _ *http.Request) { api.db.Exec(api.t, statement) }
	}
	brokenBlobs := func(api *testAPI, _ *http.Request) { api.blobs.BlobStore = closedStore().BlobStore() }
	expired := func(api *testAPI) *http.Request {
		l := must.Get(evidence.LinkKeys{linkKey}.Sign(evidenceID, evidence.Onset, now))(api.t)
		return newRequestWithoutKey(fmt.Sprintf("/evidence/%s/onset?expires=%d&key=%s&signature=%s", evidenceID, l.ExpiresAt.Unix(), l.KeyID, l.Signature))
	}
	return slices.Concat([]responseCase{
		{"no evidence", 404, request("GET", evidenceURL, "")},
		{"link to a file that is not there", 404, after(stored, request("POST", evidenceURL+"/link", `{"variant":"clip"}`))},
		{"class of no evidence", 404, request("POST", evidenceURL+"/class", `{"class":"case"}`)},
		{"download", 200, download},
		{"download a part", 206, with(download, withHeader("Range", "bytes=0-3"))},
		{"download again", 304, with(download, withHeader("If-None-Match", `"`+sha256Of(aPicture)+`"`))},
		{"download beyond the end", 416, with(download, withHeader("Range", "bytes=100-"))},
		{"download with an altered link", 403, with(download, func(_ *testAPI, r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, "/onset", "/clip", 1) })},
		{"download with an old link", 403, expired},
		{"download what has expired", 404, with(download, changed(`DELETE FROM evidence`))},
		{"download of a broken blob store", 500, with(download, brokenBlobs)},
		{"note of an old generation", 409, after(addAlert, request("PUT", strings.Replace(noteURL, "generation=1", "generation=2", 1), ""))},
		{"note of no monitor", 404, request("PUT", noteURL, "")},
		{"upload", 200, picture},
		{"upload with a wrong key", 401, with(picture, withWrongKey)},
		{"upload with another worker's token", 403, with(picture, withToken(noSuchID, 2))},
		{"upload with the token of another monitor", 403, with(picture, withToken(firstID, 1))},
		{"upload of no monitor", 404, upload(uploadURL("onset", aPicture), aPicture)},
		{"upload with another digest", 400, after(addAlert, upload(uploadURL("onset", "another"), aPicture))},
		{"upload another picture", 409, after(stored, upload(uploadURL("onset", "another"), "another"))},
		{"upload that does not arrive", 408, with(picture, func(_ *testAPI, r *http.Request) { r.Body = io.NopCloser(stalledBody{}) })},
		{"upload too much", 413, upload(uploadURL("level", aPicture), strings.Repeat("x", 128<<10+1))},
		{"upload of another type", 415, with(picture, withHeader("Content-Type", "image/png"))},
		{"upload beyond the quota", 429, with(picture, changed(`INSERT INTO evidence_blobs (sha256, size, monitor_id, counted_at) SELECT 'x', 1::bigint << 40, id, now() FROM monitors`))},
		{"upload of a blob that is being deleted", 503, after(stored, with(upload(uploadURL("onset", aPicture), aPicture), changed(`UPDATE evidence_blobs SET deleting_at = now()`)))},
	}, brokenCases("upload", picture, (*testAPI).breakStores), brokenCases("download", download, (*testAPI).breakStores))
}
