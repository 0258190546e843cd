package own_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/adapters/stream"
	"github.com/stream-monitor/stream-monitor/adapters/stream/dash"
	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/adapters/stream/own"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/cdn"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const (
	master = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=100000\nlow.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=900000\nhigh.m3u8?n=1\n"
	low    = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-KEY:METHOD=AES-128,URI=\"key?k=1\",IV=0x1\n#EXT-X-MAP:URI=\"init.mp4\"\n#EXTINF:4,\nseg1.ts\n#EXTINF:4,\nhttps://elsewhere.example/seg2.ts\n"
	static = `<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT8S" profiles="p" minBufferTime="PT2S"><Period><AdaptationSet mimeType="video/mp4"><SegmentTemplate media="$Number$.m4s" initialization="i.mp4" duration="4" startNumber="1"/><Representation id="v" bandwidth="1000"/></AdaptationSet></Period></MPD>`
	moving = `<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="dynamic" availabilityStartTime="2026-01-01T00:00:00Z" minimumUpdatePeriod="PT2S" profiles="p" minBufferTime="PT2S"><UTCTiming schemeIdUri="urn:mpeg:dash:utc:http-iso:2014" value="time"/><Period start="PT0S"><AdaptationSet mimeType="video/mp4"><SegmentTemplate media="$Number$.m4s" initialization="i.mp4" duration="4" startNumber="1"/><Representation id="v" bandwidth="1000"/></AdaptationSet></Period></MPD>`
)

// fake is a stream.Requester that answers by the URL.
type fake struct {
	answer func(address string, header map[string]string) (body string, status int)
	asked  []string // addresses, with their header fields in brackets
}

func (f *fake) Get(ctx context.Context, address string, _ int64) ([]byte, reference.Origin, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, reference.Origin{}, err
	}
	header := request.Header(ctx).For(u)
	told := address
	for _, name := range request.Header(ctx).Names() {
		if value := header[name]; value != "" && !strings.Contains(told, name+":") {
			told += fmt.Sprintf(" [%s: %s]", name, value)
		}
	}
	f.asked = append(f.asked, told)
	body, status := f.answer(address, header)
	if status != 0 {
		failure := watch.NewFailure(watch.FailureRefused, "%s: answered %d", u.Host, status)
		failure.Status = status
		return nil, reference.Origin{}, failure
	}
	return []byte(body), reference.Origin{URL: address, Time: time.Now()}, nil
}

func (f *fake) Head(ctx context.Context, address string) (reference.Origin, error) {
	_, from, err := f.Get(ctx, address, 0)
	return from, err
}

func (f *fake) FetchSegment(ctx context.Context, s watch.Segment) (io.ReadCloser, error) {
	addresses := append([]string{s.URI}, s.Mirrors...)
	if s.Init != nil {
		addresses = append(append(addresses, s.Init.URI), s.Init.Mirrors...)
		if s.Init.Key != nil {
			addresses = append(addresses, s.Init.Key.URI)
		}
	}
	if s.Key != nil {
		addresses = append(addresses, s.Key.URI)
	}
	for _, address := range addresses {
		if _, _, err := f.Get(ctx, address, 0); err != nil {
			return nil, err
		}
	}
	return io.NopCloser(strings.NewReader("")), nil
}

func tools(r stream.Requester) stream.Tools {
	return stream.Tools{Own: r, Manifests: func(from stream.Getter) worker.PlaylistReader {
		return manifest.NewReader(from.Get, hls.Format{}, dash.Format{TimeServers: dash.NewTimeServers(from.Get, from.Head)})
	}}
}

// jar lends a jar.
type jar cookie.Jar

func (j jar) Jar() cookie.Jar                         { return cookie.Jar(j) }
func (j jar) Return(context.Context, cookie.Use) bool { panic("the cookies are never renewed") }

