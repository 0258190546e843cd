package dash_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/adapters/stream/dash"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest/manifesttest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const (
	// folder is that of every MPD in the tests.
	folder = "https://cdn.example.com/live/"
	// mpdURL is the URL of every MPD, after redirects.
	mpdURL = folder + "manifest.mpd?key=" + manifesttest.Secret
)

var noon = manifesttest.Noon

// decode decodes text as if the time were at.
func decode(t testing.TB, text, part string, at time.Time) (watch.Playlist, *watch.Failure) {
	t.Helper()
	p := manifesttest.Decode(t.Context(), t, dash.Format{Now: func() time.Time { return at }}, text, mpdURL, part)
	return p, p.Failure
}

func renditions(t testing.TB, text string, at time.Time) []watch.Rendition {
	t.Helper()
	return readRendition(t, text, "", at).Renditions
}

// readFirst reads the first rendition that text lists.
func readFirst(t testing.TB, text string, at time.Time) watch.Playlist {
	t.Helper()
	return readRendition(t, text, fragmentOf(t, renditions(t, text, at)[0]), at)
}

func readRendition(t testing.TB, text, part string, at time.Time) watch.Playlist {
	t.Helper()
	p, failure := decode(t, text, part, at)
	if failure != nil {
		t.Fatal(failure)
	}
	return p
}

func fragmentOf(t testing.TB, r watch.Rendition) string {
	t.Helper()
	_, part, ok := strings.Cut(r.URL, "#")
	if !ok {
		t.Fatalf("%s has no fragment", r.URL)
	}
	return part
}

// wantMalformed fails the test unless text is malformed for this reason, either at
// once or when its first rendition is read.
func wantMalformed(t testing.TB, text, detail string) {
	t.Helper()
	p, failure := decode(t, text, "", noon)
	if failure == nil && len(p.Renditions) > 0 {
		p, _ = decode(t, text, fragmentOf(t, p.Renditions[0]), noon)
	}
	manifesttest.WantMalformed(t, p, detail)
}

// liveMPD returns a dynamic MPD that began an hour before noon.
func liveMPD(inside ...string) string {
	return `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="dynamic" availabilityStartTime="2026-11-21T11:00:00Z" minimumUpdatePeriod="PT2S">` +
		strings.Join(inside, "") + `</MPD>`
}

// videoPeriod returns a Period that begins with the MPD and has one video representation.
func videoPeriod(inside ...string) string {
	return `<Period start="PT0S"><AdaptationSet mimeType="video/mp4" codecs="avc1.42c00d"><Representation id="v" bandwidth="100000">` +
		strings.Join(inside, "") + `</Representation></AdaptationSet></Period>`
}

// template returns a SegmentTemplate with these attributes and child elements.
func template(attributes string, inside ...string) string {
	return `<SegmentTemplate ` + attributes + `>` + strings.Join(inside, "") + `</SegmentTemplate>`
}

func timeline(inside string) string { return `<SegmentTimeline>` + inside + `</SegmentTimeline>` }

// slidingMPD is an ordinary live MPD with a SegmentTimeline.
var slidingMPD = liveMPD(videoPeriod(template(`media="$Time$.m4s" initialization="i.mp4" timescale="10"`, timeline(`<S t="35900" d="20" r="4"/>`))))

func TestAnMPDIsRecognisedByItsRootElement(t *testing.T) {
	for text, want := range map[string]bool{
		`<MPD>`: true, `<MPD xmlns="a">`: true, "\ufeff \r\n<MPD/>": true, "<MPD\n": true,
		`<?xml version="1.0"?><!-- <HTML> --><?pi?><MPD>`: true, `<dash:MPD xmlns:dash="x">`: true,
		`<!DOCTYPE MPD [<!ENTITY a "b">]><MPD/>`: true,
		``:                                       false, `MPD`: false, `<`: false, `<!--`: false, `<!-- <MPD> -->`: false, `<?xml`: false, `<MPDs>`: false, `<mpd>`: false,
		`<html><MPD/></html>`: false, `<!DOCTYPE html><html>`: false, "#EXTM3U\n#<MPD>": false, `x<MPD>`: false, "<M\x00PD>": false,
	} {
		if got := (dash.Format{}).Recognises([]byte(text)); got != want {
			t.Errorf("Recognises(%q) = %v", text, got)
		}
	}
}

