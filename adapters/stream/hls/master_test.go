package hls_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

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
		"a master with subtitles without playlist": muxed + `#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s"` + "\n" + `#EXT-X-SESSION-KEY:METHOD=AES-128,URI="k"` + "\n",
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

// The tracks of a rendition as renditionsText writes them.
const (
	video     = "v"
	audio     = "a"
	alternate = "!"
	captions  = "c"
)

// renditionsText lists the renditions of a master playlist: URL, tracks, and
// whether the audio is an alternate.
func renditionsText(t *testing.T, text string) string {
	t.Helper()
	var all []string
	for _, r := range mustRead(t, text).Renditions {
		s := strings.TrimPrefix(r.URL, baseURL) + " "
		if r.HasVideo {
			s += video
		}
		if r.HasAudio {
			s += audio
		}
		if r.Alternate {
			s += alternate
		}
		if r.HasCaptions {
			s += captions
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

func TestAudioAndTextHaveTheirOwnPlaylists(t *testing.T) {
	variant := func(uri, rest string) string { return "#EXT-X-STREAM-INF:BANDWIDTH=1," + rest + "\n" + uri + "\n" }
	audioTag := func(group, rest string) string {
		return fmt.Sprintf("#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=%q,NAME=\"x\",%s\n", group, rest)
	}
	subtitles := func(uri, rest string) string {
		return `#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",URI="` + uri + `"` + rest + "\n"
	}
	v := variant("v", `CODECS="avc1.4d401f,mp4a.40.2",AUDIO="a"`)
	for name, c := range map[string]struct{ text, want string }{
		"Apple's example":                                    {apple[len("#EXTM3U\n"):], "v5/prog_index.m3u8 vc, v5/prog_index.m3u8 v, a1/prog_index.m3u8 a, a2/prog_index.m3u8 a, s1/en/prog_index.m3u8 c"},
		"one audio rendition":                                {v + audioTag("a", `URI="s"`), "v v, s a"},
		"audio renditions before the variants":               {audioTag("a", `URI="s"`) + v, "v v, s a"},
		"the default is not an alternate":                    {v + audioTag("a", `URI="s"`) + audioTag("a", `URI="t",DEFAULT=YES`) + audioTag("a", `URI="u",DEFAULT=NO`), "v v, s a!, t a, u a!"},
		"without a default the first is not an alternate":    {v + audioTag("a", `URI="s",DEFAULT=NO`) + audioTag("a", `URI="t"`), "v v, s a, t a!"},
		"the first of two defaults is not an alternate":      {v + audioTag("a", `URI="s",DEFAULT=YES`) + audioTag("a", `URI="t",DEFAULT=YES`), "v v, s a, t a!"},
		"each group has a default":                           {v + audioTag("a", `URI="s"`) + audioTag("b", `URI="t"`) + audioTag("b", `URI="u"`), "v v, s a, t a, u a!"},
		"a rendition of several groups is listed once":       {v + audioTag("a", `URI="s"`) + audioTag("b", `URI="s"`), "v v, s a"},
		"the default of one group is not an alternate":       {v + audioTag("a", `URI="s"`) + audioTag("a", `URI="t"`) + audioTag("b", `URI="t"`), "v v, s a, t a"},
		"the default of the first group is not an alternate": {v + audioTag("b", `URI="t"`) + audioTag("a", `URI="s"`) + audioTag("a", `URI="t"`), "v v, t a, s a"},
		"an alternate of every group is an alternate":        {v + audioTag("a", `URI="s"`) + audioTag("a", `URI="t"`) + audioTag("b", `URI="s"`) + audioTag("b", `URI="t"`), "v v, s a, t a!"},
		"two spellings of a URL are one rendition":           {v + audioTag("a", `URI="s"`) + audioTag("b", `URI="../720p/s#x"`), "v v, s a"},
		"muxed default audio and an alternate":               {v + audioTag("a", `DEFAULT=YES`) + audioTag("a", `URI="t"`), "v va, t a!"},
		"muxed audio that is not the default":                {v + audioTag("a", "DEFAULT=NO") + audioTag("a", `URI="t",DEFAULT=YES`), "v va, t a"},
		"audio with the variant's URL is muxed":              {v + audioTag("a", `URI="v"`), "v va"},
		"an audio-only variant is an audio rendition":        {v + variant("s", `CODECS="mp4a.40.2",AUDIO="a"`) + audioTag("a", `URI="s"`), "v v, s a"},
		"an audio-only variant is not an alternate":          {v + variant("s", `CODECS="mp4a.40.2",AUDIO="a"`) + audioTag("a", `URI="t",DEFAULT=YES`) + audioTag("a", `URI="s"`), "v v, s a, t a"},
		"a group of no variant is listed":                    {variant("v", `CODECS="avc1.4d401f"`) + audioTag("a", `URI="s"`), "v v, s a"},
		"an unknown group":                                   {variant("v", `CODECS="avc1.4d401f,mp4a.40.2",AUDIO="b"`) + audioTag("a", `URI="s"`), "v va, s a"},
		"audio without a group":                              {variant("v", `CODECS="avc1.4d401f,mp4a.40.2"`) + `#EXT-X-MEDIA:TYPE=AUDIO,URI="s"` + "\n", "v va, s a"},
		"an empty URI is no URI":                             {v + audioTag("a", `URI=""`), "v va"},
		"other video renditions are left out":                {v + audioTag("a", `URI="s"`) + `#EXT-X-MEDIA:TYPE=VIDEO,GROUP-ID="a",URI="x"` + "\n", "v v, s a"},
		"no captions, and said":                              {variant("v", "CLOSED-CAPTIONS=NONE"), "v va"},
		"captions in the picture":                            {variant("v", `CLOSED-CAPTIONS="cc"`), "v vac"},
		"captions as text":                                   {v + subtitles("y", ""), "v va, y c"},
		"of two texts the first":                             {v + subtitles("y", "") + subtitles("z", ""), "v va, y c"},
		"or that which is default":                           {v + subtitles("x", "") + subtitles("y", ",DEFAULT=YES") + subtitles("z", ",DEFAULT=YES"), "v va, y c"},
		"no text of signs in the picture":                    {v + subtitles("x", ",DEFAULT=YES,FORCED=YES") + subtitles("y", ""), "v va, y c"},
		"a text that is no web URL":                          {v + subtitles("file:///etc/passwd", ""), "v va"},
		"a video rendition does not change the audio":        {v + `#EXT-X-MEDIA:TYPE=VIDEO,GROUP-ID="a",URI="x"` + "\n", "v va"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := renditionsText(t, "#EXTM3U\n"+c.text); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	t.Run("an audio rendition that cannot be fetched is malformed", func(t *testing.T) {
		wantMalformed(t, "#EXTM3U\n"+v+audioTag("a", `URI="file:///etc/passwd"`), "the URI of an EXT-X-MEDIA is not an http")
	})
}
