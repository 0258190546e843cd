package channel

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Address is the URL of a channel in the canonical form of its source, by which it was registered. For YouTube:
// https://www.youtube.com/channel/UC…, /@handle, /c/NAME or /user/NAME.
type Address string

const youTubePrefix = "https://www.youtube.com/"

// youTubeHosts are those of the addresses of channels.
var youTubeHosts = []string{"www.youtube.com", "youtube.com", "m.youtube.com"}

var (
	channelID = regexp.MustCompile(`^UC[A-Za-z0-9_-]{22}$`)
	handle    = regexp.MustCompile(`^@[\p{L}\p{M}\p{N}._·-]{3,30}$`)
	oldName   = regexp.MustCompile(`^[\p{L}\p{M}\p{N}._-]{1,100}$`) // of /c/ and /user/
)

// ParseAddress accepts an ID (UC and 22 characters), an @handle, or the URL of a channel or of a page of it. Handles and
// names are the same in upper and lower case. Everything else is InvalidURL.
func ParseAddress(s string) (Address, error) {
	refuse := func(why string) (Address, error) {
		return "", monitor.OfField("channel", monitor.Errorf(monitor.InvalidURL,
			"channel: %s; accepted is an ID (UC and 22 characters), an @handle, or a URL such as https://www.youtube.com/@handle", why))
	}
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return refuse("is missing")
	case len(s) > monitor.MaxURLLength:
		return refuse("is longer than 512 characters")
	case channelID.MatchString(s):
		return AddressOf(s), nil
	case strings.HasPrefix(s, "@"):
		s = youTubePrefix + s
	}
	if !strings.Contains(s, "://") {
		s = "https://" + s // as people copy it from the address bar of a phone
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return refuse("is not a URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return refuse("must start with https://")
	case u.User != nil:
		return refuse("must not carry a user name")
	case !slices.Contains(youTubeHosts, strings.ToLower(u.Host)):
		return refuse("is not on www.youtube.com")
	}
	kind, rest, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	name, _, _ := strings.Cut(rest, "/")
	switch {
	case kind == "channel" && channelID.MatchString(name):
		return AddressOf(name), nil
	case (kind == "c" || kind == "user") && oldName.MatchString(name):
		return Address(youTubePrefix + kind + "/" + strings.ToLower(name)), nil
	case handle.MatchString(kind):
		return Address(youTubePrefix + strings.ToLower(kind)), nil
	}
	if _, err := monitor.ParseStreamURL(s); err == nil {
		return refuse("is a stream: register it with POST /api/v1/monitors")
	}
	return refuse("names no channel")
}

// AddressOf returns the address of the channel with an ID of the source. It does not change with the handle.
func AddressOf(id string) Address { return Address(youTubePrefix + "channel/" + id) }

// SourceID returns the ID of the source in an address; empty: it has a handle or a name.
func (a Address) SourceID() string {
	id, _ := strings.CutPrefix(string(a), youTubePrefix+"channel/")
	if !channelID.MatchString(id) {
		return ""
	}
	return id
}