func TestWhatAServerAnswersIsTheStateOfItsStream(t *testing.T) { // section 5.7
	for name, c := range map[string]struct {
		entry  string
		query  string            // or a token URL, if it has a scheme; SERVER stands for the server's
		answer map[string]string // bodies, or a status
		want   watch.StreamState
		says   string
	}{
		"a media playlist":                  {"live.m3u8", "", map[string]string{"/live.m3u8": low}, watch.Live, ""},
		"a master playlist":                 {"live.m3u8", "", map[string]string{"/live.m3u8": master, "/low.m3u8": low}, watch.Live, ""},
		"its first rendition is gone":       {"live.m3u8", "", map[string]string{"/live.m3u8": master, "/high.m3u8": low}, watch.Live, ""},
		"all renditions are gone":           {"live.m3u8", "", map[string]string{"/live.m3u8": master}, watch.Upcoming, "answered 404"},
		"a playlist with an end":            {"live.m3u8", "", map[string]string{"/live.m3u8": low + "#EXT-X-ENDLIST\n"}, watch.NotALiveStream, "EXT-X-ENDLIST"},
		"its rendition has an end":          {"live.m3u8", "", map[string]string{"/live.m3u8": master, "/low.m3u8": low + "#EXT-X-ENDLIST\n"}, watch.NotALiveStream, "EXT-X-ENDLIST"},
		"a dynamic MPD":                     {"live.mpd", "", map[string]string{"/live.mpd": moving}, watch.Live, ""},
		"a static MPD":                      {"live.mpd", "", map[string]string{"/live.mpd": static}, watch.NotALiveStream, "static MPD"},
		"a playlist without a segment":      {"live.m3u8", "", map[string]string{"/live.m3u8": "#EXTM3U\n#EXT-X-TARGETDURATION:4\n"}, watch.Upcoming, "without a usable segment"},
		"a page":                            {"live.m3u8", "", map[string]string{"/live.m3u8": "<html>"}, watch.NotALiveStream, "neither an HLS playlist nor a DASH MPD"},
		"404":                               {"live.m3u8", "", nil, watch.Upcoming, "answered 404"},
		"503":                               {"live.m3u8", "", map[string]string{"/live.m3u8": "503"}, watch.Upcoming, "answered 503"},
		"410 without a query":               {"live.m3u8", "", map[string]string{"/live.m3u8": "410"}, watch.Upcoming, "answered 410"},
		"410 with a query":                  {"live.m3u8", "?t=s3cr3t", map[string]string{"/live.m3u8": "410"}, watch.Denied, "refuses the credentials"},
		"401":                               {"live.m3u8", "", map[string]string{"/live.m3u8": "401"}, watch.Denied, "wants credentials, and the stream has none"},
		"403":                               {"live.m3u8", "?t=s3cr3t", map[string]string{"/live.m3u8": "403"}, watch.Denied, "answered 403: the server refuses the credentials"},
		"403 of a rendition":                {"live.m3u8", "?t=s3cr3t", map[string]string{"/live.m3u8": master, "/low.m3u8": "403", "/high.m3u8": "403"}, watch.Denied, "answered 403"},
		"429":                               {"live.m3u8", "", map[string]string{"/live.m3u8": "429"}, watch.RateLimited, "answered 429"},
		"its token":                         {"live.m3u8", "SERVER/t", map[string]string{"/t": "t=s3cr3t", "/live.m3u8": low}, watch.Live, ""},
		"no token":                          {"live.m3u8", "SERVER/t", map[string]string{"/live.m3u8": low}, watch.Unreachable, "the token URL has given no token: 127.0.0.1:"},
		"a page in place of a token":        {"live.m3u8", "SERVER/t", map[string]string{"/t": "<html>s3cr3t", "/live.m3u8": low}, watch.Unreachable, "its answer has no query of a URL"},
		"a token that is too large":         {"live.m3u8", "SERVER/t", map[string]string{"/t": strings.Repeat("s3cr3t", 12_000), "/live.m3u8": low}, watch.Unreachable, "sent more bytes than allowed"},
		"a token URL that is not allowed":   {"live.m3u8", "http://[::1]:1/s3cr3t", map[string]string{"/live.m3u8": low}, watch.Unreachable, "MEDIA_ALLOWED_NETWORKS"},
		"a redirect of a token URL to it":   {"live.m3u8", "SERVER/t", map[string]string{"/t": "302", "/live.m3u8": low}, watch.Unreachable, "MEDIA_ALLOWED_NETWORKS"},
		"a token that is refused":           {"live.m3u8", "SERVER/t", map[string]string{"/t": "t=s3cr3t", "/live.m3u8": "403"}, watch.Denied, "the server refuses the token"},
		"no server":                         {"", "", nil, watch.ServerDown, "refuses the connection"},
		"a server that breaks off":          {"live.m3u8", "", map[string]string{"/live.m3u8": "reset"}, watch.ServerDown, "broke the connection"},
		"an address that is not allowed":    {"private", "", nil, watch.Unreachable, "MEDIA_ALLOWED_NETWORKS"},
		"a redirect to what is not allowed": {"live.m3u8", "", map[string]string{"/live.m3u8": "302"}, watch.Unreachable, "MEDIA_ALLOWED_NETWORKS"},
	} {
		server := cdn.New()
		defer server.Close()
		server.Handle(func(w http.ResponseWriter, r *http.Request) {
			var status int
			body, found := c.answer[r.URL.Path]
			switch n, _ := fmt.Sscan(body, &status); {
			case !found:
				http.NotFound(w, r)
			case n == 1 && status == http.StatusFound:
				http.Redirect(w, r, "http://[::1]:1/secret", status)
			case body == "reset":
				httpfault.Reset()(w, r, nil)
			case n == 1:
				w.WriteHeader(status)
			default:
				_, _ = w.Write([]byte(body))
			}
		})
		client := media.New(media.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowedBy: "MEDIA_ALLOWED_NETWORKS"})
		defer client.Close()
		u := monitor.StreamURL("hls+" + server.URL + "/" + c.entry)
		switch c.entry {
		case "":
			server.Close()
		case "private":
			u = "hls+http://[::1]:1/live.m3u8"
		}
		secret := monitor.StreamSecret{Query: c.query}
		if !strings.HasPrefix(c.query, "?") {
			secret = monitor.StreamSecret{TokenURL: strings.Replace(c.query, "SERVER", server.URL, 1)}
		}
		ctx := request.WithSecret(t.Context(), secret)
		got := own.Source(tools(client)).Resolver.Resolve(ctx, u)
		if got.State != c.want || !strings.Contains(got.Detail, c.says) || strings.Contains(got.Detail, "s3cr3t") || (got.State == watch.Live) != (got.Manifest == u.ID()) || got.Source != "hls" {
			t.Errorf("%s: %+v, want %s that says %q", name, got, c.want, c.says)
		}
	}
}

