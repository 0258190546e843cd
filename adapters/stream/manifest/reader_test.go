package manifest_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

var _ worker.PlaylistReader = (*manifest.Reader)(nil)

const (
	requested = "https://manifest.example.com/asked?key=s3cr3t"
	finalURL  = "https://cdn.example.com/live/index?key=s3cr3t"
)

// fakeFormat recognises manifests that begin with its name, and records the arguments of
// Decode.
type fakeFormat struct {
	name             string
	err              error
	body, base, part string
	decoded          int
}

func (f *fakeFormat) Recognises(body []byte) bool { return strings.HasPrefix(string(body), f.name) }

func (f *fakeFormat) Decode(_ context.Context, body []byte, from reference.Origin, part string) (watch.Playlist, error) {
	f.decoded++
	f.body, f.base, f.part = string(body), from.URL, part
	return watch.Playlist{TargetDuration: time.Second, Segments: []watch.Segment{{URI: f.name}}}, f.err
}

// readManifest reads url, which returns body.
func readManifest(t *testing.T, url, body string, formats ...manifest.Format) watch.Playlist {
	t.Helper()
	fetch := func(ctx context.Context, got string, limit int64) ([]byte, reference.Origin, error) {
		if address, _, _ := strings.Cut(url, "#"); got != address || limit != manifest.MaxSize || ctx != t.Context() {
			t.Errorf("asked for %d bytes of %s", limit, got)
		}
		return []byte(body), reference.Origin{URL: finalURL}, nil
	}
	return manifest.NewReader(fetch, formats...).ReadPlaylist(t.Context(), url)
}

func TestAManifestGoesToTheFormatThatRecognisesIt(t *testing.T) {
	for body, want := range map[string]string{"one, and more": "one", "two": "two"} {
		one, two := &fakeFormat{name: "one"}, &fakeFormat{name: "two"}
		got := readManifest(t, requested, body, one, two)
		if want := (watch.Playlist{
			URL: requested, TargetDuration: time.Second, Segments: []watch.Segment{{URI: want}},
		}); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		if one.decoded+two.decoded != 1 {
			t.Errorf("one decoded %d times, two %d", one.decoded, two.decoded)
		}
		for _, f := range []*fakeFormat{one, two} {
			if f.decoded == 1 && (f.body != body || f.base != finalURL || f.part != "") {
				t.Errorf("%s was given %q from %q, part %q", f.name, f.body, f.base, f.part)
			}
		}
	}
	first, second := &fakeFormat{name: "a"}, &fakeFormat{name: "a"} // both recognise it
	if p := readManifest(t, requested+"#video/1#2", "a", first, second); first.part != "video/1#2" || p.URL != requested+"#video/1#2" || first.decoded != 1 || second.decoded != 0 {
		t.Errorf("part %q, URL %q; decoded %d and %d times", first.part, p.URL, first.decoded, second.decoded)
	}
	for name, body := range map[string]string{"nothing": "", "a page": "<html>", "a format in second place": " a"} {
		t.Run(name+" is malformed", func(t *testing.T) {
			f := &fakeFormat{name: "a"}
			p := readManifest(t, requested, body, f)
			if p.Failure == nil || p.Failure.Kind != watch.FailureMalformed || p.Segments != nil || f.decoded > 0 {
				t.Errorf("got %+v", p)
			}
		})
	}
}

func TestAManifestLargerThanTheLimitIsRefused(t *testing.T) {
	body := "a" + strings.Repeat(" ", manifest.MaxSize-1)
	if p := readManifest(t, requested, body, &fakeFormat{name: "a"}); p.Failure != nil {
		t.Errorf("at the limit: %v", p.Failure)
	}
	f := &fakeFormat{name: "a"}
	if p := readManifest(t, requested, body+" ", f); p.Failure == nil || p.Failure.Kind != watch.FailureTooLarge || f.decoded > 0 {
		t.Errorf("one byte over it: %+v", p)
	}
}

func TestAFailureIsPartOfThePlaylistAndHoldsNoURL(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want watch.FailureKind
	}{
		"an expired URL stays one":                            {watch.NewFailure(watch.FailureExpired, "x: answered 404"), watch.FailureExpired},
		"a failure may be wrapped":                            {errors.Join(watch.NewFailure(watch.FailureTooLarge, "x")), watch.FailureTooLarge},
		"another error is a network failure without its text": {errors.New("Get " + finalURL + ": boom"), watch.FailureNetwork},
	} {
		t.Run(name, func(t *testing.T) {
			fetch := func(context.Context, string, int64) ([]byte, reference.Origin, error) {
				return nil, reference.Origin{}, c.err
			}
			unfetched := manifest.NewReader(fetch).ReadPlaylist(t.Context(), requested)
			for _, p := range []watch.Playlist{unfetched, readManifest(t, requested, "a", &fakeFormat{name: "a", err: c.err})} {
				if p.Failure == nil || p.Failure.Kind != c.want || strings.Contains(p.Failure.Detail, "s3cr3t") {
					t.Errorf("got %v", p.Failure)
				}
				if p.URL != requested || p.Segments != nil || p.TargetDuration != 0 {
					t.Errorf("got %+v", p)
				}
			}
		})
	}
}
