package hls_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// The EXT-X-KEY tags of three DRM systems, as packagers write them.
const (
	fairPlay  = `#EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://key",KEYFORMAT="com.apple.streamingkeydelivery",KEYFORMATVERSIONS="1"`
	widevine  = `#EXT-X-KEY:METHOD=SAMPLE-AES-CTR,URI="data:text/plain;base64,AAAA",KEYFORMAT="urn:uuid:edef8ba9-79d6-4ace-a3c8-27dcd51d21ed"`
	playReady = `#EXT-X-KEY:METHOD=AES-128,URI="data:text/plain;base64,AAAA",KEYFORMAT="com.microsoft.playready"`
)

// keyText returns the URI of a key and its IV in hexadecimal, or "none".
func keyText(k *watch.Key) string {
	if k == nil {
		return "none"
	}
	return strings.TrimPrefix(k.URI, baseURL) + " " + hex.EncodeToString(k.IV)
}

func TestASegmentHasTheKeyAndIVOfTheTagsBeforeIt(t *testing.T) {
	const zeros = "000000000000000000000000000000"
	segment := func(name string, before ...string) string {
		return strings.Join(append(before, "#EXTINF:5,", name), "\n")
	}
	key := func(rest string) string { return "#EXT-X-KEY:METHOD=AES-128," + rest }
	for name, c := range map[string]struct {
		lines []string
		want  []string // of each segment
	}{
		"there is no key":    {[]string{segment("a")}, []string{"none"}},
		"an IV is stated":    {[]string{key(`URI="k",IV=0x000102030405060708090A0B0C0d0e0f`), segment("a"), segment("b")}, []string{"k 000102030405060708090a0b0c0d0e0f", "k 000102030405060708090a0b0c0d0e0f"}},
		"an IV is short":     {[]string{key(`URI="k",IV=0X123`), segment("a")}, []string{"k " + zeros[2:] + "0123"}},
		"an IV is one digit": {[]string{key(`URI="k",IV=0xf`), segment("a")}, []string{"k " + zeros + "0f"}},
		"without an IV the sequence number is the IV":   {[]string{"#EXT-X-MEDIA-SEQUENCE:255", key(`URI="k"`), segment("a"), segment("b")}, []string{"k " + zeros + "ff", "k " + zeros[2:] + "0100"}},
		"a large sequence number is the IV":             {[]string{"#EXT-X-MEDIA-SEQUENCE:1311768467463790320", key(`URI="k"`), segment("a")}, []string{"k 0000000000000000123456789abcdef0"}},
		"a gap counts as a sequence number":             {[]string{key(`URI="k"`), segment("a", "#EXT-X-GAP"), segment("b")}, []string{"k " + zeros + "01"}},
		"a discontinuity keeps the key":                 {[]string{key(`URI="k",IV=0x1`), segment("a"), segment("b", "#EXT-X-DISCONTINUITY")}, []string{"k " + zeros + "01", "k " + zeros + "01"}},
		"a skipped segment counts as a sequence number": {[]string{"#EXT-X-SKIP:SKIPPED-SEGMENTS=9", "#EXT-X-MEDIA-SEQUENCE:7", key(`URI="k"`), segment("a")}, []string{"k " + zeros + "10"}},
		"keys rotate":                              {[]string{key(`URI="k1",IV=0x1`), segment("a"), key(`URI="/k2",IV=0x2`), segment("b"), key(`URI="https://x.example/k3"`), segment("c")}, []string{"k1 " + zeros + "01", "https://cdn.example.com/k2 " + zeros + "02", "https://x.example/k3 " + zeros + "02"}},
		"NONE ends the encryption":                 {[]string{key(`URI="k",IV=0x1`), segment("a"), "#EXT-X-KEY:METHOD=NONE", segment("b")}, []string{"k " + zeros + "01", "none"}},
		"the encryption begins after a segment":    {[]string{segment("a"), key(`URI="k",IV=0x1`), segment("b")}, []string{"none", "k " + zeros + "01"}},
		"a key between EXTINF and the URI applies": {[]string{"#EXTINF:5,\n" + key(`URI="k",IV=0x1`) + "\na"}, []string{"k " + zeros + "01"}},
		"the key format is identity":               {[]string{key(`URI="k",IV=0x1,KEYFORMAT="identity",KEYFORMATVERSIONS="1"`), segment("a")}, []string{"k " + zeros + "01"}},

		"one of several systems is usable":                   {[]string{fairPlay, key(`URI="k",IV=0x1`), playReady, segment("a"), segment("b")}, []string{"k " + zeros + "01", "k " + zeros + "01"}},
		"a usable key remains after a tag of another system": {[]string{key(`URI="k",IV=0x1`), segment("a"), playReady, segment("b")}, []string{"k " + zeros + "01", "k " + zeros + "01"}},
		"AES-128 follows an unusable method":                 {[]string{`#EXT-X-KEY:METHOD=SAMPLE-AES,URI="k"`, key(`URI="k",IV=0x1`), segment("a")}, []string{"k " + zeros + "01"}},
		"NONE ends the keys of every system":                 {[]string{fairPlay, widevine, `#EXT-X-KEY:METHOD=SAMPLE-AES,URI="k"`, "#EXT-X-KEY:METHOD=NONE", segment("a")}, []string{"none"}},
		"a gap may have an unusable key":                     {[]string{fairPlay, segment("a", "#EXT-X-GAP"), "#EXT-X-KEY:METHOD=NONE", segment("b")}, []string{"none"}},
		"a key after the last segment applies to none":       {[]string{segment("a"), fairPlay}, []string{"none"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range mustRead(t, mediaPlaylist(c.lines...)).Segments {
				got = append(got, keyText(s.Key))
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
		})
	}
}

func TestAnInitSectionHasTheKeyAndIVOfTheTagsBeforeIt(t *testing.T) {
	const one = "00000000000000000000000000000001"
	for name, c := range map[string]struct {
		lines         []string
		init, segment string
	}{
		"a key before the map applies to it":       {[]string{`#EXT-X-KEY:METHOD=AES-128,URI="k",IV=0x1`, `#EXT-X-MAP:URI="i"`}, "k " + one, "k " + one},
		"a key after the map does not apply to it": {[]string{`#EXT-X-MAP:URI="i"`, `#EXT-X-KEY:METHOD=AES-128,URI="k",IV=0x1`}, "none", "k " + one},
		"the map keeps its key after a new key":    {[]string{`#EXT-X-KEY:METHOD=AES-128,URI="k",IV=0x1`, `#EXT-X-MAP:URI="i"`, `#EXT-X-KEY:METHOD=AES-128,URI="l",IV=0x1`}, "k " + one, "l " + one},
		"the map keeps its key after NONE":         {[]string{`#EXT-X-KEY:METHOD=AES-128,URI="k",IV=0x1`, `#EXT-X-MAP:URI="i"`, "#EXT-X-KEY:METHOD=NONE"}, "k " + one, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustRead(t, mediaPlaylist(append(c.lines, "#EXTINF:5,", "a")...)).Segments[0]
			if keyText(s.Init.Key) != c.init || keyText(s.Key) != c.segment {
				t.Errorf("the map has key %s, want %s; the segment has %s, want %s", keyText(s.Init.Key), c.init, keyText(s.Key), c.segment)
			}
		})
	}
}

