package hls_test

import (
	"reflect"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// muxed resembles YouTube's master playlists.
const muxed = `#EXTM3U
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-STREAM-INF:BANDWIDTH=290288,CODECS="mp4a.40.5,avc1.42c00b",RESOLUTION=256x144,FRAME-RATE=30,VIDEO-RANGE=SDR,CLOSED-CAPTIONS=NONE
https://manifest.googlevideo.com/api/manifest/hls_playlist/itag/91/playlist/index.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=546239,CODECS="mp4a.40.5,avc1.4d4015",RESOLUTION=426x240,FRAME-RATE=30
itag/92/index.m3u8
`

const muxedURL = "https://manifest.googlevideo.com/api/manifest/hls_playlist/itag/91/playlist/index.m3u8"

func TestAMasterPlaylistBecomesRenditions(t *testing.T) {
	want := []watch.Rendition{
		{URL: muxedURL, Height: 144, Bandwidth: 290288, HasVideo: true, HasAudio: true},
		{URL: "https://cdn.example.com/live/720p/itag/92/index.m3u8", Height: 240, Bandwidth: 546239, HasVideo: true, HasAudio: true},
	}
	for name, text := range map[string]string{
		"an ordinary master":                       muxed,
		"a master with EXT-X-START":                muxed + "#EXT-X-START:TIME-OFFSET=1\n",
		"a master with a tag of media playlists":   muxed + "#EXT-X-PLAYLIST-TYPE:EVENT\n",
		"a master with I-frame playlists":          muxed + `#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI="iframes"` + "\n",
		"a master with subtitles and keys":         muxed + `#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",URI="s"` + "\n" + `#EXT-X-SESSION-KEY:METHOD=AES-128,URI="k"` + "\n",
		"a master with an invalid attribute value": muxed[:8] + "#EXT-X-MEDIA:TYPE=AUDIO,DEFAULT=maybe\n" + muxed[8:],
	} {
		t.Run(name, func(t *testing.T) {
			p := mustRead(t, text)
			if !reflect.DeepEqual(p.Renditions, want) || p.Segments != nil || p.Ended {
				t.Errorf("got %+v, want the renditions %+v", p, want)
			}
		})
	}
}

func TestCodecsAndGroupsDecideTheTracksOfARendition(t *testing.T) {
	const (
		demuxed = `#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="x",URI="audio.m3u8"` + "\n"
		muxed   = `#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="y"` + "\n"
	)
	for name, c := range map[string]struct {
		before, attributes string
		video, audio       bool
		height             int
	}{
		"no codecs":                                 {"", "BANDWIDTH=1", true, true, 0},
		"empty codecs":                              {"", `BANDWIDTH=1,CODECS="",RESOLUTION=1920x1080`, true, true, 1080},
		"audio codecs with a resolution":            {"", `BANDWIDTH=1,CODECS="mp4a.40.2",RESOLUTION=1x720`, true, true, 720},
		"audio in its own playlist, no codecs":      {demuxed, `BANDWIDTH=1,AUDIO="a"`, true, false, 0},
		"audio muxed and in its own playlist":       {demuxed + muxed, `BANDWIDTH=1,AUDIO="a",CODECS="avc1.4d401f,mp4a.40.2"`, true, true, 0},
		"an invalid resolution":                     {"", `BANDWIDTH=1,RESOLUTION=large`, true, true, 0},
		"a resolution that is too large":            {"", `BANDWIDTH=1,RESOLUTION=1x65535`, true, true, 0},
		"spaces after the commas":                   {"", `BANDWIDTH=1, CODECS="avc1.4d401f" ,	RESOLUTION=1280x720`, true, false, 720},
		"a quoted value that looks like attributes": {"", `NAME="x,CODECS=mp4a.40.2,RESOLUTION=1x2",BANDWIDTH=1`, true, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustRead(t, "#EXTM3U\n"+c.before+"#EXT-X-STREAM-INF:"+c.attributes+"\nv.m3u8\n")
			r := p.Renditions[0]
			if r.HasVideo != c.video || r.HasAudio != c.audio || r.Height != c.height || r.Bandwidth != 1 {
				t.Errorf("got %+v, want %+v", r, c)
			}
		})
	}
}

func TestAMalformedMasterPlaylistIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, detail string }{
		"no rendition":                   {`#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",URI="a"`, "without a rendition"},
		"I-frame playlists only":         {`#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI="i"`, "without a rendition"},
		"a quote without end":            {"#EXT-X-STREAM-INF:CODECS=\"avc1\na", "attribute list"},
		"a quote within a word":          {"#EXT-X-STREAM-INF:CODECS=a\"b\"\na", "attribute list"},
		"no comma after a quote":         {"#EXT-X-STREAM-INF:CODECS=\"a\" BANDWIDTH=1\na", "attribute list"},
		"an attribute without value":     {"#EXT-X-STREAM-INF:BANDWIDTH=,CODECS=\"a\"\na", "attribute list"},
		"an attribute without name":      {"#EXT-X-STREAM-INF:=1\na", "attribute list"},
		"a name with a space":            {"#EXT-X-STREAM-INF:BAND WIDTH=1\na", "attribute list"},
		"a space before the equals sign": {"#EXT-X-STREAM-INF:BANDWIDTH =1\na", "attribute list"},
		"an attribute twice":             {"#EXT-X-STREAM-INF:BANDWIDTH=1,BANDWIDTH=2\na", "attribute list"},
		"no attributes":                  {"#EXT-X-STREAM-INF:\na", "attribute list"},
	} {
		t.Run(name, func(t *testing.T) { wantMalformed(t, "#EXTM3U\n"+c.text+"\n", c.detail) })
	}
}
