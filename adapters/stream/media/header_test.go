package media_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// A server refuses whatever lacks the header that goes with the manifest. Another one, to which it redirects, sees none
// of it, and the way back gives it no second time: whoever redirects decides the path.
func TestTheHeaderOfAManifestGoesWithItsMediaAndNowhereElse(t *testing.T) {
	const cookie = "session=c00kie"
	var strangers atomic.Int64
	var base string
	elsewhere := serve(t, func(w http.ResponseWriter, r *http.Request) {
		strangers.Add(1)
		for _, name := range []string{"X-Token", "Referer", "Cookie", "Authorization"} {
			if value := r.Header.Get(name); value != "" {
				t.Errorf("another origin gets %s: %s", name, value)
			}
		}
		if r.URL.Path == "/back" {
			http.Redirect(w, r, base+"/returned", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "elsewhere")
	})
	elsewhere = strings.Replace(elsewhere, "127.0.0.1", "localhost", 1) // cookies know no ports
	base = serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch complete := r.Header.Get("X-Token") == "s3cr3t" && r.Header.Get("Cookie") == cookie; {
		case r.URL.Path == "/returned":
			if r.Header.Get("X-Token") != "" {
				t.Error("the header is there again after another origin")
			}
		case !complete || r.UserAgent() != "browser":
			t.Errorf("%s came with %v", r.URL.Path, r.Header)
		}
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/playlist", http.StatusFound)
		case "/away":
			http.Redirect(w, r, elsewhere+"/x", http.StatusFound)
		case "/round":
			http.Redirect(w, r, elsewhere+"/back", http.StatusFound)
		case "/key":
			_, _ = w.Write(testKey)
		case "/segment", "/init":
			_, _ = w.Write(encryptCBC(t, testKey, testIV, pad([]byte("media"))))
		}
	})
	c := newClient(t, nil)
	header := watch.NewRequestHeader(
		map[string]string{"User-Agent": "browser", "X-Token": "s3cr3t", "Referer": "https://site.test/", "Authorization": "Bearer s3cr3t"},
		[]watch.Cookie{{Name: "session", Value: "c00kie", Domain: "127.0.0.1"}}, []string{base + "/playlist"})
	ctx := request.WithHeader(withTimeout(t), header)
	for _, path := range []string{"/playlist", "/moved", "/away", "/round"} {
		if _, _, err := c.Get(ctx, base+path, 100); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, _, err := c.Get(ctx, elsewhere+"/named", 100); err != nil { // a playlist may name any server
		t.Error(err)
	}
	if n := strangers.Load(); n != 3 {
		t.Errorf("the other origin got %d requests", n)
	}
	key := &watch.Key{URI: base + "/key", IV: testIV}
	body := must.Get(c.FetchSegment(ctx, watch.Segment{URI: base + "/segment", Init: &watch.Init{URI: base + "/init", Key: key}, Key: key}))(t)
	if text := must.Get(io.ReadAll(body))(t); string(text) != "mediamedia" {
		t.Errorf("the segment has %q", text)
	}
	must.Do(t, body.Close())
}
