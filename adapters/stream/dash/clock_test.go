package dash_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/adapters/stream/dash"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

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
