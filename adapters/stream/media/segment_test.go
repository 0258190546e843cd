package media_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const resource = "0123456789abcdefghijklmnopqrstuvwxyz"

func byteRange(offset, length int64) *watch.ByteRange {
	return &watch.ByteRange{Offset: offset, Length: length}
}

func TestASegmentFollowsItsInitSection(t *testing.T) {
	files := func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(strings.TrimPrefix(r.URL.Path, "/")+resource))
	}
	whole := func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Range")
		files(w, r)
	}
	cases := map[string]struct {
		segment watch.Segment // URIs are paths
		want    string
	}{
		"without anything":              {watch.Segment{URI: "/s"}, "s" + resource},
		"of a byte range":               {watch.Segment{URI: "/", Range: byteRange(10, 3)}, "abc"},
		"of a byte range at the start":  {watch.Segment{URI: "/", Range: byteRange(0, 2)}, "01"},
		"of a byte range at the end":    {watch.Segment{URI: "/", Range: byteRange(34, 2)}, "yz"},
		"after its init section":        {watch.Segment{URI: "/s", Init: &watch.Init{URI: "/i"}}, "i" + resource + "s" + resource},
		"and its init section in parts": {watch.Segment{URI: "/", Range: byteRange(1, 2), Init: &watch.Init{URI: "/", Range: byteRange(0, 1)}}, "012"},
	}
	for server, handle := range map[string]http.HandlerFunc{
		"that knows ranges": files, "that always sends the whole": whole,
	} {
		for name, c := range cases {
			t.Run("a segment "+name+" from a server "+server, func(t *testing.T) {
				base := serve(t, handle)
				s := c.segment
				s.URI = base + s.URI
				if s.Init != nil {
					s.Init = &watch.Init{URI: base + s.Init.URI, Range: s.Init.Range}
				}
				client := newClient(t, nil)
				got := must.Get(fetch(t, client, s))(t)
				expect.Equal(t, "got", string(got), c.want)
				body := must.Get(client.FetchSegment(t.Context(), s))(t)
				defer body.Close()
				if sized, ok := body.(interface{ Size() int64 }); !ok || sized.Size() != int64(len(c.want)) {
					t.Errorf("its body does not announce %d bytes: %v", len(c.want), sized)
				}
			})
		}
		t.Run("a byte range beyond the end from a server "+server+" is truncated", func(t *testing.T) {
			base := serve(t, handle)
			for _, r := range []*watch.ByteRange{byteRange(30, 7), byteRange(36, 1), byteRange(99, 1)} {
				wantFetchFailure(t, newClient(t, nil), watch.Segment{URI: base + "/", Range: r}, watch.FailureTruncated, "127.0.0.1")
			}
		})
	}
	t.Run("another byte range than the requested one is refused", func(t *testing.T) {
		for _, answer := range []string{"bytes 0-2/36", "bytes 10-13/36", "bytes 10-9/36", "", "bytes */36", "items 10-12/36"} {
			base := rawServer(t, "HTTP/1.1 206 Partial\r\nContent-Range: "+answer+"\r\nContent-Length: 3\r\n\r\nabc", false)
			wantFetchFailure(t, newClient(t, nil), watch.Segment{URI: base + secret, Range: byteRange(10, 3)}, watch.FailureNetwork, "another range")
		}
	})
	t.Run("an init section that has expired is an expired segment", func(t *testing.T) {
		base := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/i" {
				w.WriteHeader(http.StatusForbidden)
			}
		})
		wantFetchFailure(t, newClient(t, nil), watch.Segment{URI: base + "/s", Init: &watch.Init{URI: base + "/i?key=s3cr3t"}}, watch.FailureRefused, "answered 403")
	})
}

// sized answers with as many bytes as the path says.
func sized(announced bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.ParseInt(r.URL.Path[1:], 10, 64)
		if announced {
			httpfault.Zeros(n)(w, r, nil)
		} else {
			httpfault.Endless(n)(w, r, nil)
		}
	}
}

