package pythontool_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

// youTube is the site of the tests.
var youTube = pythontool.Site{Title: "YouTube"}

func TestOneLineHidesSignedURLs(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"short text stays":                           {"Video unavailable", "Video unavailable"},
		"line ends and tabs become blanks":           {" a\n\tb\r\n\x00c\u2028d ", "a b c d"},
		"a bare host stays":                          {"see https://www.youtube.com for more", "see https://www.youtube.com for more"},
		"of a URL only the host stays":               {"GET https://rr1---sn.googlevideo.com/videoplayback/expire/1/sig/SECRET/x.ts?a=SECRET, failed", "GET https://rr1---sn.googlevideo.com/… failed"},
		"a URL without a path":                       {"https://a.example?sig=SECRET", "https://a.example/…"},
		"and that of a SOCKS proxy":                  {"proxy socks5h://me:SECRET@proxy.example:1080", "proxy socks5h://proxy.example:1080/…"},
		"a user name is removed":                     {"proxy http://me:SECRET@proxy.example:3128", "proxy http://proxy.example:3128/…"},
		"a URL in upper case":                        {"HTTPS://RR1.GOOGLEVIDEO.COM/SECRET", "https://RR1.GOOGLEVIDEO.COM/…"},
		"quotes end a URL":                           {`"https://a.example/SECRET" and 'https://b.example/SECRET'`, `"https://a.example/…" and 'https://b.example/…'`},
		"a signed path without its host is removed":  {"exceeded with url: /api/manifest/hls_variant/sig/SECRET (Caused by x)", "exceeded with url: /… (Caused by x)"},
		"a signed query without its host is removed": {"url: /videoplayback?sig=SECRET", "url: /…"},
		"an invalid URL":                             {"https://%zz/SECRET", "https://…"},
		"unusual characters in a URL":                {"https://a.example/x|SECRET{SECRET}^SECRET`SECRET", "https://a.example/…"},
		"invalid UTF-8 is left out":                  {"a\xffb", "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "got", pythontool.OneLine(tc.text), tc.want)
		})
	}

	t.Run("a long text is cut between characters", func(t *testing.T) {
		got := pythontool.OneLine(strings.Repeat("配信", 100_000))
		if len(got) > pythontool.MaxLine || len(got) < pythontool.MaxLine-4 || !utf8.ValidString(got) || !strings.HasSuffix(got, "信…") && !strings.HasSuffix(got, "配…") {
			t.Errorf("got %d bytes: %q", len(got), got)
		}
	})
	t.Run("a line of MaxLine bytes stays", func(t *testing.T) {
		text := strings.Repeat("a", pythontool.MaxLine)
		if got := pythontool.OneLine(text); got != text {
			t.Errorf("got %d bytes", len(got))
		}
	})
}

func TestLinesSkipsEmptyLines(t *testing.T) {
	got := slices.Collect(pythontool.Lines([]byte("\n one \r\n\n\ttwo\nthree")))
	expect.Equal(t, "got", got, []string{"one", "two", "three"})
	t.Run("only the last MaxText bytes are read", func(t *testing.T) {
		text := strings.Repeat("WARNING\n", 1<<20) + "ERROR"
		got := slices.Collect(pythontool.Lines([]byte(text)))
		if len(got) > pythontool.MaxText/len("WARNING\n")+1 || got[len(got)-1] != "ERROR" {
			t.Errorf("got %d lines", len(got))
		}
	})
	for line := range pythontool.Lines([]byte("one\ntwo")) {
		expect.Equal(t, "went on to", line, "one")
		break
	}
}

func FuzzOneLine(f *testing.F) {
	f.Add("GET https://rr1.googlevideo.com/videoplayback?sig=x\n")
	f.Add("\xff\x00 配信")
	f.Fuzz(func(t *testing.T, text string) {
		got := pythontool.OneLine(text)
		if len(got) > pythontool.MaxLine || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\t\x00") {
			t.Errorf("got %q", got)
		}
		secret := pythontool.OneLine(text + " https://rr1.googlevideo.com/SECRET?SECRET")
		if !strings.Contains(text, "SECRET") && strings.Contains(secret, "SECRET") {
			t.Errorf("got %q", secret)
		}
	})
}