// follow resolves a stream, and reads its newest segments, of all renditions.
func follow(ctx context.Context, t *testing.T, f *fake, u monitor.StreamURL) (seen []watch.Playlist) {
	t.Helper()
	source := own.Source(tools(f))
	m := source.Media(u)
	defer m.Close()
	f.asked = nil
	entry := m.ReadPlaylist(ctx, u.ID())
	seen = append(seen, entry)
	for _, r := range entry.Renditions {
		seen = append(seen, m.ReadPlaylist(ctx, r.URL))
	}
	for _, p := range seen {
		if p.Failure != nil {
			t.Fatal(p.Failure)
		}
		for _, s := range p.Segments[max(0, len(p.Segments)-2):] {
			must.Get(m.FetchSegment(t.Context(), s))(t) // as evidence does it
		}
	}
	return seen
}

// No site sells advertisements in a stream of one's own: what is called so is the broadcaster's media, and is judged.
func TestAStreamOfOnesOwnHasNoAdvertisements(t *testing.T) { // section 5.7, decision S26
	f := &fake{answer: func(string, map[string]string) (string, int) {
		return "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00Z\n" +
			"#EXT-X-DATERANGE:ID=\"stitched-ad-1\",START-DATE=\"2026-01-01T00:00:00Z\"\n" +
			"#EXTINF:4,title=\"Enya - Amazon\"\nseg1.ts\n#EXTINF:4,\npreroll-2.ts\n#EXTINF:4,\nseg3.ts\n", 0
	}}
	for _, p := range follow(request.WithSecret(t.Context(), monitor.StreamSecret{}), t, f, "hls+https://cdn.example/live.m3u8") {
		for _, s := range p.Segments {
			if s.Ad {
				t.Errorf("nobody would judge %s", s.URI)
			}
		}
	}
}

