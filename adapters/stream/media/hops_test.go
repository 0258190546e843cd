package media_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound/outboundtest"
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
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

// Pages that are none: where an endless response, and the token URL of a stream.
const (
	endless = "/endless"
	token   = "/token"
)

// hops are the places at which a stream names the next server. Each is a page of a public server, in which
// {target} is the URL that is named; /moved leads there, and /key has a key.
var hops = map[string]string{
	"a manifest":                      "",
	"a manifest's redirect":           "/moved",
	"an endless response":             endless,
	"an endless response, moved":      endless + "/moved",
	"the token URL":                   token,
	"the token URL's redirect":        token + "/moved",
	"a variant":                       "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n{target}\n",
	"a rendition of sound":            "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"a\",URI=\"{target}\"\n#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"a\"\n/empty.m3u8\n",
	"captions":                        "#EXTM3U\n#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"a\",NAME=\"a\",URI=\"{target}\"\n#EXT-X-STREAM-INF:BANDWIDTH=1,SUBTITLES=\"a\"\n/empty.m3u8\n",
	"a segment":                       mediaPlaylist("", "{target}"),
	"a segment's redirect":            mediaPlaylist("", "/moved"),
	"a key":                           mediaPlaylist("#EXT-X-KEY:METHOD=AES-128,URI=\"{target}\"\n", "/x"),
	"a key's redirect":                mediaPlaylist("#EXT-X-KEY:METHOD=AES-128,URI=\"/moved\"\n", "/x"),
	"an encrypted segment":            mediaPlaylist("#EXT-X-KEY:METHOD=AES-128,URI=\"/key\"\n", "{target}"),
	"a map":                           mediaPlaylist("#EXT-X-MAP:URI=\"{target}\"\n", "/x"),
	"a map's redirect":                mediaPlaylist("#EXT-X-MAP:URI=\"/moved\"\n", "/x"),
	"a map's key":                     mediaPlaylist("#EXT-X-KEY:METHOD=AES-128,URI=\"{target}\",IV=0x0\n#EXT-X-MAP:URI=\"/x\"\n#EXT-X-KEY:METHOD=NONE\n", "/x"),
	"the Location of an MPD":          mpdWith("<Location>{target}</Location>", "", "$Time$.m4s"),
	"the BaseURL of an MPD":           mpdWith("<BaseURL>{target}</BaseURL>", "", "$Time$.m4s"),
	"the BaseURL of a Period":         mpdWith("", "<BaseURL>{target}</BaseURL>", "$Time$.m4s"),
	"a BaseURL's redirect":            mpdWith("<BaseURL>/moved/</BaseURL>", "", "$Time$.m4s"),
	"a BaseURL beside one that fails": mpdWith("<BaseURL>{target}</BaseURL><BaseURL>/missing/</BaseURL>", "", "$Time$.m4s"),
	"the template of segments":        mpdWith("", "", "{target}?$Time$"),
	"the init section of an MPD":      mpdWith("", "", `$Time$.m4s" initialization="{target}`),
	"UTCTiming by http-head":          mpdWith(utcTiming("http-head", "{target}"), "", "$Time$.m4s"),
	"UTCTiming by http-xsdate":        mpdWith(utcTiming("http-xsdate", "{target}"), "", "$Time$.m4s"),
	"UTCTiming by http-iso":           mpdWith(utcTiming("http-iso", "{target}"), "", "$Time$.m4s"),
	"UTCTiming's redirect":            mpdWith(utcTiming("http-iso", "/moved"), "", "$Time$.m4s"),
}

func mediaPlaylist(tags, uri string) string {
	return "#EXTM3U\n#EXT-X-TARGETDURATION:2\n" + tags + "#EXTINF:2,\n" + uri + "\n"
}

func mpdWith(inside, period, media string) string {
	return `<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="dynamic" availabilityStartTime="2026-01-01T00:00:00Z" minimumUpdatePeriod="PT2S">` + inside +
		`<Period start="PT0S">` + period + `<AdaptationSet mimeType="video/mp4"><SegmentTemplate media="` + media + `" timescale="1"><SegmentTimeline><S t="0" d="2"/></SegmentTimeline></SegmentTemplate>` +
		`<Representation id="v" bandwidth="1"/></AdaptationSet></Period></MPD>`
}

func utcTiming(scheme, value string) string {
	return `<UTCTiming schemeIdUri="urn:mpeg:dash:utc:` + scheme + `:2014" value="` + value + `"/>`
}

