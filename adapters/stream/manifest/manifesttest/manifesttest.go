// Package manifesttest is shared by the tests of the formats of manifests: it decodes, and checks
// what every format guarantees.
package manifesttest

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// Secret is a part of the URLs of manifests that no failure may show.
const Secret = "s3cr3t"

// Noon is the time of the tests.
var Noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Decode decodes the part of a manifest that was fetched from a URL. An error is the playlist's
// Failure; it is one line without a secret, and then there are no contents.
func Decode(ctx context.Context, t testing.TB, f manifest.Format, text, from, part string) watch.Playlist {
	t.Helper()
	p, err := f.Decode(ctx, []byte(text), reference.Origin{URL: from}, part)
	if err == nil {
		return p
	}
	if p.Renditions != nil || p.Segments != nil || p.Ended || p.TargetDuration != 0 {
		t.Errorf("the playlist of a failed decoding has contents: %+v", p)
	}
	if p.Failure, _ = errors.AsType[*watch.Failure](err); p.Failure == nil {
		t.Fatalf("the error is not a watch.Failure: %v", err)
	}
	if d := p.Failure.Detail; strings.Contains(d, Secret) || strings.ContainsAny(d, "\r\n") || len(d) > 1000 {
		t.Errorf("the failure's detail has a secret, a line break or more than 1000 bytes: %q", d)
	}
	return p
}

// WantMalformed checks that a manifest was refused with this detail.
func WantMalformed(t testing.TB, p watch.Playlist, detail string) {
	t.Helper()
	if p.Failure == nil || p.Failure.Kind != watch.FailureMalformed || !strings.Contains(p.Failure.Detail, detail) {
		t.Fatalf("got %v with %d segments and %d renditions, want malformed with %q", p.Failure, len(p.Segments), len(p.Renditions), detail)
	}
}

var lineNumber = regexp.MustCompile(`\bline [0-9]`)

// WantDefect checks what was left out or repaired. It names no line.
func WantDefect(t testing.TB, p watch.Playlist, want string) {
	t.Helper()
	if (p.Defect == "") != (want == "") || !strings.Contains(p.Defect, want) || lineNumber.MatchString(p.Defect) {
		t.Errorf("defect %q, want %q", p.Defect, want)
	}
}

// TestStopped checks that a decoding ends with its context or after a time. A panic of a library, or
// a URL that is malformed, costs one manifest.
func TestStopped(t *testing.T, f manifest.Format, text string, after time.Duration) {
	const from = "https://cdn.example.com/?key=" + Secret
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for name, c := range map[string]struct {
		ctx  context.Context
		from string
		want watch.FailureKind
	}{
		"stopped by its caller":   {stopped, from, watch.FailureNetwork},
		"a base URL that is none": {t.Context(), "http://[::1", watch.FailureMalformed},
		"a panic of the library":  {panickingContext{t.Context()}, from, watch.FailureMalformed},
	} {
		if p := Decode(c.ctx, t, f, text, c.from, ""); p.Failure == nil || p.Failure.Kind != c.want {
			t.Errorf("%s: failure %v", name, p.Failure)
		}
	}
	for delay, decoded := range map[time.Duration]bool{after - 1: true, after: false} {
		synctest.Test(t, func(t *testing.T) {
			p := Decode(slowContext{t.Context(), delay, &sync.Once{}}, t, f, text, from, "")
			if (p.Failure == nil) != decoded || !decoded && p.Failure.Kind != watch.FailureMalformed {
				t.Errorf("after %v: failure %v, want a decoded playlist: %v", delay, p.Failure, decoded)
			}
		})
	}
}

// slowContext sleeps on the first call of Done: after the decoder has set its deadline.
type slowContext struct {
	context.Context
	delay time.Duration
	once  *sync.Once
}

func (c slowContext) Done() <-chan struct{} {
	c.once.Do(func() { time.Sleep(c.delay) })
	return nil
}

// panickingContext panics when the decoder derives its deadline, as a faulty library would.
type panickingContext struct{ context.Context }

func (panickingContext) Done() <-chan struct{} { panic("index out of range") }

// Limits are those of a format's playlists.
type Limits struct {
	Segments, Renditions, URL int
	RangeEnd                  int64
	MinDuration, MaxDuration  time.Duration // of a segment
}

// CheckPlaylist checks a decoded playlist: each number is within limits, each URL can be fetched,
// and it can be stored as JSON.
func CheckPlaylist(t testing.TB, p watch.Playlist, l Limits) {
	t.Helper()
	if len(p.Renditions) > 0 == (len(p.Segments) > 0 || p.Ended) {
		t.Errorf("a playlist needs either renditions or segments: %+v", p)
	}
	if len(p.Segments) > l.Segments || len(p.Renditions) > l.Renditions {
		t.Errorf("%d segments, %d renditions: more than the limits", len(p.Segments), len(p.Renditions))
	}
	must.Get(json.Marshal(p))(t)
	for _, r := range p.Renditions {
		checkURL(t, r.URL, l)
		if r.Height < 0 || r.Bandwidth < 0 || !r.HasVideo && !r.HasAudio && !r.HasCaptions || r.Alternate && !r.HasAudio {
			t.Errorf("rendition %+v", r)
		}
	}
	for i, s := range p.Segments {
		checkURL(t, s.URI, l)
		if s.Duration < l.MinDuration || s.Duration > l.MaxDuration {
			t.Errorf("segment %d: %+v", i, s)
		}
		ranges, keys := []*watch.ByteRange{s.Range}, []*watch.Key{s.Key}
		if s.Init != nil {
			checkURL(t, s.Init.URI, l)
			ranges, keys = append(ranges, s.Init.Range), append(keys, s.Init.Key)
		}
		for _, r := range ranges {
			if r != nil && (r.Offset < 0 || r.Length <= 0 || r.Offset+r.Length > l.RangeEnd) {
				t.Errorf("segment %d: range %+v", i, r)
			}
		}
		for _, k := range keys {
			if k == nil {
				continue
			}
			if checkURL(t, k.URI, l); len(k.IV) != 16 {
				t.Errorf("segment %d: an IV of %d bytes", i, len(k.IV))
			}
		}
	}
}

func checkURL(t testing.TB, raw string, l Limits) {
	t.Helper()
	address, _, _ := strings.Cut(raw, "#") // a part of a manifest
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.ContainsAny(raw, "\r\n\x00") || len(address) > l.URL {
		t.Errorf("%q is not a URL that can be fetched", raw)
	}
}
