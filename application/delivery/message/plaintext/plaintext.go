// Package plaintext cleans and cuts texts that strangers have written.
package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const ellipsis = "…"

// maxCharacter limits the bytes of what counts as one character: marks can be stacked
// without end.
const maxCharacter = 64

// UTF16Length returns the length of a text as most providers count it: in units of UTF-16.
func UTF16Length(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// ByteLength returns the length of a text in bytes.
func ByteLength(s string) int { return len(s) }

// Clean is monitor.CleanLine.
func Clean(s string) string { return monitor.CleanLine(s) }

// Cut shortens a text to a size, between two characters as people see them, and marks it with an
// ellipsis. size returns what a character takes once it is escaped; it must be additive.
func Cut(s string, most int, size func(string) int) string {
	if size(s) <= most {
		return s
	}
	most -= size(ellipsis)
	if most < 0 {
		return ""
	}
	end, used := 0, 0
	for end < len(s) {
		c := firstCharacter(s[end:])
		if used += size(c); used > most {
			break
		}
		end += len(c)
	}
	return strings.TrimRight(s[:end], " \n") + ellipsis
}

// firstCharacter returns the first character of a text as people see it. It includes combining
// marks, all parts of a joined emoji, and both letters of a flag.
func firstCharacter(s string) string {
	var before rune
	for i, r := range s {
		switch {
		case i == 0:
		case i > maxCharacter:
			return s[:i]
		case before == '\u200d', unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc), r == '\u200d', r >= 0x1f3fb && r <= 0x1f3ff:
		case isFlagLetter(r) && isFlagLetter(before):
			before = 0 // the flag is complete
			continue
		default:
			return s[:i]
		}
		before = r
	}
	return s
}

func isFlagLetter(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// AfterEscaping returns the size of a text after escaping.
func AfterEscaping(escape func(string) string, size func(string) int) func(string) int {
	return func(s string) int { return size(escape(s)) }
}
