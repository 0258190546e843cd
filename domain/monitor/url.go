package monitor

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// MaxURLLength is the longest callback URL accepted, in bytes (section 9.1,
// decision A2). A stream URL is canonical and far shorter.
const MaxURLLength = 512

// StreamURL is a YouTube watch URL in its canonical form
// https://www.youtube.com/watch?v=ID, so that two spellings of one stream are
// equal (decision A1).
type StreamURL string

var (
	videoID     = regexp.MustCompile(`^[A-Za-z0-9_-]{11}$`)
	watchHosts  = map[string]bool{"www.youtube.com": true, "youtube.com": true, "m.youtube.com": true}
	canonicalAt = "https://www.youtube.com/watch?v="
)

// ParseStreamURL accepts a watch URL on www.youtube.com, youtube.com or
// m.youtube.com, http or https, and drops every parameter but v. Everything
// else (youtu.be, /live/, channels, playlists) is InvalidURL (section 3.1,
// decision A1).
func ParseStreamURL(s string) (StreamURL, error) {
	refuse := func(why string) (StreamURL, error) {
		return "", Errorf(InvalidURL, "stream_url: %s; accepted is %sID, where ID is 11 of A-Z a-z 0-9 _ -", why, canonicalAt)
	}
	if s == "" {
		return refuse("is missing")
	}
	if len(s) > MaxURLLength {
		return refuse("is longer than 512 characters")
	}
	u, err := url.Parse(s)
	if err != nil {
		return refuse("is not a URL")
	}
	host := strings.ToLower(u.Host)
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return refuse("must start with https://")
	case u.User != nil:
		return refuse("must not carry a user name")
	case !watchHosts[host]:
		return refuse("is not on www.youtube.com")
	case u.Path != "/watch":
		return refuse("is not a watch page; channel, playlist, /live/ and short URLs are not supported")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return refuse("has a malformed query")
	}
	ids := query["v"]
	if len(ids) != 1 || !videoID.MatchString(ids[0]) {
		return refuse("has no single valid video id in v=")
	}
	return StreamURL(canonicalAt + ids[0]), nil
}

// VideoID is the 11-character YouTube id.
func (u StreamURL) VideoID() string { return strings.TrimPrefix(string(u), canonicalAt) }

// CallbackURL is where webhooks go.
type CallbackURL string

// ParseCallbackURL checks the form of a callback URL: http or https, a host,
// a port that exists, at most MaxURLLength bytes, no user name, no fragment. Which networks it may
// lead to is policy, checked where the network is known (decision A2).
func ParseCallbackURL(s string) (CallbackURL, error) {
	refuse := func(why string) (CallbackURL, error) {
		return "", Errorf(InvalidURL, "callback_url: %s; expected is an absolute https URL of at most %d characters", why, MaxURLLength)
	}
	if s == "" {
		return refuse("is missing")
	}
	if len(s) > MaxURLLength {
		return refuse("is too long")
	}
	u, err := url.Parse(s)
	if err != nil {
		return refuse("is not a URL")
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return refuse("must start with https://")
	case u.Hostname() == "" || u.Opaque != "":
		return refuse("names no host")
	case u.User != nil:
		return refuse("must not carry a user name or password")
	case !validPort(u.Port()):
		return refuse("has a port outside 1 to 65535")
	case u.Fragment != "" || strings.Contains(s, "#"):
		return refuse("must not carry a fragment")
	}
	return CallbackURL(s), nil
}

// validPort tells whether a port can be connected to; without one, the scheme's
// is meant.
func validPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return s == "" || err == nil && n > 0
}
