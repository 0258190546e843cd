package dash_test

import (
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

const numbered = `<SegmentTemplate media="$RepresentationID$/$Number$.m4s" initialization="$RepresentationID$/i.mp4" duration="2"/>`

// adaptationSet returns an AdaptationSet with these attributes and child elements.
func adaptationSet(attributes string, inside ...string) string {
	return `<AdaptationSet ` + attributes + `>` + strings.Join(inside, "") + `</AdaptationSet>`
}

func period(sets ...string) string {
	return `<Period start="PT0S">` + strings.Join(sets, "") + `</Period>`
}

func role(value string) string {
	return `<Role schemeIdUri="urn:mpeg:dash:role:2011" value="` + value + `"/>`
}

func representation(id, bandwidth string) string {
	return `<Representation id="` + id + `" bandwidth="` + bandwidth + `"/>`
}

func TestRepresentationsBecomeRenditions(t *testing.T) {
	const at = mpdURL + "#"
	pictures := adaptationSet(`mimeType="video/mp4" codecs="avc1.4d401f"`, numbered, representation("v", "900000"))
	picture := watch.Rendition{URL: at + "bandwidth=900000&id=v&kind=video", Bandwidth: 900_000, HasVideo: true}
	sound := func(attributes string, inside ...string) string {
		return adaptationSet(`mimeType="audio/mp4" codecs="mp4a.40.2" `+attributes, append(inside, numbered, representation("a", "64000"))...)
	}
	heard := func(lang string, alternate bool) watch.Rendition {
		if lang != "" {
			lang = "&lang=" + lang
		}
		return watch.Rendition{URL: at + "bandwidth=64000&id=a&kind=audio" + lang, Bandwidth: 64_000, HasAudio: true, Alternate: alternate}
	}
	captions := watch.Rendition{URL: at + "bandwidth=900000&id=v&kind=text", Bandwidth: 900_000, HasCaptions: true}
	mixed := func(url string) watch.Rendition {
		return watch.Rendition{URL: at + url, Bandwidth: 900_000, HasVideo: true, HasAudio: true}
	}
	muxed := mixed("bandwidth=900000&id=v&kind=both")
	media := func(attributes string, inside ...string) string {
		return adaptationSet(attributes, append(inside, numbered, representation("v", "900000"))...)
	}
	for name, c := range map[string]struct {
		sets string
		want []watch.Rendition
	}{
		"picture and sound apart": {pictures + sound(""), []watch.Rendition{picture, heard("", false)}},
		"the id of picture and sound may be the same": {
			strings.ReplaceAll(pictures+sound(""), `id="v"`, `id="a"`),
			[]watch.Rendition{{URL: at + "bandwidth=900000&id=a&kind=video", Bandwidth: 900_000, HasVideo: true}, heard("", false)},
		},
		"an id with anything in it": {
			strings.ReplaceAll(pictures, `id="v"`, `id="a b#&amp;c=ü/%"`),
			[]watch.Rendition{{URL: at + "bandwidth=900000&id=a+b%23%26c%3D%C3%BC%2F%25&kind=video", Bandwidth: 900_000, HasVideo: true}},
		},
		"a representation says more than its set": {
			adaptationSet(`mimeType="audio/mp4" codecs="mp4a.40.2"`, numbered,
				`<Representation id="v" bandwidth="900000" mimeType="video/mp4" codecs="avc1.1" height="360"/>`),
			[]watch.Rendition{{URL: picture.URL, Bandwidth: 900_000, HasVideo: true, Height: 360}},
		},
		"muxed, by codecs":                   {media(`mimeType="video/mp4" codecs=" AVC1.4d401f , mp4a.40.2"`), []watch.Rendition{muxed}},
		"muxed, by content components":       {media(`mimeType="video/mp4"`, `<ContentComponent contentType="video"/><ContentComponent contentType="audio"/>`), []watch.Rendition{muxed}},
		"muxed, if nothing is stated":        {media(`mimeType="video/mp2t"`), []watch.Rendition{muxed}},
		"pictures, if sound is apart":        {media(`mimeType="video/mp4"`) + sound(""), []watch.Rendition{picture, heard("", false)}},
		"pictures, by content type":          {media(`mimeType="video/mp4" contentType="video"`), []watch.Rendition{picture}},
		"by codecs alone":                    {media(`codecs="hvc1.1.6.L93.B0"`), []watch.Rendition{picture}},
		"an unknown codec":                   {media(`mimeType="video/mp4" codecs="xyz1" contentType="video"`), []watch.Rendition{picture}},
		"sound by MIME type":                 {adaptationSet(`mimeType="audio/mp4"`, numbered, representation("a", "64000")), []watch.Rendition{heard("", false)}},
		"sound by content type":              {adaptationSet(`contentType="audio"`, numbered, representation("a", "64000")), []watch.Rendition{heard("", false)}},
		"sound by codecs":                    {adaptationSet(`mimeType="video/mp4" codecs="opus"`, numbered, representation("a", "64000")), []watch.Rendition{heard("", false)}},
		"a dub beside a main":                {sound(`lang="en"`, role("main")) + sound(`lang="fr"`, role("dub")), []watch.Rendition{heard("en", false), heard("fr", true)}},
		"without a role beside a main":       {sound(`lang="en"`) + sound(`lang="fr"`, role("main")), []watch.Rendition{heard("en", true), heard("fr", false)}},
		"a role beside no role":              {sound(`lang="en"`) + sound(`lang="fr"`, role("commentary")), []watch.Rendition{heard("en", false), heard("fr", true)}},
		"two with the role main":             {sound(`lang="en"`, role("main")) + sound(`lang="fr"`, role("main")), []watch.Rendition{heard("en", false), heard("fr", false)}},
		"none with the role main":            {sound(`lang="en"`, role("dub")) + sound(`lang="fr"`, role("commentary")), []watch.Rendition{heard("en", false), heard("fr", false)}},
		"one Role among others":              {sound(`lang="en"`, role("supplementary"), role("main")) + sound(`lang="fr"`), []watch.Rendition{heard("en", false), heard("fr", true)}},
		"the Role main before others":        {sound(`lang="en"`, role("main"), role("supplementary")) + sound(`lang="fr"`), []watch.Rendition{heard("en", false), heard("fr", true)}},
		"a role of another scheme":           {sound(`lang="en"`, `<Role schemeIdUri="urn:x" value="dub"/>`) + sound(`lang="fr"`), []watch.Rendition{heard("en", false), heard("fr", false)}},
		"roles count for each kind of track": {strings.ReplaceAll(pictures, numbered, role("main")+numbered) + sound(""), []watch.Rendition{picture, heard("", false)}},
		"two with the same key are one":      {sound("") + sound(""), []watch.Rendition{heard("", false)}},
		"captions":                           {pictures + media(`mimeType="text/vtt"`), []watch.Rendition{picture, captions}},
		"captions in the packets of the picture": {
			strings.ReplaceAll(pictures, numbered, `<Accessibility schemeIdUri="urn:scte:dash:cc:cea-608:2015" value="CC1=eng"/>`+numbered),
			[]watch.Rendition{{URL: picture.URL, Bandwidth: picture.Bandwidth, HasVideo: true, HasCaptions: true}},
		},
		"captions in MP4":                            {pictures + media(`mimeType="application/mp4" codecs="wvtt"`), []watch.Rendition{picture, captions}},
		"captions of TTML in MP4":                    {pictures + media(`mimeType="application/mp4" codecs="stpp.ttml.im1t"`), []watch.Rendition{picture, captions}},
		"captions of TTML":                           {pictures + media(`mimeType="application/ttml+xml"`), []watch.Rendition{picture, captions}},
		"the main captions of two":                   {pictures + media(`mimeType="text/vtt" lang="fr"`, role("subtitle")) + media(`mimeType="text/vtt"`, role("main")), []watch.Rendition{picture, captions}},
		"captions that only translate signs are not": {pictures + media(`mimeType="text/vtt"`, role("forced-subtitle")), []watch.Rendition{picture}},
		"representations that cannot be watched are left out": {
			media(`mimeType="image/jpeg"`) + media(`mimeType="application/mp4" codecs="stpp.ttml.im1i"`) +
				adaptationSet(`mimeType="text/vtt"`, `<Representation id="t" bandwidth="1"><BaseURL>t.vtt</BaseURL></Representation>`) +
				media(`mimeType="video/webm" codecs="vp9"`) + media(`contentType="text"`) +
				media(`mimeType="video/mp4"`, `<EssentialProperty schemeIdUri="http://dashif.org/guidelines/trickmode" value="1"/>`) +
				media(`mimeType="video/mp4"`, `<EssentialProperty schemeIdUri="urn:mpeg:dash:urlparam:2014"/>`) +
				media(`mimeType="video/mp4"`, `<ContentProtection schemeIdUri="urn:mpeg:dash:mp4protection:2011" value="cenc"/>`) +
				adaptationSet(`mimeType="video/mp4" codecs="avc1.1"`, `<Representation id="f" bandwidth="1"><BaseURL>f.mp4</BaseURL><SegmentBase indexRange="1-2"/></Representation>`) + pictures,
			[]watch.Rendition{picture},
		},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "got", renditions(t, liveMPD(period(c.sets)), noon), c.want)
		})
	}
	for name, c := range map[string]struct{ sets, detail string }{
		"everything is encrypted": {
			media(`mimeType="video/mp4"`, `<ContentProtection schemeIdUri="urn:mpeg:dash:mp4protection:2011"/>`) +
				adaptationSet(`mimeType="audio/mp4"`, numbered, `<Representation id="a" bandwidth="1"><ContentProtection schemeIdUri="x"/></Representation>`),
			"only: 2 encrypted (DRM)",
		},
		"everything is WebM":          {media(`mimeType="video/webm"`) + media(`mimeType="audio/webm"`), "1 in a format that cannot be decoded (audio/webm), 1 in a format that cannot be decoded (video/webm)"},
		"a strange type is not shown": {media(`mimeType="https://s3cr3t/"`), "(of an unknown type)"},
		"one file is not live":        {adaptationSet(`mimeType="video/mp4"`, `<Representation id="f" bandwidth="1"><BaseURL>f.mp4</BaseURL></Representation>`), "1 a single file (SegmentBase), which cannot be followed live"},
		"text":                        {media(`mimeType="text/vtt"`), "1 text or images"},
		"no representation":           {adaptationSet(`mimeType="video/mp4"`, numbered), "without a representation"},
		"a remote AdaptationSet":      {`<AdaptationSet xlink:href="https://example.com/set.xml" mimeType="video/mp4"/>`, "only: remote elements (xlink)"},
	} {
		t.Run("no rendition: "+name, func(t *testing.T) { wantMalformed(t, liveMPD(period(c.sets)), c.detail) })
	}
}

