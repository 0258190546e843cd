package pythontool_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

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