// A server may send whoever asks to another URL, with the query. A DASH manifest is read there again and again.
func TestAQueryGoesWhereTheServerHasSentIt(t *testing.T) { // section 5.7
	server, another := cdn.New(), cdn.New()
	defer server.Close()
	defer another.Close()
	answer := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("t") != "s3cr3t":
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/live.mpd":
			http.Redirect(w, r, "/edge/live.mpd?"+r.URL.RawQuery, http.StatusFound)
		case r.URL.Path == "/away.mpd":
			http.Redirect(w, r, another.URL+"/edge/live.mpd?"+r.URL.RawQuery, http.StatusFound)
		default:
			_, _ = io.WriteString(w, strings.Replace(moving, "<UTCTiming", "<X", 1))
		}
	}
	server.Handle(answer)
	another.Handle(answer)
	client := media.New(media.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	defer client.Close()
	for path, want := range map[string]watch.StreamState{"/live.mpd": watch.Live, "/away.mpd": watch.Denied} {
		u := monitor.StreamURL("dash+" + server.URL + path)
		got := own.Source(tools(client)).Resolver.Resolve(request.WithSecret(t.Context(), monitor.StreamSecret{Query: "?t=s3cr3t"}), u)
		if got.State != want {
			t.Errorf("%s: %+v, want %s", path, got, want)
		}
	}
}

// A server that refuses the segments, and not the playlist, has nothing against the token.
func TestSegmentsThatAreRefusedDoNotFloodTheTokenURL(t *testing.T) { // section 5.7
	const u, token = monitor.StreamURL("hls+https://cdn.example/live.m3u8"), "https://tokens.example/t"
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		f := &fake{answer: func(address string, _ map[string]string) (string, int) {
			switch {
			case address == token:
				asked++
				return "a=" + fmt.Sprint(asked), 0
			case strings.Contains(address, "/seg"):
				return "", http.StatusForbidden
			}
			return low, 0
		}}
		m := own.Source(tools(f)).Media(u)
		defer m.Close()
		ctx := request.WithSecret(t.Context(), monitor.StreamSecret{TokenURL: token})
		for range 60 {
			p := m.ReadPlaylist(ctx, u.ID())
			_, _ = m.FetchSegment(ctx, p.Segments[0])
			time.Sleep(time.Second)
		}
		if asked > 13 {
			t.Errorf("in a minute the token URL was asked %d times", asked)
		}
	})
}

// tokenless is a fake whose token URL gives no answer until the question is given up.
type tokenless struct {
	fake

	hangs bool
	token string
}

func (f *tokenless) Get(ctx context.Context, address string, limit int64) ([]byte, reference.Origin, error) {
	if f.hangs && address == f.token {
		<-ctx.Done()
		return nil, reference.Origin{}, watch.NewFailure(watch.FailureNetwork, "it does not answer")
	}
	return f.fake.Get(ctx, address, limit)
}

// While a token works, a token URL that hangs costs one question at a time its ten seconds, and then pauses.
func TestATokenURLThatHangsIsNotAskedAgainAtOnce(t *testing.T) { // section 5.7
	const u, token = monitor.StreamURL("hls+https://cdn.example/live.m3u8"), "https://tokens.example/t"
	synctest.Test(t, func(t *testing.T) {
		f := &tokenless{token: token, fake: fake{answer: func(address string, _ map[string]string) (string, int) {
			if address == token {
				return `{"query": "a=1", "expires_in": 120}`, 0
			}
			return low, 0
		}}}
		m := own.Source(tools(f)).Media(u)
		defer m.Close()
		ctx := request.WithSecret(t.Context(), monitor.StreamSecret{TokenURL: token})
		m.ReadPlaylist(ctx, u.ID())
		f.hangs = true
		time.Sleep(91 * time.Second)
		m.ReadPlaylist(ctx, u.ID()) // is the first to ask
		began := time.Now()
		m.ReadPlaylist(ctx, u.ID())
		if took := time.Since(began); took > 0 {
			t.Errorf("the next reading takes %v", took)
		}
	})
}

