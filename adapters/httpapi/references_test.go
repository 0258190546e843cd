package httpapi_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const storedReference = "0190a5d8-1c2b-7d8a-9c1d-2e3f4a5b6c7d"

// newReferences makes a service whose only new reference is storedReference.
func newReferences(store references.Store, clock func() time.Time) *references.Service {
	return references.NewService(store, func() string { return storedReference }, clock)
}

// slate returns a PNG that is half dark and half light.
func slate() []byte {
	picture := image.NewGray(image.Rect(0, 0, 128, 72))
	for x := 64; x < 128; x++ {
		for y := range 72 {
			picture.SetGray(x, y, color.Gray{Y: 200})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func postReference(id monitor.ID, query string, picture []byte) *http.Request {
	r := newRequest("POST", "/api/v1/monitors/"+string(id)+"/references?"+query, bytes.NewReader(picture))
	r.Header.Set("Content-Type", "image/png")
	return r
}

func addReference(api *testAPI, id monitor.ID) {
	api.do(postReference(id, "name=Soon", slate())).hasStatus(http.StatusCreated)
}

// referenceCases are the responses of the routes of references beyond those of operations.
func referenceCases() []responseCase {
	upload := func(query string, picture []byte) func(*testAPI) *http.Request {
		return func(api *testAPI) *http.Request { return postReference(api.register("Q"), query, picture) }
	}
	valid := upload("name=Soon", slate())
	ended := func(api *testAPI) monitor.ID {
		id := api.register("Q")
		addReference(api, id)
		api.delete("/api/v1/monitors/" + string(id)).hasStatus(http.StatusOK)
		return id
	}
	reference := "/api/v1/monitors/" + firstID + "/references/" + storedReference
	return append(brokenCases("upload of a reference", valid, (*testAPI).breakStores), []responseCase{
		{"upload of a reference", 201, valid},
		{"upload of a reference with all values", 201, upload("name=Soon&unwanted=always&similarity=0.85", slate())},
		{"upload of a reference without a name", 400, upload("", slate())},
		{"upload of a reference with a wrong key", 401, with(valid, withWrongKey)},
		{"upload of a reference of no monitor", 404, func(*testAPI) *http.Request { return postReference(noSuchID, "name=Soon", slate()) }},
		{"upload of a reference that does not arrive", 408, with(valid, withStalledBody)},
		{"upload of a reference of a taken name", 409, func(api *testAPI) *http.Request {
			id := api.register("Q")
			addReference(api, id)
			api.db.Exec(api.t, `UPDATE monitor_references SET id = gen_random_uuid()`)
			return postReference(id, "name=Soon", slate())
		}},
		{"upload of a reference of an ended monitor", 409, func(api *testAPI) *http.Request { return postReference(ended(api), "name=Late", slate()) }},
		{"removal of a reference of an ended monitor", 409, func(api *testAPI) *http.Request { ended(api); return newRequest("DELETE", reference, nil) }},
		{"upload of a large reference", 413, upload("name=Soon", make([]byte, 512<<10+1))},
		{"upload of a reference of another type", 415, with(valid, withHeader("Content-Type", "image/webp"))},
		{"upload of a reference beyond the rate limit", 429, with(valid, func(api *testAPI, _ *http.Request) { api.exhaustRateLimits() })},
		{"no reference", 404, after(registered, request("DELETE", reference, ""))},
		{"image of no reference", 404, after(registered, request("GET", reference+"/image", ""))},
		{"reference that is no UUID", 404, after(registered, request("DELETE", "/api/v1/monitors/"+firstID+"/references/latest", ""))},
	}...)
}

func TestAReferenceIsKeptWithItsPictureUntilItIsRemoved(t *testing.T) { // section 17.6
	api := newTestAPI(t)
	id := api.register("Q")
	url := "/api/v1/monitors/" + string(id) + "/references"
	addReference(api, id)
	want := `{"references":[{"reference_id":"` + storedReference + `","name":"Soon","unwanted":"after_start","similarity":0.92,"media_type":"image/png","width":128,"height":72,"size":` +
		strconv.Itoa(len(slate())) + `,"created_at":"2024-01-15T19:55:00.123+09:00"}]}`
	api.get(url).hasStatus(http.StatusOK).hasBody(want)
	picture := api.get(url + "/" + storedReference + "/image").hasStatus(http.StatusOK)
	for name, want := range map[string]string{"Content-Type": "image/png", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"} {
		if got := picture.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !bytes.Equal(picture.body, slate()) {
		t.Errorf("%d other bytes are read", len(picture.body))
	}
	assigned := api.get("/internal/v1/monitors/" + string(id) + "?generation=1").hasStatus(http.StatusOK).json()
	if assigned["revision"] != 1. || len(assigned["references"].([]any)) != 1 {
		t.Errorf("assigned is %v", assigned)
	}
	api.delete(url + "/" + storedReference).hasStatus(http.StatusOK)
	api.get(url).hasStatus(http.StatusOK).hasBody(`{"references":[]}`)
}

func TestARefusedReferenceIsToldWhatIsAccepted(t *testing.T) { // section 17.6
	api := newTestAPI(t)
	id := api.register("Q")
	for query, want := range map[string][]string{
		"":                           {"name", "1 to 60"},
		"name=a&unwanted=never":      {"unwanted", "never", "after_start, before_start, always"},
		"name=a&similarity=0.5":      {"similarity", "0.5", "0.85 to 0.99"},
		"name=a&similarity=NaN":      {"similarity", "NaN", "0.85 to 0.99"},
		"name=a&similarity=much":     {"similarity", "much", "a number"},
		"name=a%0Ab&title=Beginning": {"title", "name, unwanted, similarity"},
	} {
		api.do(postReference(id, query, slate())).hasError(http.StatusBadRequest, monitor.InvalidConfig, want...)
	}
	api.do(postReference(id, "similarity=1", []byte("GIF89a"))).hasError(http.StatusBadRequest, monitor.InvalidConfig, "name", "similarity", "image", "JPEG or PNG")
}
