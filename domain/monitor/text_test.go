package monitor_test

import (
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestATextIsCutToWhatCanBeStored(t *testing.T) {
	for text, want := range map[string]string{"short": "short", "longer than 8": "longer t", "1234567配": "1234567", "a\x00\xffb": "a��b", "1234567\x00": "1234567"} {
		if got := monitor.StorableText(text, 8); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestATextForPeopleIsShortEnoughAndReadable(t *testing.T) {
	for _, c := range []struct {
		name, text        string
		shortest, longest int
		asText, asLine    bool
	}{
		{"one character", "é", 1, 1, true, true},
		{"none, where none is accepted", "", 0, 1, true, true},
		{"none", "", 1, 2, false, false},
		{"too many", "éé", 1, 1, false, false},
		{"as many as are accepted", strings.Repeat("配", 2000), 1, 2000, true, true},
		{"blanks", " \t\n", 1, 9, false, false},
		{"blanks, where none is accepted", "  ", 0, 9, true, true},
		{"line breaks and tabs", "a\r\n\tb", 1, 9, true, false},
		{"NUL", "a\x00", 1, 9, false, false},
		{"an escape", "\x1b[31m", 1, 9, false, false},
		{"a control character of Latin 1", "a\u0085b", 1, 9, false, false},
		{"no UTF-8", "a\xff", 1, 9, false, false},
	} {
		if err := monitor.CheckText("note", c.text, c.shortest, c.longest); (err == nil) != c.asText {
			t.Errorf("%s as a text: %v", c.name, err)
		}
		if err := monitor.CheckLine("note", c.text, c.shortest, c.longest); (err == nil) != c.asLine {
			t.Errorf("%s as a line: %v", c.name, err)
		}
	}
}
