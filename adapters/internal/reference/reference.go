// Package reference resolves the URLs of a manifest as players do: more leniently than net/url. They
// are relative to an Origin.
package reference

import (
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Resolve returns reference as an absolute URL without a fragment. It returns false unless that
// is an http or https URL with a host, of at most maxBytes bytes. It repairs two kinds of names
// that net/url refuses. One has a colon before its first slash, as a file named by the time of
// day. The other has a percent sign that escapes nothing.
func Resolve(base *url.URL, reference string, maxBytes int) (*url.URL, bool) {
	u, err := base.Parse(reference)
	if err != nil {
		reference = escapeStrayPercents(reference)
		u, err = base.Parse(reference)
	}
	if err != nil && !strings.Contains(reference, "//") {
		u, err = base.Parse("./" + reference)
	}
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, false
	}
	u.Fragment, u.RawFragment = "", ""
	absolute := u.String()
	// The parser may accept a host in a relative reference and refuse it in a URL.
	if _, err := url.Parse(absolute); err != nil || len(absolute) > maxBytes {
		return nil, false
	}
	return u, true
}

// escapeStrayPercents escapes each percent sign that two hexadecimal digits do not follow.
func escapeStrayPercents(text string) string {
	return percent.ReplaceAllStringFunc(text, func(found string) string {
		if len(found) == len("%41") {
			return found
		}
		return "%25" + found[1:]
	})
}

var percent = regexp.MustCompile(`%[0-9A-Fa-f]{0,2}`)

// Origin names the URL from which a document came, and the time of its server.
type Origin struct {
	URL  string    // after redirects; the base of its references
	Time time.Time // the server's when it made the document; zero: not stated
}