func TestCredentialsGoToTheOriginOfTheStreamAtEachHop(t *testing.T) { // section 5.7
	f := &fake{answer: func(address string, _ map[string]string) (string, int) {
		switch path, _, _ := strings.Cut(strings.TrimPrefix(address, "https://cdn.example"), "?"); path {
		case "/live.m3u8":
			return master, 0
		case "/low.m3u8", "/high.m3u8":
			return low, 0
		case "/live.mpd":
			return moving, 0
		case "/time":
			return "2026-01-01T00:01:02Z", 0
		}
		return "", 0
	}}
	const key = " [x-key: s3cr3t]"
	secret := monitor.StreamSecret{Query: "?t=s3cr3t&n=0", Headers: map[string]string{"x-key": "s3cr3t"}}
	media := func(query, own string) []string { // of one rendition; the segments first
		key := "https://cdn.example/key?k=1" + strings.Replace(query, "?", "&", 1) + own // that of the init section, and that of the segment
		return []string{
			"https://cdn.example/seg1.ts" + query + own, "https://cdn.example/init.mp4" + query + own, key, key,
			"https://elsewhere.example/seg2.ts", "https://cdn.example/init.mp4" + query + own, key, key,
		}
	}
	for name, c := range map[string]struct {
		u      monitor.StreamURL
		copies bool
		want   []string
	}{
		"HLS, the query for its URL alone": {"hls+https://cdn.example/live.m3u8", false, slices.Concat(
			[]string{"https://cdn.example/live.m3u8?t=s3cr3t&n=0" + key, "https://cdn.example/low.m3u8" + key, "https://cdn.example/high.m3u8?n=1" + key}, media("", key), media("", key))},
		"HLS, the query copied": {"hls+https://cdn.example/live.m3u8", true, slices.Concat(
			[]string{"https://cdn.example/live.m3u8?t=s3cr3t&n=0" + key, "https://cdn.example/low.m3u8?t=s3cr3t&n=0" + key, "https://cdn.example/high.m3u8?n=1&t=s3cr3t" + key},
			media("?t=s3cr3t&n=0", key), media("?t=s3cr3t&n=0", key))},
		"DASH, the query copied": {"dash+https://cdn.example/live.mpd", true, []string{
			"https://cdn.example/live.mpd?t=s3cr3t&n=0" + key, "https://cdn.example/time?t=s3cr3t&n=0" + key,
			"https://cdn.example/live.mpd?t=s3cr3t&n=0" + key,
			"https://cdn.example/13.m4s?t=s3cr3t&n=0" + key, "https://cdn.example/i.mp4?t=s3cr3t&n=0" + key,
			"https://cdn.example/14.m4s?t=s3cr3t&n=0" + key, "https://cdn.example/i.mp4?t=s3cr3t&n=0" + key,
		}},
	} {
		secret.CopyQuery = c.copies
		seen := follow(request.WithSecret(t.Context(), secret), t, f, c.u)
		if !slices.Equal(f.asked, c.want) {
			t.Errorf("%s: asked\n%s\nwant\n%s", name, strings.Join(f.asked, "\n"), strings.Join(c.want, "\n"))
		}
		if told := string(must.Get(json.Marshal(seen))(t)); strings.Contains(told, "s3cr3t") {
			t.Errorf("%s: what was read has the secret: %s", name, told)
		}
	}
	cookies := request.WithCookies(request.WithSecret(t.Context(), monitor.StreamSecret{}), jar{Version: 1, Text: "" +
		".cdn.example\tTRUE\t/\tTRUE\t0\tCloudFront-Key\ts3cr3t\n.other.example\tTRUE\t/\tTRUE\t0\tX\t1\n.cdn.example\tTRUE\t/\tTRUE\t1\told\t1\n"})
	follow(cookies, t, f, "hls+https://cdn.example/live.m3u8")
	if f.asked[0] != "https://cdn.example/live.m3u8 [cookie: CloudFront-Key=s3cr3t]" {
		t.Errorf("with a jar: %s", f.asked[0])
	}
}

// MediaMTX names a session in the query of each URL of a multivariant playlist, and answers 401 when it is over.
func TestARefusedSessionOfTheServerIsNoRefusalOfCredentials(t *testing.T) { // section 5.7
	f := &fake{answer: func(string, map[string]string) (string, int) { return "", http.StatusUnauthorized }}
	for name, c := range map[string]struct {
		url    string
		secret monitor.StreamSecret
		want   watch.FailureKind
	}{
		"a session":                             {"https://cdn.example/low.m3u8?session=1", monitor.StreamSecret{}, watch.FailureRefused},
		"a session, and credentials":            {"https://cdn.example/low.m3u8?session=1", monitor.StreamSecret{Headers: map[string]string{"x-key": "k"}}, watch.FailureDenied},
		"a session, and a copied query":         {"https://cdn.example/low.m3u8?session=1", monitor.StreamSecret{Query: "?t=1", CopyQuery: true}, watch.FailureDenied},
		"a session of another server":           {"https://other.example/low.m3u8?session=1", monitor.StreamSecret{Headers: map[string]string{"x-key": "k"}}, watch.FailureRefused},
		"no session":                            {"https://cdn.example/low.m3u8", monitor.StreamSecret{}, watch.FailureDenied},
		"the stream itself, with its own query": {"https://cdn.example/live.m3u8", monitor.StreamSecret{Query: "?t=1"}, watch.FailureDenied},
	} {
		m := own.Source(tools(f)).Media("hls+https://cdn.example/live.m3u8")
		p := m.ReadPlaylist(request.WithSecret(t.Context(), c.secret), c.url)
		if p.Failure == nil || p.Failure.Kind != c.want {
			t.Errorf("%s: %v, want %s", name, p.Failure, c.want)
		}
		m.Close()
	}
}

