package httpapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const (
	evidenceID   = "0190a5d1-2a3b-7d8a-9c1d-2e3f4a5b6c7d"
	evidenceURL  = "/api/v1/evidence/" + evidenceID
	evidenceMeta = "?generation=1&event_id=0190a5d0-1c2b-7d8a-9c1d-000000000001&condition=black&phase=alert"
	internalURL  = "/internal/v1/monitors/" + noSuchID + "/evidence/" + evidenceID
	noteURL      = internalURL + evidenceMeta + "&note=no+segment"
	aPicture     = "a picture"
)

func sha256Of(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// uploadURL returns the path of an upload.
func uploadURL(variant, content string) string {
	return internalURL + "/" + variant + evidenceMeta + "&taken_at=2024-01-15T10:54:30Z&width=640&height=360&rendition_height=720&measure=16.5&sha256=" + sha256Of(content)
}

func upload(path, content string) func(*testAPI) *http.Request {
	return func(*testAPI) *http.Request {
		r := newRequest("POST", path, strings.NewReader(content))
		r.Header.Del("Content-Type")
		return r
	}
}

func (api *testAPI) upload(path, content string) response {
	api.t.Helper()
	return api.do(upload(path, content)(api))
}

// addAlert stores the alert that the evidence is of, and its monitor.
func addAlert(api *testAPI) {
	api.storeMonitor(noSuchID, incidentStreamURL)
	api.db.Exec(api.t, `INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at) VALUES ($1, $2, 'alert.blackout', '{}', '{}', 'sent', now())`,
		eventID, noSuchID)
}

func addEvidence(api *testAPI, _ monitor.ID) {
	addAlert(api)
	api.upload(uploadURL("onset", aPicture), aPicture).hasStatus(http.StatusOK)
}

// link returns the path of a signed link.
func (api *testAPI) link(variant string) string {
	api.t.Helper()
	a := api.post(evidenceURL+"/link", `{"variant":"`+variant+`"}`).hasStatus(http.StatusOK)
	path, _ := a.json()["url"].(string)
	return path
}

func TestEvidenceIsListedInPages(t *testing.T) {
	api := newTestAPI(t)
	addEvidence(api, "")
	if got := api.pages("/api/v1/evidence?monitor_id="+noSuchID+"&limit=1", "evidence", "evidence_id", "before"); len(got) != 1 || got[0] != evidenceID {
		t.Errorf("the pages have %q", got)
	}
}

func TestALinkShowsItsFileWithoutAKey(t *testing.T) {
	api := newTestAPI(t)
	addEvidence(api, "")
	got := api.do(newRequestWithoutKey(api.link("onset"))).hasStatus(http.StatusOK)
	if string(got.body) != aPicture {
		t.Errorf("the file is %q", got.body)
	}
	for name, want := range map[string]string{
		"Content-Type":            "image/jpeg",
		"Content-Disposition":     `inline; filename="` + evidenceID + `-onset.jpg"`,
		"Cache-Control":           "private, max-age=899", // the expiry is a whole second
		"X-Content-Type-Options":  "nosniff",
		"Content-Security-Policy": "default-src 'none'; sandbox",
		"Referrer-Policy":         "no-referrer",
		"Accept-Ranges":           "bytes",
		"Etag":                    `"` + sha256Of(aPicture) + `"`,
	} {
		got.hasHeaders(name, want)
	}
}

func TestOneRangeIsRead(t *testing.T) {
	api := newTestAPI(t)
	addEvidence(api, "")
	path := api.link("onset")
	for given, want := range map[string]struct {
		status int
		body   string
	}{
		"bytes=2-4":                   {206, "pic"},
		"bytes=2-":                    {206, "picture"},
		"bytes=-4":                    {206, "ture"},
		"bytes=0-100":                 {206, aPicture},
		"bytes=-100":                  {206, aPicture},
		"bytes=9-":                    {416, ""},
		"bytes=-0":                    {416, ""},
		"bytes=4-2":                   {200, aPicture},
		"bytes=-":                     {200, aPicture},
		"bytes=0-1,3-4":               {200, aPicture},
		"lines=0-1":                   {200, aPicture},
		"bytes=99999999999999999999-": {200, aPicture},
	} {
		r := newRequestWithoutKey(path)
		r.Header.Set("Range", given)
		got := api.do(r).hasStatus(want.status)
		if want.body != "" && string(got.body) != want.body {
			t.Errorf("%s: the body is %q, want %q", given, got.body, want.body)
		}
		if want.status == 416 && got.header.Get("Content-Range") != "bytes */9" {
			t.Errorf("%s: Content-Range is %q", given, got.header.Get("Content-Range"))
		}
	}
}

func TestALinkBeginsWithThePublicURL(t *testing.T) {
	api := newTestAPI(t, func(c *testConfig) { c.PublicURL = "https://monitor.example.com/" })
	addEvidence(api, "")
	if got := api.link("onset"); !strings.HasPrefix(got, "https://monitor.example.com/evidence/"+evidenceID+"/onset?expires=") {
		t.Errorf("the link is %s", got)
	}
}

func TestALinkLastsForItsTTL(t *testing.T) {
	api := newTestAPI(t)
	addEvidence(api, "")
	for ttl, status := range map[string]int{"1": 200, "604800": 200, "0": 400, "-1": 400, "604801": 400, "1.5": 400, `"60"`: 400, "null": 400} {
		api.post(evidenceURL+"/link", `{"variant":"onset","ttl_sec":`+ttl+`}`).hasStatus(status)
	}
	api.post(evidenceURL+"/link", `{"variant":"onset","ttl_sec":60}`).hasFields("expires_at", "2024-01-15T19:56:00+09:00")
	path := api.link("onset")
	for _, altered := range []string{strings.Replace(path, "expires=", "expires=soon", 1), strings.Replace(path, "expires=", "x=", 1), strings.Replace(path, "signature=", "x=", 1), "/evidence/x/y"} {
		api.do(newRequestWithoutKey(altered)).hasError(http.StatusForbidden, evidence.LinkInvalid)
	}
}

func TestAnUploadIsCheckedBeforeItsBodyIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		says     string
	}{
		"no generation":      {"generation=1&", "", "generation"},
		"no event":           {"event_id=0190a5d0-1c2b-7d8a-9c1d-000000000001&", "", "event_id"},
		"no condition":       {"condition=black&", "", "condition"},
		"a bad phase":        {"phase=alert", "phase=onset", "phase"},
		"a bad time":         {"taken_at=2024", "taken_at=x", "taken_at"},
		"an old time":        {"taken_at=2024", "taken_at=1924", "taken_at"},
		"a bad width":        {"width=640", "width=x", "width"},
		"too wide":           {"width=640", "width=6400", "width"},
		"a bad measure":      {"measure=16.5", "measure=NaN", "measure"},
		"a digest too short": {"sha256=", "sha256=00", "sha256"},
		"a strange field":    {"width=640", "with=640", "with"},
		"unclear":            {"phase=alert", "phase=alert&unclear=perhaps", "unclear"},
	} {
		t.Run(name, func(t *testing.T) {
			api := newTestAPI(t)
			r := upload(strings.Replace(uploadURL("onset", aPicture), c.from, c.to, 1), aPicture)(api)
			r.Body = io.NopCloser(unreadable{t})
			api.do(r).hasError(http.StatusBadRequest, monitor.InvalidConfig, c.says)
		})
	}
	t.Run("no length", func(t *testing.T) {
		api := newTestAPI(t)
		r := upload(uploadURL("onset", aPicture), aPicture)(api)
		r.ContentLength = -1
		api.do(r).hasError(http.StatusBadRequest, monitor.InvalidConfig, "Content-Length")
	})
	t.Run("an unknown variant", func(t *testing.T) {
		api := newTestAPI(t)
		api.upload(uploadURL("thumbnail", aPicture), aPicture).hasError(http.StatusNotFound, evidence.NotFound)
	})
}

