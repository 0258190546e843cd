package manifest_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

var _ worker.PlaylistReader = (*manifest.Reader)(nil)

const (
	askedFor = "https://manifest.example.com/asked?key=s3cr3t"
	cameFrom = "https://cdn.example.com/live/index?key=s3cr3t"
)

// format recognises manifests that begin with its own name, and notes what it
// was given.
type format struct {
	name             string
	err              error
	body, base, part string
	asked            int
}

func (f *format) Recognises(body []byte) bool { return strings.HasPrefix(string(body), f.name) }

func (f *format) Decode(_ context.Context, body []byte, base, part string) (watch.Playlist, error) {
	f.asked++
	f.body, f.base, f.part = string(body), base, part
	return watch.Playlist{TargetDuration: time.Second, Segments: []watch.Segment{{URI: f.name}}}, f.err
}

// readManifest has a Reader read url, which holds body.
func readManifest(t *testing.T, url, body string, formats ...manifest.Format) watch.Playlist {
	t.Helper()
	fetch := func(ctx context.Context, got string, limit int64) ([]byte, string, error) {
		if address, _, _ := strings.Cut(url, "#"); got != address || limit != manifest.MaxSize || ctx != t.Context() {
			t.Errorf("asked for %d bytes of %s", limit, got)
		}
		return []byte(body), cameFrom, nil
	}
	return manifest.NewReader(fetch, formats...).ReadPlaylist(t.Context(), url)
}

func TestAManifestGoesToTheFormatThatRecognisesIt(t *testing.T) {
	for body, want := range map[string]string{"one, and more": "one", "two": "two"} {
		one, two := &format{name: "one"}, &format{name: "two"}
		got := readManifest(t, askedFor, body, one, two)
		if want := (watch.Playlist{
			URL: askedFor, TargetDuration: time.Second, Segments: []watch.Segment{{URI: want}},
		}); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		if one.asked+two.asked != 1 {
			t.Errorf("one was asked %d times, two %d", one.asked, two.asked)
		}
		for _, f := range []*format{one, two} {
			if f.asked == 1 && (f.body != body || f.base != cameFrom || f.part != "") {
				t.Errorf("%s was given %q from %q, part %q", f.name, f.body, f.base, f.part)
			}
		}
	}
	t.Run("the first of two that do", func(t *testing.T) {
		first, second := &format{name: "a"}, &format{name: "a"}
		readManifest(t, askedFor, "a", first, second)
		if first.asked != 1 || second.asked != 0 {
			t.Errorf("asked %d and %d times", first.asked, second.asked)
		}
	})
	t.Run("the fragment of the URL names a part and is not asked for", func(t *testing.T) {
		f := &format{name: "a"}
		if p := readManifest(t, askedFor+"#video/1#2", "a", f); f.part != "video/1#2" || p.URL != askedFor+"#video/1#2" {
			t.Errorf("part %q, URL %q", f.part, p.URL)
		}
	})
	for name, body := range map[string]string{"nothing": "", "a page": "<html>", "a format in second place": " a"} {
		t.Run(name+" is malformed", func(t *testing.T) {
			f := &format{name: "a"}
			p := readManifest(t, askedFor, body, f)
			if p.Failure == nil || p.Failure.Kind != watch.FailureMalformed || p.Segments != nil || f.asked > 0 {
				t.Errorf("got %+v", p)
			}
		})
	}
}

func TestAManifestLargerThanTheLimitIsRefused(t *testing.T) {
	body := "a" + strings.Repeat(" ", manifest.MaxSize-1)
	if p := readManifest(t, askedFor, body, &format{name: "a"}); p.Failure != nil {
		t.Errorf("at the limit: %v", p.Failure)
	}
	f := &format{name: "a"}
	if p := readManifest(t, askedFor, body+" ", f); p.Failure == nil || p.Failure.Kind != watch.FailureTooLarge || f.asked > 0 {
		t.Errorf("one byte over it: %+v", p)
	}
}

func TestAFailureIsPartOfThePlaylistAndHoldsNoURL(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want watch.FailureKind
	}{
		"an expired URL stays one":                {watch.NewFailure(watch.FailureExpired, "x: answered 403"), watch.FailureExpired},
		"a failure may be wrapped":                {errors.Join(watch.NewFailure(watch.FailureTooLarge, "x")), watch.FailureTooLarge},
		"another error is of the network, unsaid": {errors.New("Get " + cameFrom + ": boom"), watch.FailureNetwork},
	} {
		t.Run(name, func(t *testing.T) {
			fetch := func(context.Context, string, int64) ([]byte, string, error) { return nil, "", c.err }
			unfetched := manifest.NewReader(fetch).ReadPlaylist(t.Context(), askedFor)
			for _, p := range []watch.Playlist{unfetched, readManifest(t, askedFor, "a", &format{name: "a", err: c.err})} {
				if p.Failure == nil || p.Failure.Kind != c.want || strings.Contains(p.Failure.Detail, "s3cr3t") {
					t.Errorf("got %v", p.Failure)
				}
				if p.URL != askedFor || p.Segments != nil || p.TargetDuration != 0 {
					t.Errorf("got %+v", p)
				}
			}
		})
	}
}
