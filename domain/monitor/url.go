package monitor

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// MaxURLLength is the longest callback URL accepted, in bytes (section 9.1,
// decision A2). A stream URL is canonical and far shorter.
const MaxURLLength = 512

// CallbackURL is the address that webhooks are sent to. It is empty if routes alone tell somebody of a stream.
type CallbackURL string

// CallbackKnown reports whether it can be said who is told of a registration. That takes a readable callback, and without one
// readable metadata, which routes compare. refused has the fields that are wrong.
func CallbackKnown(u CallbackURL, refused []error) bool {
	return !slices.ContainsFunc(refused, func(err error) bool {
		field := FieldOf(err)
		return err != nil && (field == "" || field == "callback_url" || field == "metadata" && u == "")
	})
}

// ParseCallbackURL checks the form of a callback URL: http or https, a host,
// a port that exists, at most MaxURLLength bytes, no user name, no fragment. Which networks it may
// lead to is policy, checked where the network is known (decision A2).
func ParseCallbackURL(s string) (CallbackURL, error) {
	refuse := func(why string) (CallbackURL, error) {
		return "", OfField("callback_url", Errorf(InvalidURL, "callback_url: %s; expected is an absolute https URL of at most %d characters", why, MaxURLLength))
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

// validPort reports whether a port can be connected to; without one, the scheme's
// is meant.
func validPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return s == "" || err == nil && n > 0
}