func TestExpiryIsTheEarliestOfTheSignedURLs(t *testing.T) {
	const master = "https://manifest.googlevideo.com/api/manifest/hls_variant/"
	for name, tc := range map[string]struct {
		urls []string
		want int64 // Unix seconds; 0: unknown
	}{
		"no URL":                   {nil, 0},
		"an empty URL":             {[]string{""}, 0},
		"in the path":              {[]string{master + "expire/1795000000/ei/x/file/index.m3u8"}, 1795000000},
		"at the end of the path":   {[]string{master + "expire/1795000000"}, 1795000000},
		"before a query":           {[]string{master + "expire/1795000000?a=b"}, 1795000000},
		"in the query":             {[]string{"https://a.example/videoplayback?id=1&expire=1795000000&sig=x"}, 1795000000},
		"at the end of the query":  {[]string{"https://a.example/videoplayback?expire=1795000000"}, 1795000000},
		"the earliest":             {[]string{master + "expire/1795000002/a", "https://a.example", master + "expire/1795000001/a", master + "expire/1795000003/a"}, 1795000001},
		"one that names none":      {[]string{"https://a.example/index.m3u8", master + "expire/1795000001/a"}, 1795000001},
		"the largest":              {[]string{master + "expire/9999999999/a"}, 9999999999},
		"zero":                     {[]string{master + "expire/0/a"}, 0},
		"zeros first":              {[]string{master + "expire/01795000000/a"}, 0},
		"negative":                 {[]string{master + "expire/-1795000000/a", "https://a.example/?expire=-1"}, 0},
		"the year 9999":            {[]string{master + "expire/253402300799/a"}, 0},
		"thirty zeros":             {[]string{master + "expire/1" + strings.Repeat("0", 30) + "/a"}, 0},
		"a fraction":               {[]string{master + "expire/1795000000.5/a"}, 0},
		"an exponent":              {[]string{master + "expire/1e9/a"}, 0},
		"hexadecimal":              {[]string{master + "expire/0x6AFD4D00/a"}, 0},
		"other digits":             {[]string{master + "expire/１７９５００００００/a"}, 0},
		"no number":                {[]string{master + "expire/never/a"}, 0},
		"nothing":                  {[]string{master + "expire//a", master + "expire"}, 0},
		"a longer name":            {[]string{master + "noexpire/1795000000/a", "https://a.example/?xexpire=1795000000"}, 0},
		"a list of signed names":   {[]string{master + "sparams/expire%2Cei/1795000000"}, 0},
		"a hostile one and a good": {[]string{master + "expire/0/a", master + "expire/1795000000/a"}, 1795000000},
	} {
		t.Run(name, func(t *testing.T) {
			want := time.Time{}
			if tc.want != 0 {
				want = time.Unix(tc.want, 0).UTC()
			}
			if got := pythontool.Expiry(tc.urls...); !got.Equal(want) || got.Location() != time.UTC {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// TestEveryNetworkFailureHasACause has messages that yt-dlp 2026.10 and streamlink 8
// printed when the network failed in that way.
func TestEveryNetworkFailureHasACause(t *testing.T) {
	const unreachable = "YouTube cannot be reached from here: "
	pool := "Unable to open URL: https://www.youtube.com/watch?v=abcdefghijk (HTTPSConnectionPool(host='www.youtube.com', port=443): Max retries exceeded with url: /watch?v=abcdefghijk (Caused by "
	for message, want := range map[string]pythontool.Diagnosis{
		"Unable to download API page: HTTPSConnection(host='www.youtube.com', port=443): Failed to resolve 'www.youtube.com' ([Errno -2] Name or service not known) (caused by TransportError(\"HTTPSConnection(host='www.youtube.com', port=443): Failed to resolve 'www.youtube.com' ([Errno -2] Name or service not known)\"))": {
			watch.NameUnresolved, unreachable + "DNS does not resolve www.youtube.com",
		},
		pool + "NameResolutionError(\"HTTPSConnection(host='www.youtube.com', port=443): Failed to resolve 'www.youtube.com' ([Errno -2] Name or service not known)\")))": {
			watch.NameUnresolved, unreachable + "DNS does not resolve www.youtube.com",
		},
		"HTTPSConnection(host='www.youtube.com', port=443): Failed to resolve 'www.youtube.com' ([Errno -3] Temporary failure in name resolution)": {
			watch.NameUnresolved, unreachable + "DNS does not answer for www.youtube.com",
		},
		"<urlopen error [Errno -2] Name or service not known>": {watch.NameUnresolved, unreachable + "DNS does not resolve YouTube"},

		"Unable to download webpage: HTTPSConnection(host='127.0.0.1', port=1): Failed to establish a new connection: [Errno 111] Connection refused (caused by TransportError(\"HTTPSConnection(host='127.0.0.1', port=1): Failed to establish a new connection: [Errno 111] Connection refused\"))": {
			watch.Unreachable, unreachable + "127.0.0.1:1 refuses the connection",
		},
		pool + "NewConnectionError(\"HTTPSConnection(host='www.youtube.com', port=443): Failed to establish a new connection: [Errno 111] Connection refused\")))": {
			watch.Unreachable, unreachable + "www.youtube.com refuses the connection",
		},
		"HTTPSConnection(host='www.youtube.com', port=443): Failed to establish a new connection: [Errno 101] Network is unreachable": {
			watch.Unreachable, unreachable + "there is no route to www.youtube.com",
		},

		"Unable to download webpage: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006) (caused by CertificateVerifyError('[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)'))": {
			watch.Unreachable, unreachable + "its TLS certificate is not trusted (self-signed certificate); see SSL_CERT_FILE",
		},
		pool + "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)'))))": {
			watch.Unreachable, unreachable + "its TLS certificate is not trusted (self-signed certificate); see SSL_CERT_FILE",
		},
		"[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred in violation of protocol (_ssl.c:1006)": {watch.Unreachable, unreachable + "the TLS handshake fails"},

		"Unable to download API page: ('Unable to connect to proxy', OSError('Tunnel connection failed: 407 Proxy Authentication Required')) (caused by ProxyError(\"('Unable to connect to proxy', OSError('Tunnel connection failed: 407 Proxy Authentication Required'))\"))": {
			watch.ProxyFailed, unreachable + "the proxy refuses to connect to it (HTTP 407); check HTTPS_PROXY",
		},
		pool + "ProxyError('Unable to connect to proxy', NewConnectionError(\"HTTPSConnection(host='127.0.0.1', port=3128): Failed to establish a new connection: [Errno 111] Connection refused\"))))": {
			watch.ProxyFailed, unreachable + "the proxy 127.0.0.1:3128 refuses the connection; check HTTPS_PROXY",
		},
		"('Unable to connect to proxy', NameResolutionError(\"HTTPSConnection(host='no.such.proxy.invalid', port=3128): Failed to resolve 'no.such.proxy.invalid' ([Errno -2] Name or service not known)\"))": {
			watch.ProxyFailed, unreachable + "DNS does not resolve the proxy no.such.proxy.invalid:3128; check HTTPS_PROXY",
		},
		"Tunnel connection failed: HTTP Error 403: Forbidden": {watch.ProxyFailed, unreachable + "the proxy refuses to connect to it (HTTP 403); check HTTPS_PROXY"},

		"HTTPConnectionPool(host='127.0.0.1', port=8900): Read timed out. (read timeout=2.0)": {watch.Unreachable, unreachable + "127.0.0.1:8900 does not answer in time"},
		"The read operation timed out":                                  {watch.Unreachable, unreachable + "YouTube does not answer in time"},
		"[Errno 104] Connection reset by peer":                          {watch.Unreachable, unreachable + "the connection broke off"},
		"('Connection aborted.', RemoteDisconnected('Remote end closed": {watch.Unreachable, unreachable + "the connection broke off"},
		"IncompleteRead(10 bytes read, 90 more expected)":               {watch.Unreachable, unreachable + "the connection broke off"},

		"HTTP Error 429: Too Many Requests (caused by <HTTPError 429: Too Many Requests>)":                                                       {watch.RateLimited, "YouTube limits the requests of this address (HTTP 429)"},
		"Unable to open URL: https://www.youtube.com/watch?v=x (429 Client Error: Too Many Requests for url: https://www.youtube.com/watch?v=x)": {watch.RateLimited, "YouTube limits the requests of this address (HTTP 429)"},
		"HTTP Error 403: Forbidden":                                                {watch.Blocked, "YouTube refuses the requests of this address (HTTP 403)"},
		"403 Client Error: Forbidden for url: x":                                   {watch.Blocked, "YouTube refuses the requests of this address (HTTP 403)"},
		"HTTP Error 404: Not Found":                                                {watch.Unreachable, "YouTube answers with an error (HTTP 404)"},
		"HTTP Error 500: Internal Server Error":                                    {watch.Unreachable, "YouTube answers with an error (HTTP 500)"},
		"503 Server Error: Service Unavailable for url: http://127.0.0.1:8900/503": {watch.Unreachable, "YouTube answers with an error (HTTP 503)"},

		"Video unavailable":                          {},
		"This live event will begin in 500 minutes.": {},
		"Failed to extract any player response":      {},
		"":                                           {},
	} {
		t.Run(message, func(t *testing.T) {
			got := youTube.Diagnose(message)
			if got != want {
				t.Fatalf("got %+v\nwant %+v", got, want)
			}
			if detail := got.Detail(message); got.State != "" && (!strings.HasPrefix(detail, got.Cause+": ") || len(detail) > pythontool.MaxLine) {
				t.Errorf("the detail is %q", detail)
			}
		})
	}
}

func TestACauseIsAtMostMaxCauseLong(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, message := range []string{
		"('Unable to connect to proxy', NameResolutionError(\"HTTPSConnection(host='" + long + "', port=31280): Failed to resolve",
		"('Unable to connect to proxy', NameResolutionError(\"HTTPSConnection(host='" + long[:60] + "', port=31280): Failed to resolve",
		"[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: " + long,
		"HTTPSConnectionPool(host='" + long[:60] + "', port=65535): Read timed out.",
	} {
		if got := youTube.Diagnose(message).Cause; len(got) > pythontool.MaxCause || got == "" {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	}
}
