package plaintext_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/application/delivery/message/plaintext"
)

func TestTextIsCutBetweenCharacters(t *testing.T) {
	family := "👨\u200d👩\u200d👧"
	for _, c := range []struct {
		name, text string
		most       int
		size       func(string) int
		want       string
	}{
		{"a text that fits", "abc", 3, plaintext.UTF16Length, "abc"},
		{"a text that is too long", "abcd", 3, plaintext.UTF16Length, "ab…"},
		{"a blank before the cut", "ab cd", 4, plaintext.UTF16Length, "ab…"},
		{"bytes", "映像が", 8, plaintext.ByteLength, "映…"},
		{"units of UTF-16", "a😀😀b", 4, plaintext.UTF16Length, "a😀…"},
		{"a joined emoji", "a" + family + "b", 6, plaintext.UTF16Length, "a…"},
		{"a joined emoji that fits", "a" + family + "bc", 10, plaintext.UTF16Length, "a" + family + "…"},
		{"a flag", "🇯🇵🇫🇷x", 7, plaintext.UTF16Length, "🇯🇵…"},
		{"a combining mark", "e\u0301e\u0301e\u0301", 4, plaintext.UTF16Length, "e\u0301…"},
		{"what is longer once escaped", "<<<<", 9, plaintext.AfterEscaping(func(s string) string { return strings.ReplaceAll(s, "<", "&lt;") }, plaintext.UTF16Length), "<<…"},
		{"no room at all", "abcd", 0, plaintext.UTF16Length, ""},
		{"marks without end", "a" + strings.Repeat("\u0301", 500), 100, plaintext.UTF16Length, "a" + strings.Repeat("\u0301", 98) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := plaintext.Cut(c.text, c.most, c.size)
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if c.size(got) > c.most || !utf8.ValidString(got) {
				t.Errorf("%q takes %d of %d", got, c.size(got), c.most)
			}
		})
	}
}

func TestTextIsOnOneLineAndInOneDirection(t *testing.T) {
	if got := plaintext.Clean(" a\r\nb\x00\tc\u202etxt.exe\u2028d\u2067\ufffd\u200e\u200f\u061c "); got != "a b ctxt.exe d" {
		t.Errorf("got %q", got)
	}
}
