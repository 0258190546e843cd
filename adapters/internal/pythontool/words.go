package pythontool

import (
	"iter"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Limits on what is read of a tool's words.
const (
	MaxLine   = 300      // bytes of a Line
	MaxSpoken = 64 << 10 // bytes that Line and Lines look at; runs that fail say 2 KB
)

// address finds URLs, and signed the paths of media, which are secret even when
// they are printed without their host.
var (
	address = regexp.MustCompile(`(?i)\bhttps?://[^\s"'<>\\]+`)
	signed  = regexp.MustCompile(`(?i)/(?:videoplayback|api/manifest)\b[^\s"'<>]*`)
)

// Line makes one line of a text for people: white space and control characters
// become single blanks, at most MaxLine bytes remain, and of a URL only scheme
// and host, because media URLs are signed in path and query alike.
func Line(text string) string {
	text = text[:min(len(text), MaxSpoken)]
	text = address.ReplaceAllStringFunc(text, hostOnly)
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
	output = output[max(0, len(output)-MaxSpoken):]
	return func(yield func(string) bool) {
		for line := range strings.Lines(string(output)) {
			if line = strings.TrimSpace(line); line != "" && !yield(line) {
				return
			}
		}
	}
}

// Plain is a text made comparable: lower case, with straight apostrophes,
// since YouTube writes both kinds.
func Plain(text string) string {
	return strings.ToLower(strings.NewReplacer("’", "'", "‘", "'", "ʼ", "'").Replace(text))
}

// refusals and outages are the words for which a question remained unanswered.
var (
	refusals = []string{
		"http error 429", "429 client error", "too many requests",
		"http error 403", "403 client error",
	}
	outages = []string{
		"http error 4", "http error 5", " client error: ", " server error: ",
		"timed out",
		"name or service not known", "name resolution", "failed to resolve", "getaddrinfo", "nodename nor servname",
		"connection refused", "connection reset", "connection aborted", "connection broken", "broken pipe", "remote end closed",
		"network is unreachable", "no route to host", "proxyerror", "unable to connect to proxy", "tunnel connection failed",
		"certificate verify failed", "certificate_verify_failed", "ssl:", "sslerror", "incompleteread", "incomplete read",
		"max retries exceeded", "transporterror", "unexpected_eof",
	}
)

// Fault reads a complaint about the network: Blocked when YouTube refused
// (HTTP 403 and 429), Unreachable for every other failure of HTTP, TLS or DNS,
// and empty when the text is about something else.
func Fault(text string) watch.StreamState {
	text = Plain(text)
	if containsAny(text, refusals) && !strings.Contains(text, "tunnel connection failed") {
		return watch.Blocked
	}
	if containsAny(text, outages) {
		return watch.Unreachable
	}
	return ""
}

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