func TestTheURLOfRenditionsIsThatOfMPDLocation(t *testing.T) {
	moved := strings.ReplaceAll(slidingMPD, "<Period", "<Location>m.mpd</Location><BaseURL>https://media.example.com/</BaseURL><Period")
	if got := renditions(t, moved, noon)[0].URL; !strings.HasPrefix(got, folder+"m.mpd#") {
		t.Errorf("BaseURL changed the URL of the MPD to %s", got)
	}
	for location, want := range map[string]string{
		"https://other.example.com/m.mpd?x=1#y": "https://other.example.com/m.mpd?x=1",
		"  /m2.mpd\n":                           "https://cdn.example.com/m2.mpd",
		"file:///etc/passwd":                    mpdURL,
		"javascript:x</Location><Location>https://b.example.com/":     "https://b.example.com/",
		"https://a.example.com</Location><Location>https://b.example": "https://a.example.com",
		"<![CDATA[https://a.example.com/?a&b]]>":                      "https://a.example.com/?a&b",
	} {
		text := strings.ReplaceAll(slidingMPD, "<Period", "<Location>"+location+"</Location><Period")
		got := renditions(t, text, noon)[0].URL
		expect.Equal(t, location, got, want+"#bandwidth=100000&id=v&kind=video")
		// References stay relative to the URL from which the MPD came.
		expect.Equal(t, location, readFirst(t, text, noon).Segments[0].URI, folder+"35900.m4s")
	}
}

