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

	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// checkOracle compares p with what the oracle makes of text.
func checkOracle(t *testing.T, p watch.Playlist, text string) {
	t.Helper()
	list, ok := askOracle(text)
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

// askOracle is false when the oracle does not accept text. White space around
// lines, which RFC 8216 does not allow, the oracle would take for part of them,
// and any tag that begins like a gap for one; of two byte ranges of one segment
// it takes the first, and of a map's it does not see the quotes.
func askOracle(text string) (list oracle.Playlist, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	lines := strings.Split(text, "\n")
	ranged := -1
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
		rest, gap := strings.CutPrefix(lines[i], "#EXT-X-GAP")
		switch {
		case gap && rest != "":
			lines[i] = "#"
		case strings.HasPrefix(lines[i], "#EXT-X-MAP:"):
			lines[i] = quoted.ReplaceAllString(lines[i], "$1$2")
		case strings.HasPrefix(lines[i], "#EXT-X-BYTERANGE:"):
			if ranged >= 0 {
				lines[ranged] = "#"
			}
			ranged = i
		case lines[i] != "" && lines[i][0] != '#':
			ranged = -1
		}
	}
	list, _, err := oracle.DecodeFrom(strings.NewReader(strings.Join(lines, "\n")), true)
	return list, err == nil
}

var quoted = regexp.MustCompile(`([:, \t]BYTERANGE=)"(\d+@\d+)"`)

func compareSegments(t *testing.T, p watch.Playlist, list *oracle.MediaPlaylist) {
	t.Helper()
	all := list.GetAllSegments()
	section, own := list.Map, oracle.Key{}
	first, at := max(0, len(all)-hls.KeptSegments), 0
	for i, want := range all {
		if want.Map != nil {
			section = want.Map
		}
		own = inForce(own, want.Keys)
		if want.Gap || i < first {
			continue
		}
		if at == len(p.Segments) {
			t.Fatalf("%d segments, the oracle has more", at)
		}
		got := p.Segments[at]
		at++
		off := math.Abs(got.Duration.Seconds() - want.Duration)
		if got.URI != absolute(t, want.URI) || off > time.Nanosecond.Seconds() || got.Sequence != want.SeqId+list.SkippedSegments() {
			t.Errorf("segment %d: %+v, the oracle has %+v", i, got, want)
		}
		compareRange(t, got.Range, want.Limit, want.Offset)
		compareKey(t, got, own)
		switch {
		case (got.Init == nil) != (section == nil):
			t.Errorf("segment %d: map %+v, the oracle has %+v", i, got.Init, section)
		case section != nil:
			if got.Init.URI != absolute(t, section.URI) {
				t.Errorf("segment %d: map %+v, the oracle has %+v", i, got.Init, section)
			}
			compareRange(t, got.Init.Range, section.Limit, section.Offset)
		}
	}
	if at != len(p.Segments) || list.Closed != p.Ended {
		t.Fatalf("%d segments, ended: %v; the oracle has %d, %v", len(p.Segments), p.Ended, at, list.Closed)
	}
}

// compareRange leaves the offset alone where the oracle has none: it does not
// go on from the range before.
func compareRange(t *testing.T, got *watch.ByteRange, length, offset int64) {
	t.Helper()
	if got == nil {
		got = &watch.ByteRange{}
	}
	if got.Length != length || offset != 0 && got.Offset != offset {
		t.Errorf("range %+v, the oracle has %d@%d", got, length, offset)
	}
}

// inForce is the key anybody may use, after these tags.
func inForce(own oracle.Key, tags []oracle.Key) oracle.Key {
	for _, k := range tags {
		switch method := strings.Trim(k.Method, `"`); {
		case method == "NONE":
			own = oracle.Key{}
		case k.Keyformat == "" || k.Keyformat == "identity":
			own = k
		}
	}
	return own
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

// absolute makes a reference of the oracle's absolute.
func absolute(t *testing.T, reference string) string {
	t.Helper()
	base, err := url.Parse(final)
	if err != nil {
		t.Fatal(err)
	}
	u, err := base.Parse(reference)
	if err != nil {
		return ""
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}
