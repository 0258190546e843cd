package hls_test

import (
	"bytes"
	"math"
	"math/big"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	oracle "github.com/Eyevinn/hls-m3u8/m3u8"

	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// checkOracle compares p with the oracle's playlist of the same text. The oracle
// is the decoder of another library.
func checkOracle(t *testing.T, p watch.Playlist, text string) {
	t.Helper()
	list, ok := decodeWithOracle(text)
	if !ok {
		return
	}
	switch list := list.(type) {
	case *oracle.MasterPlaylist:
		compareVariants(t, p.Renditions, list)
	case *oracle.MediaPlaylist:
		compareSegments(t, p, list)
	}
}

// decodeWithOracle returns false if the oracle does not accept text. It changes
// the text first where the oracle differs from this package. The oracle:
//   - keeps white space around lines, which RFC 8216 does not allow;
//   - takes any tag that begins with EXT-X-GAP for a gap;
//   - uses the first of two byte ranges of a segment;
//   - does not accept quotes around the byte range of a map.
func decodeWithOracle(text string) (list oracle.Playlist, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	lines := strings.Split(text, "\n")
	rangeLine := -1
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
		rest, gap := strings.CutPrefix(lines[i], "#EXT-X-GAP")
		switch {
		case gap && rest != "":
			lines[i] = "#"
		case strings.HasPrefix(lines[i], "#EXT-X-MAP:"):
			lines[i] = quotedRange.ReplaceAllString(lines[i], "$1$2")
		case strings.HasPrefix(lines[i], "#EXT-X-BYTERANGE:"):
			if rangeLine >= 0 {
				lines[rangeLine] = "#"
			}
			rangeLine = i
		case lines[i] != "" && lines[i][0] != '#':
			rangeLine = -1
		}
	}
	list, _, err := oracle.DecodeFrom(strings.NewReader(strings.Join(lines, "\n")), true)
	return list, err == nil
}

var quotedRange = regexp.MustCompile(`([:, \t]BYTERANGE=)"(\d+@\d+)"`)

func compareSegments(t *testing.T, p watch.Playlist, list *oracle.MediaPlaylist) {
	t.Helper()
	all := list.GetAllSegments()
	init, key := list.Map, oracle.Key{}
	first, index := max(0, len(all)-hls.KeptSegments), 0
	for i, want := range all {
		if want.Map != nil {
			init = want.Map
		}
		key = applyKeys(key, want.Keys)
		if want.Gap || i < first {
			continue
		}
		if index == len(p.Segments) {
			t.Fatalf("%d segments, the oracle has more", index)
		}
		got := p.Segments[index]
		index++
		durationError := math.Abs(got.Duration.Seconds() - want.Duration)
		if got.URI != absolute(t, want.URI) || durationError > time.Nanosecond.Seconds() || got.Sequence != want.SeqId+list.SkippedSegments() {
			t.Errorf("segment %d: %+v, the oracle has %+v", i, got, want)
		}
		compareRange(t, got.Range, want.Limit, want.Offset)
		compareKey(t, got, key)
		switch {
		case (got.Init == nil) != (init == nil):
			t.Errorf("segment %d: map %+v, the oracle has %+v", i, got.Init, init)
		case init != nil:
			if got.Init.URI != absolute(t, init.URI) {
				t.Errorf("segment %d: map %+v, the oracle has %+v", i, got.Init, init)
			}
			compareRange(t, got.Init.Range, init.Limit, init.Offset)
		}
	}
	if index != len(p.Segments) || list.Closed != p.Ended {
		t.Fatalf("%d segments, ended: %v; the oracle has %d, %v", len(p.Segments), p.Ended, index, list.Closed)
	}
}

// compareRange ignores the offset if the oracle has none: the oracle does not
// derive it from the range before.
func compareRange(t *testing.T, got *watch.ByteRange, length, offset int64) {
	t.Helper()
	if got == nil {
		got = &watch.ByteRange{}
	}
	if got.Length != length || offset != 0 && got.Offset != offset {
		t.Errorf("range %+v, the oracle has %d@%d", got, length, offset)
	}
}

// applyKeys returns the usable key after these tags: one without DRM.
func applyKeys(key oracle.Key, tags []oracle.Key) oracle.Key {
	for _, k := range tags {
		switch method := strings.Trim(k.Method, `"`); {
		case method == "NONE":
			key = oracle.Key{}
		case k.Keyformat == "" || k.Keyformat == "identity":
			key = k
		}
	}
	return key
}

func compareKey(t *testing.T, got watch.Segment, want oracle.Key) {
	t.Helper()
	if (got.Key == nil) != (want.Method == "") {
		t.Fatalf("key %+v, the oracle has %+v", got.Key, want)
	}
	if got.Key == nil {
		return
	}
	iv := new(big.Int).SetUint64(got.Sequence)
	if want.IV != "" {
		iv, _ = new(big.Int).SetString(strings.Trim(want.IV, `"`)[len("0x"):], 16)
	}
	if got.Key.URI != absolute(t, want.URI) || !bytes.Equal(got.Key.IV, iv.FillBytes(make([]byte, 16))) {
		t.Errorf("key %+v, the oracle has %+v", got.Key, want)
	}
}

// absolute resolves a reference against the playlist's URL.
func absolute(t *testing.T, text string) string {
	t.Helper()
	base, err := url.Parse(playlistURL)
	if err != nil {
		t.Fatal(err)
	}
	u, err := base.Parse(text)
	if err != nil {
		if u, ok := reference.Resolve(base, text, hls.MaxURL); ok { // the name is repaired
			return u.String()
		}
		return ""
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}