func TestAPlaylistWithAnUnusableKeyIsMalformed(t *testing.T) {
	for name, c := range map[string]struct {
		lines  []string
		detail string // a part of the failure\'s detail
	}{
		"no method":                           {[]string{`#EXT-X-KEY:URI="k"`}, "line 3: EXT-X-KEY has no METHOD"},
		"a method without a closing quote":    {[]string{`#EXT-X-KEY:METHOD="NONE`}, "line 3: EXT-X-KEY has no METHOD"},
		"a map's key of a file":               {[]string{`#EXT-X-KEY:METHOD=AES-128,URI="file:///k",IV=0x1`, `#EXT-X-MAP:URI="i"`, "#EXT-X-KEY:METHOD=NONE"}, "the URI of EXT-X-KEY is not an http"},
		"an IV without digits":                {[]string{`#EXT-X-KEY:METHOD=AES-128,URI="k",IV=0x`}, "IV of EXT-X-KEY"},
		"an IV of other characters":           {[]string{`#EXT-X-KEY:METHOD=AES-128,URI="k",IV=0x-1`}, "IV of EXT-X-KEY"},
		"an IV that is empty":                 {[]string{`#EXT-X-KEY:METHOD=AES-128,URI="k",IV=""`}, "IV of EXT-X-KEY"},
		"a map without IV":                    {[]string{`#EXT-X-KEY:METHOD=AES-128,URI="k"`, `#EXT-X-MAP:URI="i"`}, "line 4: EXT-X-MAP is encrypted, and its EXT-X-KEY states no IV"},
		"FairPlay":                            {[]string{fairPlay}, "line 5: encrypted with SAMPLE-AES, which only a licensed player can read"},
		"Widevine":                            {[]string{widevine}, "encrypted with SAMPLE-AES-CTR, which"},
		"PlayReady, with AES-128":             {[]string{playReady}, "encrypted with AES-128, which"},
		"all three":                           {[]string{fairPlay, playReady, widevine}, "encrypted with SAMPLE-AES-CTR, which"},
		"a DRM key for the map":               {[]string{fairPlay, `#EXT-X-MAP:URI="i"`, "#EXT-X-KEY:METHOD=NONE"}, "line 4: encrypted with SAMPLE-AES, which"},
		"SAMPLE-AES without a key format":     {[]string{`#EXT-X-KEY:METHOD=SAMPLE-AES,URI="k"`}, "encrypted with SAMPLE-AES, which"},
		"a usable key replaced by SAMPLE-AES": {[]string{`#EXT-X-KEY:METHOD=AES-128,URI="k"`, `#EXT-X-KEY:METHOD=SAMPLE-AES,URI="k"`}, "encrypted with SAMPLE-AES, which"},
		"an unknown method":                   {[]string{`#EXT-X-KEY:METHOD=ROT-13,URI="k"`}, "encrypted with ROT-13, which"},
		"a method that is a URL":              {[]string{`#EXT-X-KEY:METHOD="https://s3cr3t",URI="k"`}, "encrypted with a method without a name, which"},
		"a method that is too long":           {[]string{"#EXT-X-KEY:METHOD=" + strings.Repeat("A", 33)}, "encrypted with a method without a name, which"},
	} {
		t.Run(name, func(t *testing.T) {
			wantMalformed(t, mediaPlaylist(append(c.lines, "#EXTINF:5,", "a")...), c.detail)
		})
	}
}