// origin is a public server with the page of a hop, in which the target can change.
type origin struct {
	page, url string

	target string
	asked  func(*http.Request)
}

func newOrigin(t *testing.T, page string) *origin {
	t.Helper()
	o := &origin{page: page, asked: func(*http.Request) {}}
	o.url = serve(t, func(w http.ResponseWriter, r *http.Request) {
		o.asked(r)
		switch {
		case strings.Contains(r.URL.Path, "/moved"):
			w.Header()["Location"] = []string{o.target}
			w.WriteHeader(http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/missing/"):
			http.NotFound(w, r)
		case r.URL.Path == "/empty.m3u8", strings.HasPrefix(page, token) && r.URL.Path == "/":
			_, _ = io.WriteString(w, mediaPlaylist("", "$Time$.m4s"))
		case r.URL.Path == "/key":
			_, _ = w.Write(testKey)
		case r.URL.Path == "/":
			target := o.target
			if strings.HasPrefix(page, "<") {
				var escaped bytes.Buffer
				_ = xml.EscapeText(&escaped, []byte(target))
				target = escaped.String()
			}
			_, _ = io.WriteString(w, strings.ReplaceAll(page, "{target}", target))
		}
	})
	return o
}

// visit requests what a player of the stream would, until something fails, and returns that.
func (o *origin) visit(ctx context.Context, c *media.Client, target string) error {
	o.target = target
	switch {
	case o.page == "":
		_, _, err := c.Get(ctx, target, 100)
		return err
	case o.page == "/moved":
		_, _, err := c.Get(ctx, o.url+o.page, 100)
		return err
	case strings.HasPrefix(o.page, endless):
		if strings.HasSuffix(o.page, "/moved") {
			target = o.url + "/moved"
		}
		resp, err := c.Open(ctx, target)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	case strings.ContainsAny(target, "\t\r\n"):
		return errors.New("such a URL ends at a line of a playlist")
	}
	secret := ownSecret
	if strings.HasPrefix(o.page, token) {
		secret.TokenURL = target
		if strings.HasSuffix(o.page, "/moved") {
			secret.TokenURL = o.url + o.page
		}
	}
	requests := &ownRequests{Client: c}
	stream := own.Source(stream.Tools{Own: requests, Manifests: func(from stream.Getter) worker.PlaylistReader {
		return manifest.NewReader(from.Get, hls.Format{}, dash.Format{TimeServers: dash.NewTimeServers(from.Get, from.Head)})
	}}).Media(monitor.StreamURL("hls+" + o.url + "/"))
	defer stream.Close()
	if err := errors.Join(play(request.WithCookies(request.WithSecret(ctx, secret), ownCookies{}), stream, o.url+"/", 1), requests.failed); err != nil {
		return err
	}
	return errors.New("the stream is played without that URL")
}

// ownSecret and ownCookies are what the requests of a stream carry.
var ownSecret = monitor.StreamSecret{Query: "?key=s3cr3t1", CopyQuery: true, Headers: map[string]string{"authorization": "Bearer s3cr3t2", "referer": "https://s3cr3t3.test/"}}

type ownCookies struct{}

func (ownCookies) Jar() cookie.Jar {
	return cookie.Jar{Text: cookie.Text("# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\ts3cr3t4\n")}
}

func (ownCookies) Return(context.Context, cookie.Use) bool { return false }

// ownRequests is a Client that remembers what failed: a stream goes on without the time of a server.
type ownRequests struct {
	*media.Client

	failed error
}

func (r *ownRequests) Get(ctx context.Context, url string, limit int64) ([]byte, reference.Origin, error) {
	body, from, err := r.Client.Get(ctx, url, limit)
	r.failed = errors.Join(r.failed, err)
	return body, from, err
}

func (r *ownRequests) Head(ctx context.Context, url string) (reference.Origin, error) {
	from, err := r.Client.Head(ctx, url)
	r.failed = errors.Join(r.failed, err)
	return from, err
}

// play requests the renditions of a manifest and their newest segments, until something fails.
func play(ctx context.Context, stream worker.Media, url string, depth int) error {
	p := stream.ReadPlaylist(ctx, url)
	switch {
	case p.Failure != nil:
		return p.Failure
	case p.Defect != "":
		return errors.New(p.Defect)
	case len(p.Segments) > 0:
		body, err := stream.FetchSegment(ctx, p.Segments[len(p.Segments)-1])
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, body)
		return errors.Join(err, body.Close())
	case depth == 0:
		return fmt.Errorf("%s has no segment", url)
	}
	for _, r := range p.Renditions {
		if err := play(ctx, stream, r.URL, depth-1); err != nil {
			return err
		}
	}
	return nil
}

