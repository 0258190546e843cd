package pythontool_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
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
			if got := pythontool.OneLine(tc.text); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
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
	if !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("got %q", got)
	}
	t.Run("only the last MaxText bytes are read", func(t *testing.T) {
		text := strings.Repeat("WARNING\n", 1<<20) + "ERROR"
		got := slices.Collect(pythontool.Lines([]byte(text)))
		if len(got) > pythontool.MaxText/len("WARNING\n")+1 || got[len(got)-1] != "ERROR" {
			t.Errorf("got %d lines", len(got))
		}
	})
	for line := range pythontool.Lines([]byte("one\ntwo")) {
		if line != "one" {
			t.Errorf("went on to %q", line)
		}
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
