package pythontool

import (
	"iter"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits on a tool's output.
const (
	MaxLine = 300      // bytes of OneLine's result
	MaxText = 64 << 10 // bytes that OneLine and Lines read; a failed run prints about 2 KB
)

// webURL matches URLs, also those of proxies, which may hold a password.
var webURL = regexp.MustCompile(`(?i)\b(?:https?|socks[45][ah]?)://[^\s"'<>\\]+`)

// OneLine shortens a text to one line of at most MaxLine bytes. Of a URL only scheme and host remain,
// because media URLs are signed in path and query.
func OneLine(text string) string {
	text = text[:min(len(text), MaxText)]
	text = webURL.ReplaceAllStringFunc(text, hostOnly)
	for _, source := range monitor.Sources {
		if source.SecretPaths != nil {
			text = source.SecretPaths.ReplaceAllString(text, "/…")
		}
	}
	if text = monitor.CleanLine(text); len(text) <= MaxLine {
		return text
	}
	return strings.ToValidUTF8(text[:MaxLine-len("…")], "") + "…"
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

// Lines yields the lines of an output, without empty ones. It reads only the last MaxText
// bytes.
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

// LastLine returns the last line of an output: of a traceback, the one that names the error.
func LastLine(output []byte) (last string) {
	for last = range Lines(output) {
	}
	return last
}

// Normalize returns a text in lower case with straight apostrophes. YouTube writes both
// kinds.
func Normalize(text string) string {
	return strings.ToLower(strings.NewReplacer("’", "'", "‘", "'", "ʼ", "'").Replace(text))
}

// ContainsAny reports whether a text contains one of these phrases.
func ContainsAny(text string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(text, phrase) })
}
