package pythontool

import (
	"iter"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits on what is read of a tool's output.
const (
	MaxLine = 300      // bytes of what OneLine gives
	MaxText = 64 << 10 // bytes that OneLine and Lines look at; runs that fail print 2 KB
)

// webURL finds URLs. signed finds the paths of media, which are secret even when
// they are printed without their host.
var (
	webURL = regexp.MustCompile(`(?i)\bhttps?://[^\s"'<>\\]+`)
	signed = regexp.MustCompile(`(?i)/(?:videoplayback|api/manifest)\b[^\s"'<>]*`)
)

// OneLine makes one line of a text for people, of at most MaxLine bytes. White space
// and control characters become single blanks. Of a URL only scheme and host remain,
// because media URLs are signed in path and query.
func OneLine(text string) string {
	text = text[:min(len(text), MaxText)]
	text = webURL.ReplaceAllStringFunc(text, hostOnly)
	text = signed.ReplaceAllString(text, "/…")
	text = strings.ToValidUTF8(text, "�")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || !unicode.IsPrint(r)
	}), " ")
	if len(text) <= MaxLine {
		return text
	}
	cut := MaxLine - len("…")
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

func hostOnly(raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	u, err := url.Parse(scheme + "://" + strings.TrimRight(rest, ".,;:)]"))
	if err != nil || u.Host == "" {
		return scheme + "://…"
	}
	if strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == "" && u.User == nil {
		return raw
	}
	return u.Scheme + "://" + u.Host + "/…"
}

// Lines yields what a tool wrote, line by line, empty ones left out. Of a tool
// that would not stop, only the end is read.
func Lines(output []byte) iter.Seq[string] {
	output = output[max(0, len(output)-MaxText):]
	return func(yield func(string) bool) {
		for line := range strings.Lines(string(output)) {
			if line = strings.TrimSpace(line); line != "" && !yield(line) {
				return
			}
		}
	}
}

// Normalize makes texts comparable: lower case, with straight apostrophes, since
// YouTube writes both kinds.
func Normalize(text string) string {
	return strings.ToLower(strings.NewReplacer("’", "'", "‘", "'", "ʼ", "'").Replace(text))
}