// TestATokenIsAskedForBeforeItExpiresAndOnceWhenItIsRefused reads a stream every 10 s for a time. Each token works for a minute.
func TestATokenIsAskedForBeforeItExpiresAndOnceWhenItIsRefused(t *testing.T) { // section 5.7
	const u, token = monitor.StreamURL("hls+https://cdn.example/live.m3u8"), "https://tokens.example/t?key=s3cr3t"
	synctest.Test(t, func(t *testing.T) {
		issued, tokenStatus, revoked := 0, 0, false
		var expires time.Time
		f := &fake{answer: func(address string, header map[string]string) (string, int) {
			switch {
			case address == token && tokenStatus != 0:
				return "", tokenStatus
			case address == token:
				issued++
				expires, revoked = time.Now().Add(time.Minute), false
				return fmt.Sprintf(`{"headers": {"X-Token": "s3cr3t-%d"}, "expires_in": 60}`, issued), 0
			case revoked || time.Now().After(expires) || header["x-token"] != fmt.Sprint("s3cr3t-", issued):
				return "", http.StatusForbidden
			}
			return low, 0
		}}
		source := own.Source(tools(f))
		m := source.Media(u)
		defer m.Close()
		ctx := request.WithSecret(t.Context(), monitor.StreamSecret{TokenURL: token})
		questions := func(minutes int) (asked int, failures []string) {
			f.asked = nil
			for range minutes * 6 {
				time.Sleep(10 * time.Second)
				if p := m.ReadPlaylist(ctx, u.ID()); p.Failure != nil {
					failures = append(failures, p.Failure.Error())
				}
			}
			for _, a := range f.asked {
				if a == token {
					asked++
				}
			}
			return asked, failures
		}
		if r := source.Resolver.Resolve(ctx, u); r.State != watch.Live {
			t.Errorf("at first: %+v", r)
		}
		asked, failures := questions(10)
		if asked < 10 || asked > 13 || failures != nil {
			t.Errorf("in 10 minutes it was asked %d times, and %q failed", asked, failures)
		}
		time.Sleep(time.Second)
		revoked = true
		if p := m.ReadPlaylist(ctx, u.ID()); p.Failure != nil {
			t.Errorf("after a token was revoked: %v", p.Failure)
		}
		tokenStatus = http.StatusInternalServerError
		asked, failures = questions(5)
		if asked < 4 || asked > 8 || len(failures) < 23 || len(failures) > 25 {
			t.Errorf("without new tokens it was asked %d times, and %d readings failed", asked, len(failures))
		}
		expect.Text(t, "the failure", failures[len(failures)-1], "token: cdn.example: answered 403: the token expired at 20", "the token URL has given no other: tokens.example: answered 500")
		if r := source.Resolver.Resolve(ctx, u); r.State != watch.Denied || strings.Contains(r.Detail, "s3cr3t") {
			t.Errorf("without new tokens: %+v", r)
		}
		if r := own.Source(tools(f)).Resolver.Resolve(ctx, u); r.State != watch.Unreachable || !strings.Contains(r.Detail, "the token URL has given no token: tokens.example: answered 500") {
			t.Errorf("without any token: %+v", r)
		}
		tokenStatus = 0
		time.Sleep(time.Minute)
		if p := m.ReadPlaylist(ctx, u.ID()); p.Failure != nil {
			t.Errorf("with tokens again: %v", p.Failure)
		}
		if p := m.ReadPlaylist(t.Context(), u.ID()); p.Failure != nil {
			t.Errorf("a reading for evidence: %v", p.Failure)
		}
		if strings.Contains(fmt.Sprint(failures), "s3cr3t") {
			t.Errorf("a token is shown: %q", failures)
		}
	})
}