func TestAnMPDMustBeWellFormed(t *testing.T) {
	for name, text := range map[string]string{
		"a byte order mark":                        "\ufeff" + slidingMPD,
		"comments with markup":                     strings.ReplaceAll(slidingMPD, "<S ", "<!-- <S t='1'/> \" --><S "),
		"processing instructions":                  strings.ReplaceAll(slidingMPD, "<S ", "<?a > ?><S "),
		"single quotes and white space":            strings.ReplaceAll(strings.ReplaceAll(slidingMPD, `"`, `'`), "='", " =\n\t'"),
		"prefixes":                                 strings.NewReplacer("</", "</d:", "<?", "<?", "<", "<d:").Replace(slidingMPD[len(`<?xml version="1.0"?>`):]),
		"unknown elements":                         strings.ReplaceAll(slidingMPD, "<S ", "<a:b><S d='0'/><MPD/></a:b><S "),
		"unknown attributes":                       strings.ReplaceAll(slidingMPD, "<S ", `<S x:t="1" n-ame="&#x3e;>" `),
		"attributes of another namespace":          strings.ReplaceAll(slidingMPD, `r="4"`, `r="4" x:t="1" x:d="1"`),
		"numbers as entities":                      strings.ReplaceAll(slidingMPD, `d="20"`, `d="&#50;0"`),
		"attributes that the library cannot parse": strings.ReplaceAll(slidingMPD, "<AdaptationSet ", `<AdaptationSet id="video" segmentAlignment="2" startWithSAP="x" `),
		"an event stream":                          strings.ReplaceAll(slidingMPD, "<AdaptationSet ", `<EventStream><Event presentationTime="x"><![CDATA[<a>]]></Event></EventStream><AdaptationSet `),
		"white space after the root":               slidingMPD + " \n<!-- -->\n",
		"remote elements that resolve to zero":     strings.ReplaceAll(slidingMPD, "<AdaptationSet ", `<AdaptationSet xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="urn:mpeg:dash:resolve-to-zero:2013" mimeType="audio/mp4"><Representation id="n" bandwidth="1"><SegmentTemplate media="$Number$" duration="1"/></Representation></AdaptationSet><AdaptationSet `),
		"an end tag in place of a slash":           strings.ReplaceAll(slidingMPD, `r="4"/>`, `r="4"></S >`),
		"an unknown essential property":            strings.ReplaceAll(slidingMPD, "<Representation ", `<EssentialProperty schemeIdUri="urn:mpeg:mpegB:cicp:TransferCharacteristics" value="16"/><Representation `),
		"availabilityTimeOffset":                   strings.ReplaceAll(slidingMPD, "<SegmentTemplate ", `<SegmentTemplate availabilityTimeOffset="INF" availabilityTimeComplete="false" `),
		"a UTCTiming that is not direct":           strings.ReplaceAll(slidingMPD, "<Period", `<UTCTiming schemeIdUri="urn:mpeg:dash:utc:http-iso:2014" value="https://time.example.com"/><Period`),
	} {
		t.Run("an ordinary MPD with "+name, func(t *testing.T) {
			got, want := readFirst(t, text, noon), readFirst(t, slidingMPD, noon)
			if !reflect.DeepEqual(got, want) || len(want.Segments) != 5 {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
	for name, c := range map[string]struct{ text, detail string }{
		"a truncated MPD":                {slidingMPD[:len(slidingMPD)-6], "too early"},
		"an end in a tag":                {`<MPD><Period`, "not well-formed"},
		"an end in a comment":            {`<MPD><!-- x`, "ends within"},
		"an end in a value":              {`<MPD a="b>`, "not well-formed"},
		"an extra end tag":               {slidingMPD + `</MPD>`, "without its start tag"},
		"crossed tags":                   {`<MPD><a><b></a></b></MPD>`, "without its start tag"},
		"two roots":                      {slidingMPD + slidingMPD[len(`<?xml version="1.0"?>`):], "second root"},
		"characters after the root":      {slidingMPD + "x", "characters outside"},
		"a value without quotes":         {`<MPD a=b/>`, "not well-formed"},
		"an attribute without value":     {`<MPD a/>`, "not well-formed"},
		"a tag in a value":               {`<MPD a="<"/>`, "not well-formed"},
		"no space between attributes":    {`<MPD a="b"c="d"/>`, "not well-formed"},
		"a tag without a name":           {`<MPD>< /></MPD>`, "not well-formed"},
		"attributes of an end tag":       {`<MPD></MPD a="b">`, "not well-formed"},
		"a DOCTYPE":                      {`<!DOCTYPE MPD [<!ENTITY a "b">]>` + slidingMPD, "DOCTYPE"},
		"CDATA outside":                  {`<![CDATA[x]]><MPD/>`, "DOCTYPE or another declaration"},
		"an attribute twice":             {`<MPD type="static" type="dynamic"/>`, "twice"},
		"an unknown entity":              {strings.ReplaceAll(slidingMPD, `d="20"`, `d="&a;"`), "the decoder refuses it"},
		"a number with a fraction":       {strings.ReplaceAll(slidingMPD, `d="20"`, `d="2.5"`), "S@d is not a whole number"},
		"a number that is negative":      {strings.ReplaceAll(slidingMPD, `d="20"`, `d="-2"`), "S@d is not a whole number"},
		"bytes that are not UTF-8":       {strings.ReplaceAll(slidingMPD, `id="v"`, "id=\"\xff\xfe\""), "the decoder refuses it"},
		"another root":                   {`<SmoothStreamingMedia/>`, "not an MPD"},
		"no bytes":                       {``, "too early"},
		"a text with an error on line 3": {"<MPD>\n<a>\n<b b></a></MPD>", "line 3: "},
	} {
		t.Run(name+" is malformed", func(t *testing.T) { wantMalformed(t, c.text, c.detail) })
	}
}

func TestDecodingThatIsStoppedIsAFailure(t *testing.T) {
	manifesttest.TestStopped(t, dash.Format{Now: func() time.Time { return noon }}, slidingMPD, dash.DecodeTime)
}

func TestTheDefaultClockIsThatOfThisMachine(t *testing.T) {
	at := time.Now().UTC().Add(-time.Minute).Format(time.RFC3339)
	text := strings.ReplaceAll(liveMPD(videoPeriod(template(`media="$Number$" duration="1"`))), "2026-11-21T11:00:00Z", at)
	p, err := dash.Format{}.Decode(t.Context(), []byte(text), reference.Origin{URL: mpdURL}, "kind=video&id=v&bandwidth=1")
	if n := len(p.Segments); err != nil || n < 55 || n > 120 {
		t.Errorf("got %d segments, %v", n, err)
	}
}

// numberMPD lists by duration, so the newest segment follows from the time alone.
var numberMPD = liveMPD(videoPeriod(template(`media="$Number$" duration="10"`)))

// timeServer answers by GET what body says, and by HEAD its own time.
type timeServer struct {
	now   func() time.Time
	body  string
	fails bool
	asked []string
}

func (s *timeServer) get(_ context.Context, url string, limit int64) ([]byte, reference.Origin, error) {
	s.asked = append(s.asked, "GET "+url)
	if s.fails || limit > 1000 {
		return nil, reference.Origin{}, errors.New("no answer")
	}
	body := s.body
	if body == "" {
		body = s.now().Format(time.RFC3339Nano)
	}
	return []byte(body), reference.Origin{}, nil
}

func (s *timeServer) head(_ context.Context, url string) (reference.Origin, error) {
	s.asked = append(s.asked, "HEAD "+url)
	if s.fails {
		return reference.Origin{}, errors.New("no answer")
	}
	return reference.Origin{Time: s.now()}, nil
}

// newestNumber returns the number of the newest segment. At noon it is 359.
func newestNumber(t *testing.T, format dash.Format, text string, from reference.Origin) string {
	t.Helper()
	from.URL = mpdURL
	p := must.Get(format.Decode(t.Context(), []byte(text), from, "kind=video&id=v&bandwidth=1"))(t)
	uri := p.Segments[len(p.Segments)-1].URI
	return uri[strings.LastIndex(uri, "/")+1:]
}

func timing(scheme, value string) string {
	return `<UTCTiming schemeIdUri="urn:mpeg:dash:utc:` + scheme + `" value="` + value + `"/>`
}

func TestTheTimeIsThatOfTheMPDThenOfItsServerThenOfThisMachine(t *testing.T) {
	const half = "2026-11-21T11:30:00Z" // 179 is the newest
	server := noon.Add(-15 * time.Minute)
	for name, c := range map[string]struct {
		timings string
		server  time.Time
		body    string
		fails   bool
		want    string
		asked   string
	}{
		"this machine's":                    {"", time.Time{}, "", false, "359", "[]"},
		"the server's":                      {"", server, "", false, "269", "[]"},
		"direct":                            {timing("direct:2014", half), server, "", false, "179", "[]"},
		"http-xsdate":                       {timing("http-xsdate:2014", "https://time.example.com/?iso"), server, "", false, "179", "[GET https://time.example.com/?iso]"},
		"http-iso, of this server":          {timing("http-iso:2014", "/now"), server, "", false, "179", "[GET https://cdn.example.com/now]"},
		"http-iso without seconds' parts":   {timing("http-iso:2012", "/now"), server, "2026-11-21T11:30:00+00:00\n", false, "179", "[GET https://cdn.example.com/now]"},
		"http-head":                         {timing("http-head:2014", "/m.mpd"), server, "", false, "179", "[HEAD https://cdn.example.com/m.mpd]"},
		"the next, if a value is no time":   {timing("direct:2014", "soon") + timing("http-head:2014", "/m.mpd"), server, "", false, "179", "[HEAD https://cdn.example.com/m.mpd]"},
		"the server's, if none answers":     {timing("http-head:2014", "/a /b") + timing("http-iso:2014", "/c /d"), server, "", true, "269", "[HEAD https://cdn.example.com/a HEAD https://cdn.example.com/b GET https://cdn.example.com/c]"},
		"the server's, if it is no time":    {timing("http-xsdate:2014", "/t"), server, "<html>", false, "269", "[GET https://cdn.example.com/t]"},
		"the server's, if it is no address": {timing("http-xsdate:2014", "file:///etc/passwd"), server, "", false, "269", "[]"},
		"the server's, of unknown schemes":  {timing("ntp:2014", "pool.example.com") + timing("http-ntp:2014", "/t"), server, "", false, "269", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &timeServer{now: func() time.Time { return noon.Add(-30 * time.Minute) }, body: c.body, fails: c.fails}
			format := dash.Format{Now: func() time.Time { return noon }, TimeServers: dash.NewTimeServers(s.get, s.head)}
			text := strings.Replace(numberMPD, "<Period", c.timings+"<Period", 1)
			expect.Equal(t, "the newest", newestNumber(t, format, text, reference.Origin{Time: c.server}), c.want)
			expect.Equal(t, "asked", fmt.Sprint(s.asked), c.asked)
		})
	}
}

func TestATimeServerIsAskedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &timeServer{now: func() time.Time { return noon.Add(time.Since(began)) }}
		host := began // this machine's clock stands still, and is years wrong
		format := dash.Format{Now: func() time.Time { return host }, TimeServers: dash.NewTimeServers(s.get, s.head)}
		text := strings.Replace(numberMPD, "<Period", timing("http-iso:2014", "/now")+"<Period", 1)
		for i := range 12 * 6 { // every 10 s for 12 minutes
			must.Equal(t, fmt.Sprintf("after %d s the newest", 10*i), newestNumber(t, format, text, reference.Origin{}), fmt.Sprint(359+i))
			time.Sleep(10 * time.Second)
		}
		expect.Equal(t, "times asked", len(s.asked), 2)
		s.fails, s.asked = true, nil
		for range 60 {
			time.Sleep(30 * time.Second)
			newestNumber(t, format, text, reference.Origin{Time: noon})
		}
		if n := len(s.asked); n < 10 || n > 30 {
			t.Errorf("asked a silent server %d times in half an hour", n)
		}
	})
}
