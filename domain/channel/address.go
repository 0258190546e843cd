package channel

import (
	"net/url"
	"slices"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Address is the URL of a channel in the canonical form of its source, by which it was registered. Of a source whose
// streams have URLs of their own it is as monitor.ChannelForm says. Otherwise it is the URL of the place where the
// broadcasts of the channel come and go, which is also that of its streams.
type Address string

// ParseAddress accepts the URL of a channel of one of monitor.Sources, or what people write in place of one. Everything else
// is InvalidURL.
func ParseAddress(s string) (Address, error) {
	refuse := func(why string) (Address, error) {
		return "", monitor.OfField("channel", monitor.Errorf(monitor.InvalidURL, "channel: %s; accepted is %s", why, accepted()))
	}
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return refuse("is missing")
	case len(s) > monitor.MaxURLLength:
		return refuse("is longer than 512 characters")
	}
	for _, source := range monitor.Sources {
		if form := source.Channels; form != nil && form.Short != nil {
			if whole := form.Short(s); whole != "" {
				s = whole
			}
		}
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
	}
	var hosts []string
	for _, source := range monitor.Sources {
		if !has(source) {
			continue
		}
		hosts = append(hosts, source.Hosts[0])
		if !slices.Contains(source.Hosts, strings.ToLower(u.Host)) {
			continue
		}
		prefix, path := formOf(source)
		rest, why := path(u)
		if why == "" {
			return Address(prefix + rest), nil
		}
		if _, err := monitor.ParseStreamURL(s); err == nil {
			why = "is a stream: register it with POST /api/v1/monitors"
		}
		return refuse(why)
	}
	return refuse("is not on " + strings.Join(hosts, " or "))
}

// has reports whether a source has channels.
func has(source monitor.Source) bool { return source.Channels != nil || source.IsPlace() }

// formOf returns what every canonical address of a source's channels begins with, and what extracts the rest.
func formOf(source monitor.Source) (prefix string, path func(*url.URL) (path, why string)) {
	if own := source.Channels; own != nil {
		return own.Prefix, own.Path
	}
	return source.Prefix, source.ID
}

// accepted says in words what the address of a channel may be.
func accepted() string {
	var short, urls []string
	for _, source := range monitor.Sources {
		switch form := source.Channels; {
		case form != nil:
			short, urls = append(short, form.Accepted), append(urls, form.Example)
		case has(source):
			urls = append(urls, source.Accepted)
		}
	}
	return strings.Join(short, ", ") + ", or a URL such as " + strings.Join(urls, ", or ")
}

// source returns the row of the source that a channel is of; the zero value for an address that is not canonical.
func (a Address) source() monitor.Source {
	for _, source := range monitor.Sources {
		prefix, _ := formOf(source)
		if has(source) && strings.HasPrefix(string(a), prefix) {
			return source
		}
	}
	return monitor.Source{}
}

// Source is the name of the source that the channel is of; "" for an address that is not canonical.
func (a Address) Source() monitor.SourceName { return a.source().Name }

// Place returns the URL of the place of broadcasts that the address is; empty: the streams of the channel have URLs of their
// own.
func (a Address) Place() monitor.StreamURL {
	if a.source().IsPlace() {
		return monitor.StreamURL(a)
	}
	return ""
}

// ByID returns the address of the channel with an ID that its source has given it: that does not change with the handle.
// Without an ID, and of a place, it is the address itself.
func (a Address) ByID(id string) Address {
	if form := a.source().Channels; form != nil && id != "" {
		return Address(form.ByID + id)
	}
	return a
}

// SourceID returns the ID of the source in an address; empty: it has a handle or a name, or is a place.
func (a Address) SourceID() string {
	form := a.source().Channels
	if form == nil {
		return ""
	}
	if id, is := strings.CutPrefix(string(a), form.ByID); is && form.SourceID.MatchString(id) {
		return id
	}
	return ""
}