// unreadable is a body that must not be read.
type unreadable struct{ t *testing.T }

// Read implements io.Reader.
func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

func TestACutUploadStoresNothing(t *testing.T) {
	api := newTestAPI(t)
	addAlert(api)
	r := upload(uploadURL("onset", aPicture), aPicture)(api)
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader("a pic"), failing{}))
	api.do(r).hasError(http.StatusBadRequest, monitor.InvalidConfig, "ended early")
	if _, err := api.blobs.Open(t.Context(), sha256.Sum256([]byte(aPicture)), 0); !errors.Is(err, evidences.ErrNoBlob) {
		t.Errorf("a blob was stored: %v", err)
	}
	api.get(evidenceURL).hasError(http.StatusNotFound, evidence.NotFound)
}

// failing is a connection that breaks.
type failing struct{}

// Read implements io.Reader.
func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestUploadsBeyondTheBudgetAreAskedToTryAgain(t *testing.T) {
	api := newTestAPI(t)
	addAlert(api)
	answers := make(chan response)
	var senders []*io.PipeWriter
	for range 2 { // MaxUploads
		r := upload(uploadURL("onset", aPicture), aPicture)(api)
		body, sender := io.Pipe()
		r.Body, senders = body, append(senders, sender)
		go func() { answers <- api.do(r) }()
		_, _ = io.WriteString(sender, aPicture[:1]) // it is read
	}
	got := api.upload(uploadURL("onset", aPicture), aPicture)
	got.hasError(http.StatusServiceUnavailable, "UNAVAILABLE", "too many uploads")
	if got.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	for _, sender := range senders {
		_, _ = io.WriteString(sender, aPicture[1:])
		_ = sender.Close()
		(<-answers).hasStatus(http.StatusOK)
	}
}

func TestAMissingBlobIsLogged(t *testing.T) {
	api := newTestAPI(t)
	addEvidence(api, "")
	path := api.link("onset")
	must.Do(t, api.db.BlobStore().Delete(t.Context(), sha256.Sum256([]byte(aPicture))))
	api.do(newRequestWithoutKey(path)).hasError(http.StatusNotFound, evidence.NotFound)
	api.logged().hasWords("is not in the blob store")
}

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