func TestAnUnknownFragmentNamesNoRendition(t *testing.T) {
	for _, part := range []string{"", "t=posix:now", "kind=image&id=v&bandwidth=1", "kind=video&id=v", "%zz", "kind=video&bandwidth=-1"} {
		if p, failure := decode(t, slidingMPD, part, noon); failure != nil || len(p.Renditions) != 1 {
			t.Errorf("%q: got %+v, %v", part, p, failure)
		}
	}
}

func TestCaptionsAreReadLikeMedia(t *testing.T) {
	mpd := liveMPD(period(
		adaptationSet(`mimeType="video/mp4" codecs="avc1.4d401f"`, numbered, representation("v", "900000")),
		adaptationSet(`mimeType="application/mp4" codecs="wvtt"`, numbered, representation("t", "1000")),
	))
	list := renditions(t, mpd, noon)
	picture, captions := readRendition(t, mpd, fragmentOf(t, list[0]), noon), readRendition(t, mpd, fragmentOf(t, list[1]), noon)
	if n := len(captions.Segments); n == 0 || n != len(picture.Segments) || captions.Segments[n-1].URI != strings.Replace(picture.Segments[n-1].URI, "/v/", "/t/", 1) {
		t.Errorf("got %+v beside %+v", captions.Segments, picture.Segments)
	}
	without := liveMPD(period(adaptationSet(`mimeType="video/mp4" codecs="avc1.4d401f,mp4a.40.2"`, numbered, representation("t", "900000"))))
	if _, failure := decode(t, without, fragmentOf(t, list[1]), noon); failure == nil || failure.Kind != watch.FailureExpired {
		t.Errorf("captions that are not listed any more: %v", failure)
	}
}