// Every hop is tried with every spelling of an address, with names that lead inside, and with names that lead inside
// only once they are connected to. What is refused gets no packet.
func TestNoHopLeadsToAnInternalAddress(t *testing.T) {
	for hop, page := range hops {
		open := func(t *testing.T, resolver *net.Resolver, guard func(outboundtest.Control) outboundtest.Control) outboundtest.Request {
			o := newOrigin(t, page)
			strict := guard(outbound.New(nil).Control)
			c := newClient(t, func(c *media.Config) {
				c.Resolver = resolver
				c.Control = func(network, address string, conn syscall.RawConn) error {
					if "http://"+address == o.url {
						return nil
					}
					return strict(network, address, conn)
				}
			})
			return func(t *testing.T, target string) error { return o.visit(withTimeout(t), c, target) }
		}
		t.Run(hop, func(t *testing.T) {
			outboundtest.Run(t, outboundtest.Client{Scheme: "http", Open: open, Refusal: "is not asked: its address is not allowed"})
		})
	}
}

// Whatever a stream names, only http and https are spoken, in the networks that are allowed for it.
func TestEveryHopSpeaksHTTPWithAllowedNetworks(t *testing.T) {
	for hop, page := range hops {
		t.Run(hop, func(t *testing.T) {
			inside := outboundtest.NewLoopbackServer(t)
			o := newOrigin(t, page)
			c := newClient(t, func(c *media.Config) {
				c.Control, c.AllowedNetworks, c.AllowedBy = nil, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, "MEDIA_ALLOWED_NETWORKS"
			})
			for _, target := range []string{
				"file:///etc/passwd", "ftp://127.0.0.1:" + inside.Port + "/x", "gopher://127.0.0.1:" + inside.Port + "/x", "unix:///run/docker.sock",
				"data:application/vnd.apple.mpegurl,x", "concat:http://127.0.0.1:" + inside.Port + "/x", "skd://127.0.0.1:" + inside.Port, "http:///x", "http://:" + inside.Port,
			} {
				if err := o.visit(withTimeout(t), c, target); inside.Connections() > 0 || err == nil {
					t.Errorf("%s: %d connections, %v", target, inside.Connections(), err)
				}
			}
			for _, target := range []string{"http://127.0.0.2:", "http://[::1]:", "//[::1]:"} {
				target += inside.Port + "/x"
				u, err := url.Parse(target)
				if u.Scheme == "" && (page == "" || page == endless || page == token) {
					continue // what is registered has a scheme
				}
				err = errors.Join(err, o.visit(withTimeout(t), c, target))
				expect.Failure(t, err, "is not asked: its address is not allowed")
				expect.Failure(t, err, "or in a network of MEDIA_ALLOWED_NETWORKS")
			}
			expect.Equal(t, "connections to what is not allowed", inside.Connections(), 0)
			err := o.visit(withTimeout(t), c, "http://127.0.0.1:"+inside.Port+"/x")
			if inside.Connections() == 0 || strings.Contains(fmt.Sprint(err), "is not asked") {
				t.Errorf("the allowed network is not reached: %v", err)
			}
		})
	}
}

// The server of a stream gets its credentials with every request; another one that the stream names gets none, whatever it is
// asked for.
func TestTheCredentialsOfAStreamGoToItsServerAlone(t *testing.T) {
	for hop, page := range hops {
		if page == "" || strings.HasPrefix(page, endless) {
			continue // what is registered is the stream's server
		}
		t.Run(hop, func(t *testing.T) {
			strangers := 0
			elsewhere := serve(t, func(_ http.ResponseWriter, r *http.Request) {
				strangers++
				if all := fmt.Sprint(r.RequestURI, r.Header); strings.Contains(all, "s3cr3t") || r.Header.Get("Referer") != "" {
					t.Errorf("another server gets %s", all)
				}
			})
			o := newOrigin(t, page)
			o.asked = func(r *http.Request) {
				if all := fmt.Sprint(r.RequestURI, r.Header); page != "/moved" && strings.Count(all, "s3cr3t") != 4 && !strings.HasPrefix(r.URL.Path, token) {
					t.Errorf("the stream's server gets %s", all)
				}
			}
			_ = o.visit(withTimeout(t), newClient(t, nil), strings.Replace(elsewhere, "127.0.0.1", "localhost", 1)+"/x")
			if strangers == 0 {
				t.Error("the other server is not asked")
			}
		})
	}
}
