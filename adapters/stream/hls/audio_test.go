package hls_test

import (
	"fmt"
	"strings"
	"testing"
)

// apple resembles Apple's example of a stream with demuxed video and audio.
const apple = `#EXTM3U
#EXT-X-VERSION:6
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-STREAM-INF:AVERAGE-BANDWIDTH=2168183,BANDWIDTH=2177116,CODECS="avc1.640020,mp4a.40.2",RESOLUTION=960x540,FRAME-RATE=60.000,CLOSED-CAPTIONS="cc1",AUDIO="aud1",SUBTITLES="sub1"
v5/prog_index.m3u8
#EXT-X-STREAM-INF:AVERAGE-BANDWIDTH=2390686,BANDWIDTH=2400488,CODECS="hvc1.2.4.L123.B0,ac-3",RESOLUTION=960x540,FRAME-RATE=60.000,AUDIO="aud2",SUBTITLES="sub1"
v5/prog_index.m3u8
#EXT-X-I-FRAME-STREAM-INF:AVERAGE-BANDWIDTH=186522,BANDWIDTH=193350,CODECS="avc1.640020",RESOLUTION=960x540,URI="v5/iframe_index.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aud1",LANGUAGE="en",NAME="English",AUTOSELECT=YES,DEFAULT=YES,CHANNELS="2",URI="a1/prog_index.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aud2",LANGUAGE="en",NAME="English",AUTOSELECT=YES,DEFAULT=YES,CHANNELS="6",URI="a2/prog_index.m3u8"
#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="cc1",LANGUAGE="en",NAME="English",AUTOSELECT=YES,DEFAULT=YES,INSTREAM-ID="CC1"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="sub1",LANGUAGE="en",NAME="English",AUTOSELECT=YES,DEFAULT=YES,FORCED=NO,URI="s1/en/prog_index.m3u8"
`

// The tracks of a rendition as renditionsText writes them.
const (
	video     = "v"
	audio     = "a"
	alternate = "!"
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
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

func TestAudioRenditionsHaveTheirOwnPlaylists(t *testing.T) {
	variant := func(uri, rest string) string { return "#EXT-X-STREAM-INF:BANDWIDTH=1," + rest + "\n" + uri + "\n" }
	audioTag := func(group, rest string) string {
		return fmt.Sprintf("#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=%q,NAME=\"x\",%s\n", group, rest)
	}
	v := variant("v", `CODECS="avc1.4d401f,mp4a.40.2",AUDIO="a"`)
	for name, c := range map[string]struct{ text, want string }{
		"Apple's example":                                    {apple[len("#EXTM3U\n"):], "v5/prog_index.m3u8 v, v5/prog_index.m3u8 v, a1/prog_index.m3u8 a, a2/prog_index.m3u8 a"},
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
		"other video renditions and subtitles are left out":  {v + audioTag("a", `URI="s"`) + `#EXT-X-MEDIA:TYPE=VIDEO,GROUP-ID="a",URI="x"` + "\n" + `#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="a",URI="y"` + "\n", "v v, s a"},
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
