package media_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// vault serves resources by path, parts of them too, and counts how often each
// is asked for.
type vault struct {
	mu    sync.Mutex
	files map[string][]byte
	asked map[string]int
}

func (v *vault) serve(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
	v.mu.Lock()
	v.asked[r.URL.Path]++
	v.mu.Unlock()
	b, ok := v.files[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
}

func TestEncryptedSegments(t *testing.T) {
	otherKey, otherIV := []byte("another key, 16."), []byte("another IV of 16")
	media1, section := bytes.Repeat([]byte("media"), 20_000), []byte("section")
	v := &vault{files: map[string][]byte{
		"/key": aKey, "/other": otherKey, "/page": []byte("<html>Log in, please</html>"), "/short": aKey[:15], "/long": append(aKey, 0), "/empty": {},
		"/segment": encrypt(t, aKey, anIV, padded(media1)), "/section": encrypt(t, aKey, anIV, padded(section)),
		"/section/other": encrypt(t, otherKey, otherIV, padded(section)), "/section/plain": section,
		"/parts": append(encrypt(t, aKey, anIV, padded(section)), encrypt(t, aKey, otherIV, padded(media1))...),
	}}
	base := serve(t, v.serve)
	key := func(path string, iv []byte) *watch.Key { return &watch.Key{URI: base + path + "?key=s3cr3t", IV: iv} }
	n := int64(len(padded(section)))

	for name, c := range map[string]struct {
		segment watch.Segment
		want    string
		keys    map[string]int // how often each is fetched
	}{
		"a segment": {
			watch.Segment{URI: base + "/segment", Key: key("/key", anIV)}, string(media1), map[string]int{"/key": 1},
		},
		"after a section with the same key": {
			watch.Segment{URI: base + "/segment", Key: key("/key", anIV), Init: &watch.Init{URI: base + "/section", Key: key("/key", anIV)}},
			"section" + string(media1), map[string]int{"/key": 1},
		},
		"after a section with another key": {
			watch.Segment{URI: base + "/segment", Key: key("/key", anIV), Init: &watch.Init{URI: base + "/section/other", Key: key("/other", otherIV)}},
			"section" + string(media1), map[string]int{"/key": 1, "/other": 1},
		},
		"after a section that is not encrypted": {
			watch.Segment{URI: base + "/segment", Key: key("/key", anIV), Init: &watch.Init{URI: base + "/section/plain"}},
			"section" + string(media1), map[string]int{"/key": 1},
		},
		"in parts of one resource": {
			watch.Segment{
				URI: base + "/parts", Range: part(n, int64(len(padded(media1)))), Key: key("/key", otherIV),
				Init: &watch.Init{URI: base + "/parts", Range: part(0, n), Key: key("/key", anIV)},
			},
			"section" + string(media1), map[string]int{"/key": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v.asked = map[string]int{}
			client := newClient(t, nil)
			for times := 1; times <= 2; times++ {
				got, err := fetch(t, client, c.segment)
				if err != nil || string(got) != c.want {
					t.Fatalf("got %d bytes, %v, want %d", len(got), err, len(c.want))
				}
				for path, once := range c.keys {
					if v.asked[path] != times*once {
						t.Errorf("%s was fetched %d times for %d segments", path, v.asked[path], times)
					}
				}
			}
		})
	}

	for name, c := range map[string]struct {
		key  *watch.Key
		kind watch.FailureKind
		says string
	}{
		"a key of 15 bytes":       {key("/short", anIV), watch.FailureMalformed, "16 bytes"},
		"a key of 17 bytes":       {key("/long", anIV), watch.FailureMalformed, "16 bytes"},
		"no bytes of a key":       {key("/empty", anIV), watch.FailureMalformed, "16 bytes"},
		"a page instead of a key": {key("/page", anIV), watch.FailureMalformed, "16 bytes"},
		"a key that has expired":  {key("/gone", anIV), watch.FailureExpired, "answered 403"},
		"another key":             {key("/other", anIV), watch.FailureUndecodable, "wrong key"},
		"a vector of 15 bytes":    {key("/key", anIV[:15]), watch.FailureMalformed, "15 bytes"},
		"no vector":               {key("/key", nil), watch.FailureMalformed, "0 bytes"},
		"a key in an app":         {&watch.Key{URI: "skd://app/videoplayback?key=s3cr3t", IV: anIV}, watch.FailureNetwork, "neither http nor https"},
		"a key nowhere":           {&watch.Key{IV: anIV}, watch.FailureNetwork, "neither http nor https"},
	} {
		t.Run(name, func(t *testing.T) {
			v.asked = map[string]int{}
			_, err := fetch(t, newClient(t, nil), watch.Segment{URI: base + "/segment", Key: c.key})
			wantFailure(t, err, c.kind, c.says)
			_, err = fetch(t, newClient(t, nil), watch.Segment{URI: base + "/segment", Init: &watch.Init{URI: base + "/section", Key: c.key}})
			wantFailure(t, err, c.kind, c.says)
			if c.kind != watch.FailureUndecodable && v.asked["/segment"]+v.asked["/section"] > 0 {
				t.Error("what cannot be decrypted was asked for")
			}
		})
	}
}

func TestEncryptedSegmentsAreAsLargeAsOthers(t *testing.T) {
	const limit = 1 << 20
	at, over := encrypt(t, aKey, anIV, padded(make([]byte, limit-1))), encrypt(t, aKey, anIV, padded(make([]byte, limit)))
	v := &vault{asked: map[string]int{}, files: map[string][]byte{"/key": aKey, "/at": at, "/over": over}}
	base := serve(t, v.serve)
	c := newClient(t, func(c *media.Config) { c.MaxSegment = limit })
	key := &watch.Key{URI: base + "/key", IV: anIV}
	if media.MaxInit != limit {
		t.Fatal("at and over are of the limit of sections too")
	}
	got, err := fetch(t, c, watch.Segment{URI: base + "/at", Key: key, Init: &watch.Init{URI: base + "/at", Key: key}})
	if err != nil || len(got) != 2*(limit-1) {
		t.Errorf("at the limit: %d bytes, %v", len(got), err)
	}
	for name, s := range map[string]watch.Segment{
		"a segment": {URI: base + "/over", Key: key},
		"a section": {URI: base + "/at", Key: key, Init: &watch.Init{URI: base + "/over", Key: key}},
	} {
		t.Run(name+" a block larger is too large", func(t *testing.T) {
			_, err := fetch(t, c, s)
			wantFailure(t, err, watch.FailureTooLarge, "")
		})
	}
}

// resources are what a segment is made of, each of which may be the one that
// makes trouble.
var resources = []string{"/segment", "/section", "/key", "/other"}

// madeOf makes a segment of resources of a server, all of them encrypted.
func madeOf(base string) watch.Segment {
	return watch.Segment{
		URI: base + "/segment", Key: &watch.Key{URI: base + "/key", IV: anIV},
		Init: &watch.Init{URI: base + "/section", Key: &watch.Key{URI: base + "/other", IV: anIV}},
	}
}

// plainVault has what madeOf asks for.
func plainVault(t *testing.T) *vault {
	t.Helper()
	return &vault{asked: map[string]int{}, files: map[string][]byte{
		"/key": aKey, "/other": anIV, "/segment": encrypt(t, aKey, anIV, padded([]byte("media"))), "/section": encrypt(t, anIV, anIV, padded([]byte("section"))),
	}}
}

func TestRedirectsOfEachResource(t *testing.T) {
	for _, resource := range resources {
		for hops, allowed := range map[int]bool{media.MaxRedirects: true, media.MaxRedirects + 1: false} {
			t.Run(fmt.Sprintf("%d of %s", hops, resource), func(t *testing.T) {
				v := plainVault(t)
				base := serve(t, func(w http.ResponseWriter, r *http.Request, release <-chan struct{}) {
					left, _ := strconv.Atoi(r.URL.Query().Get("left"))
					if r.URL.Path == resource && r.URL.RawQuery == "" {
						left = hops
					}
					if left > 0 {
						http.Redirect(w, r, fmt.Sprintf("%s?left=%d", resource, left-1), http.StatusFound)
						return
					}
					v.serve(w, r, release)
				})
				got, err := fetch(t, newClient(t, nil), madeOf(base))
				if allowed && (err != nil || string(got) != "sectionmedia") {
					t.Errorf("got %q, %v", got, err)
				}
				if !allowed {
					wantFailure(t, err, watch.FailureNetwork, "more redirects")
				}
			})
		}
	}
}

// A server that takes a third of the time for each of four resources has taken
// it all before the last.
func TestOneClockRunsForAllResources(t *testing.T) {
	v := plainVault(t)
	late := func(w http.ResponseWriter, r *http.Request, release <-chan struct{}) {
		select {
		case <-time.After(200 * time.Millisecond): // what is tested is that this much passes
			v.serve(w, r, release)
		case <-release:
		}
	}
	base := serve(t, late)
	began := time.Now()
	_, err := fetch(t, newClient(t, func(c *media.Config) { c.Total = 600 * time.Millisecond }), madeOf(base))
	wantFailure(t, err, watch.FailureNetwork, "too long in all")
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
	if got, err := fetch(t, newClient(t, nil), madeOf(base)); err != nil || string(got) != "sectionmedia" {
		t.Errorf("with time enough: %q, %v", got, err)
	}
}

func TestEachResourceMayBeTheSlowOne(t *testing.T) {
	for _, resource := range resources {
		t.Run(resource, func(t *testing.T) {
			v := plainVault(t)
			base := serve(t, func(w http.ResponseWriter, r *http.Request, release <-chan struct{}) {
				if r.URL.Path == resource {
					w.(http.Flusher).Flush()
					<-release
					return
				}
				v.serve(w, r, release)
			})
			_, err := fetch(t, newClient(t, func(c *media.Config) { c.Stall = 100 * time.Millisecond }), madeOf(base))
			wantFailure(t, err, watch.FailureNetwork, "nothing came")
		})
	}
}
