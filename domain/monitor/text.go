package monitor

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CleanLine returns a text on one line, without control characters and without those that
// change the direction of what follows.
func CleanLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// StorableText returns the beginning of what a tool or a server wrote, as text that PostgreSQL
// can store: at most most bytes of UTF-8, without NUL.
func StorableText(s string, most int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s[:min(len(s), most)], "\ufffd"), "\x00", "\ufffd")
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}

// CheckText returns an InvalidConfig for a text that has not the number of characters, says
// nothing though it must, or has control characters other than line breaks and tabs.
func CheckText(field, text string, shortest, longest int) error {
	switch n := utf8.RuneCountInString(text); {
	case n < shortest || n > longest:
		return FieldErrorf(field, "has %d characters; accepted is %d to %d", n, shortest, longest)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) }):
		return FieldErrorf(field, "has control characters or invalid UTF-8")
	case shortest > 0 && strings.TrimSpace(text) == "":
		return FieldErrorf(field, "is blank")
	}
	return nil
}

// CheckLine is CheckText for a text on one line.
func CheckLine(field, text string, shortest, longest int) error {
	if strings.ContainsAny(text, "\n\r\t") {
		return FieldErrorf(field, "has line breaks or tabs; accepted is one line")
	}
	return CheckText(field, text, shortest, longest)
}
