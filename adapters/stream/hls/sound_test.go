package hls_test

import (
	"fmt"
	"strings"
	"testing"
)

// apple has the shape of Apple's own example of a stream whose picture and
// sound are apart.
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

// carried lists the renditions of a master as the tables write them: where,
// picture (v) and sound (a), and whether the sound is an alternate (!).
func carried(t *testing.T, text string) string {
	t.Helper()
	var all []string
	for _, r := range mustRead(t, text).Renditions {
		s := strings.TrimPrefix(r.URL, at) + " "
		if r.HasVideo {
			s += "v"
		}
		if r.HasAudio {
			s += "a"
		}
		if r.Alternate {
			s += "!"
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

func TestAudioRenditionsHaveTheirOwnPlaylists(t *testing.T) {
	variant := func(uri, rest string) string { return "#EXT-X-STREAM-INF:BANDWIDTH=1," + rest + "\n" + uri + "\n" }
	sound := func(group, rest string) string {
		return fmt.Sprintf("#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=%q,NAME=\"x\",%s\n", group, rest)
	}
	v := variant("v", `CODECS="avc1.4d401f,mp4a.40.2",AUDIO="a"`)
	for name, c := range map[string]struct{ text, want string }{
		"as Apple shows it":                        {apple[len("#EXTM3U\n"):], "v5/prog_index.m3u8 v, v5/prog_index.m3u8 v, a1/prog_index.m3u8 a, a2/prog_index.m3u8 a"},
		"one sound":                                {v + sound("a", `URI="s"`), "v v, s a"},
		"the sounds before the variants":           {sound("a", `URI="s"`) + v, "v v, s a"},
		"the default is the stream's own":          {v + sound("a", `URI="s"`) + sound("a", `URI="t",DEFAULT=YES`) + sound("a", `URI="u",DEFAULT=NO`), "v v, s a!, t a, u a!"},
		"of no default the first is":               {v + sound("a", `URI="s",DEFAULT=NO`) + sound("a", `URI="t"`), "v v, s a, t a!"},
		"of two defaults the first is":             {v + sound("a", `URI="s",DEFAULT=YES`) + sound("a", `URI="t",DEFAULT=YES`), "v v, s a, t a!"},
		"each group has its own":                   {v + sound("a", `URI="s"`) + sound("b", `URI="t"`) + sound("b", `URI="u"`), "v v, s a, t a, u a!"},
		"a sound of several groups is listed once": {v + sound("a", `URI="s"`) + sound("b", `URI="s"`), "v v, s a"},
		"and is own if it is in any of them":       {v + sound("a", `URI="s"`) + sound("a", `URI="t"`) + sound("b", `URI="t"`), "v v, s a, t a"},
		"also the other way round":                 {v + sound("b", `URI="t"`) + sound("a", `URI="s"`) + sound("a", `URI="t"`), "v v, t a, s a"},
		"and alternate if it is in all of them":    {v + sound("a", `URI="s"`) + sound("a", `URI="t"`) + sound("b", `URI="s"`) + sound("b", `URI="t"`), "v v, s a, t a!"},
		"two spellings of one URL are one":         {v + sound("a", `URI="s"`) + sound("b", `URI="../720p/s#x"`), "v v, s a"},
		"one inside, others to choose":             {v + sound("a", `DEFAULT=YES`) + sound("a", `URI="t"`), "v va, t a!"},
		"one inside that is not the default":       {v + sound("a", "DEFAULT=NO") + sound("a", `URI="t",DEFAULT=YES`), "v va, t a"},
		"the variant's own URL is inside":          {v + sound("a", `URI="v"`), "v va"},
		"a variant of sound is one of the sounds":  {v + variant("s", `CODECS="mp4a.40.2",AUDIO="a"`) + sound("a", `URI="s"`), "v v, s a"},
		"and stays it where it is no default":      {v + variant("s", `CODECS="mp4a.40.2",AUDIO="a"`) + sound("a", `URI="t",DEFAULT=YES`) + sound("a", `URI="s"`), "v v, s a, t a"},
		"a group nobody names is listed":           {variant("v", `CODECS="avc1.4d401f"`) + sound("a", `URI="s"`), "v v, s a"},
		"a group that is not there":                {variant("v", `CODECS="avc1.4d401f,mp4a.40.2",AUDIO="b"`) + sound("a", `URI="s"`), "v va, s a"},
		"no group at all":                          {variant("v", `CODECS="avc1.4d401f,mp4a.40.2"`) + `#EXT-X-MEDIA:TYPE=AUDIO,URI="s"` + "\n", "v va, s a"},
		"an empty URI is none":                     {v + sound("a", `URI=""`), "v va"},
		"other angles and subtitles are left out":  {v + sound("a", `URI="s"`) + `#EXT-X-MEDIA:TYPE=VIDEO,GROUP-ID="a",URI="x"` + "\n" + `#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="a",URI="y"` + "\n", "v v, s a"},
		"an angle does not say where the sound is": {v + `#EXT-X-MEDIA:TYPE=VIDEO,GROUP-ID="a",URI="x"` + "\n", "v va"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := carried(t, "#EXTM3U\n"+c.text); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	t.Run("a sound that cannot be fetched is malformed", func(t *testing.T) {
		wantMalformed(t, "#EXTM3U\n"+v+sound("a", `URI="file:///etc/passwd"`), "the URI of an EXT-X-MEDIA is not an http")
	})
}
