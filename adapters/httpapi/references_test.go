package httpapi_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
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

func monitorURL(id monitor.ID) string { return "/api/v1/monitors/" + string(id) }

func postReference(of, query string, picture []byte) *http.Request {
	r := newRequest("POST", of+"/references?"+query, bytes.NewReader(picture))
	r.Header.Set("Content-Type", "image/png")
	return r
}

func addReference(api *testAPI, id monitor.ID) {
	api.do(postReference(monitorURL(id), "name=Soon", slate())).hasStatus(http.StatusCreated)
}

func addChannelReference(api *testAPI) {
	registerChannel(api)
	api.do(postReference(channelURL, "name=Soon", slate())).hasStatus(http.StatusCreated)
}

// referenceCases are the responses of the routes of references, of monitors and of channels.
func referenceCases() (all []responseCase) {
	for _, of := range []struct {
		name, url string
		add       func(*testAPI)
	}{
		{"a monitor", monitorURL(firstID), func(api *testAPI) { addReference(api, api.register("Q")) }},
		{"a channel", channelURL, addChannelReference},
	} {
		reference := of.url + "/references/" + storedReference
		add := func(query string, picture []byte) func(*testAPI) *http.Request {
			return after(of.add, func(api *testAPI) *http.Request {
				api.delete(reference).hasStatus(http.StatusOK)
				return postReference(of.url, query, picture)
			})
		}
		ended := func(api *testAPI) {
			of.add(api)
			api.delete(of.url).hasStatus(http.StatusOK)
		}
		valid := add("name=Soon", slate())
		cases := append(brokenCases("upload", valid, (*testAPI).breakStores), []responseCase{
			{"upload", 201, valid},
			{"upload with all values", 201, add("name=Soon&unwanted=always&similarity=0.85", slate())},
			{"upload without a name", 400, add("", slate())},
			{"upload with a wrong key", 401, with(valid, withWrongKey)},
			{"upload for nobody", 404, func(*testAPI) *http.Request { return postReference(of.url, "name=Soon", slate()) }},
			{"upload that does not arrive", 408, with(valid, withStalledBody)},
			{"upload with a taken name", 409, after(of.add, func(api *testAPI) *http.Request {
				api.db.Exec(api.t, `UPDATE reference_images SET id = gen_random_uuid()`)
				return postReference(of.url, "name=Soon", slate())
			})},
			{"upload at the end", 409, after(ended, func(*testAPI) *http.Request { return postReference(of.url, "name=Late", slate()) })},
			{"removal at the end", 409, after(ended, request("DELETE", reference, ""))},
			{"upload of a large one", 413, add("name=Soon", make([]byte, 512<<10+1))},
			{"upload of another type", 415, with(valid, withHeader("Content-Type", "image/webp"))},
			{"upload beyond the rate limit", 429, with(valid, func(api *testAPI, _ *http.Request) { api.exhaustRateLimits() })},
			{"list of nobody", 404, request("GET", of.url+"/references", "")},
			{"removal of none", 404, request("DELETE", reference, "")},
			{"image of none", 404, request("GET", reference+"/image", "")},
			{"removal of one that is no UUID", 404, request("DELETE", of.url+"/references/latest", "")},
		}...)
		for _, c := range cases {
			c.name = "reference of " + of.name + ": " + c.name
			all = append(all, c)
		}
	}
	return all
}

func TestAReferenceIsKeptWithItsPictureUntilItIsRemoved(t *testing.T) { // section 17.6
	api := newTestAPI(t)
	id := api.register("Q")
	url := monitorURL(id) + "/references"
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
		api.do(postReference(monitorURL(id), query, slate())).hasError(http.StatusBadRequest, monitor.InvalidConfig, want...)
	}
	api.do(postReference(monitorURL(id), "similarity=1", []byte("GIF89a"))).hasError(http.StatusBadRequest, monitor.InvalidConfig, "name", "similarity", "image", "JPEG or PNG")
}

func TestTheWorkerOfAStreamLooksForTheReferencesOfItsChannel(t *testing.T) { // sections 17.6 and 20.1
	api := newTestAPI(t)
	id := api.register("Q")
	findStreams(api, id)
	api.do(postReference(channelURL, "name=Soon&similarity=0.85", slate())).hasStatus(http.StatusCreated)
	assigned := func() (revision any, similarities []any) {
		a := api.get("/internal/v1/monitors/" + string(id) + "?generation=1").hasStatus(http.StatusOK).json()
		list, _ := a["references"].([]any)
		for _, r := range list {
			similarities = append(similarities, r.(map[string]any)["similarity"])
		}
		return a["revision"], similarities
	}
	adoption := 1.
	expect.Equal(t, "what it looks for", fmt.Sprint(assigned()), fmt.Sprint(adoption+1, []any{0.85}))
	api.db.Exec(t, `UPDATE reference_images SET id = gen_random_uuid()`)
	addReference(api, id)
	expect.Equal(t, "what it looks for once it has one of the same name", fmt.Sprint(assigned()), fmt.Sprint(adoption+2, []any{0.92}))
	listed := api.list(channelURL+"/references", "references")
	api.delete(channelURL + "/references/" + listed[0].(map[string]any)["reference_id"].(string)).hasStatus(http.StatusOK)
	api.delete(monitorURL(id) + "/references/" + storedReference).hasStatus(http.StatusOK)
	expect.Equal(t, "what it looks for in the end", fmt.Sprint(assigned()), fmt.Sprint(adoption+4, []any(nil)))
}