func TestTheSizeOfASegmentIsLimited(t *testing.T) {
	const limit = 1 << 20
	if media.MaxInit != limit {
		t.Fatal("the test needs equal limits for segments and init sections")
	}
	for _, announced := range []bool{true, false} {
		base := serve(t, sized(announced))
		of := func(n int) string { return fmt.Sprintf("%s/%d", base, n) }
		c := newClient(t, func(c *media.Config) { c.MaxSegment = limit })
		got, err := fetch(t, c, watch.Segment{URI: of(limit), Init: &watch.Init{URI: of(limit)}})
		if err != nil || len(got) != 2*limit {
			t.Errorf("at the limit, announced %v: %d bytes, %v", announced, len(got), err)
		}
		got, err = fetch(t, c, watch.Segment{URI: of(limit + 1)})
		wantFailure(t, err, watch.FailureTooLarge, "")
		if len(got) > limit {
			t.Errorf("got %d bytes beyond the limit", len(got))
		}
		wantFetchFailure(t, c, watch.Segment{URI: of(1), Init: &watch.Init{URI: of(limit + 1)}}, watch.FailureTooLarge, "")
	}
	base := serve(t, sized(true))
	c := newClient(t, func(c *media.Config) { c.MaxSegment = 100 })
	if got, err := fetch(t, c, watch.Segment{URI: base + "/1000", Range: byteRange(100, 100)}); err != nil || len(got) != 100 {
		t.Errorf("at the limit: %d bytes, %v", len(got), err)
	}
	for name, s := range map[string]watch.Segment{
		"announced as too large": {URI: base + "/101"}, "a longer range": {URI: base + "/1000", Range: byteRange(0, 101)}, "a range beyond it": {URI: base + "/1000", Range: byteRange(101, 1)},
	} {
		_, err := c.FetchSegment(withTimeout(t), s) // nothing is read
		if _, failed := errors.AsType[*watch.Failure](err); !failed {
			t.Errorf("%s: begun, %v", name, err)
		}
	}
}

func TestTheMirrorThatAnsweredIsTriedFirst(t *testing.T) {
	var asked []string // one after another
	gone := ""
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		server := strings.Split(r.URL.Path, "/")[1]
		if asked = append(asked, server); strings.Contains(gone, server) {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	c := newClient(t, nil)
	for i, step := range []struct{ gone, folders, want string }{
		{"a", "a b c", "a b"},
		{"a", "a b c", "b"},
		{"b", "a b c", "b c"},
		{"abc", "a b c", "c a b"},
		{"", "a b", "a"}, // the third is no longer named
		{"", "d b", "d"},
	} {
		gone, asked = step.gone, nil
		var urls []string
		for folder := range strings.FieldsSeq(step.folders) {
			urls = append(urls, fmt.Sprintf("%s/%s/%d", base, folder, i))
		}
		_, _ = fetch(t, c, watch.Segment{URI: urls[0], Mirrors: urls[1:]})
		if got := strings.Join(asked, " "); got != step.want {
			t.Errorf("fetch %d asked %s, want %s", i, got, step.want)
		}
	}
}

func TestASegmentIsTriedAtItsMirrors(t *testing.T) {
	statuses := map[string]int{"gone": http.StatusNotFound, "busy": http.StatusServiceUnavailable}
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if status := statuses[strings.Split(r.URL.Path, "/")[1]]; status != 0 {
			w.WriteHeader(status)
			return
		}
		_, _ = io.WriteString(w, r.URL.Path)
	})
	segment := func(folders ...string) watch.Segment {
		s := watch.Segment{Init: &watch.Init{}}
		for i, folder := range folders {
			if uri, init := base+folder+"/s", base+folder+"/i"; i == 0 {
				s.URI, s.Init.URI = uri, init
			} else {
				s.Mirrors, s.Init.Mirrors = append(s.Mirrors, uri), append(s.Init.Mirrors, init)
			}
		}
		return s
	}
	for want, s := range map[string]watch.Segment{
		"/a/i/a/s": segment("/a", "/b"),
		"/b/i/b/s": segment("/gone", "/busy", "/b", "/c"),
	} {
		if got, err := fetch(t, newClient(t, nil), s); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	unchanged := segment("/gone", "/b")
	if _, err := fetch(t, newClient(t, nil), unchanged); err != nil || unchanged.Init.URI != base+"/gone/i" {
		t.Errorf("%v; the caller's segment became %+v", err, unchanged.Init)
	}
	expect.Failed(fetch(t, newClient(t, nil), segment("/gone", "/busy")))(t, "answered 404")
}
