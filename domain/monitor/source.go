package monitor

import (
	"net/url"
	"slices"
	"strings"
)

// SourceName identifies a kind of source, such as youtube. Workers choose their
// resolver by it.
type SourceName string

// Source is one row of the table of sources.
type Source struct {
	Name     SourceName
	Hosts    []string // lower case, each without a port
	Accepted string   // what is accepted, in words
	Prefix   string   // of every canonical URL of the source

	// ID extracts what follows Prefix in the canonical form. why says why a URL on
	// one of Hosts names no stream; "" if it does.
	ID func(u *url.URL) (id, why string)
}

// Sources lists every kind of source. To add one, add its row here and its
// resolver in adapters/stream, and name the resolver where cmd wires the worker.
// Only tests change the table.
var Sources = []Source{youTube}

// StreamURL is the URL of a stream in the canonical form of its source, so that
// two spellings of one stream are equal (decision A1).
type StreamURL string

// ParseStreamURL accepts an http or https URL of one of Sources and returns its
// canonical form. Everything else is InvalidURL (section 3.1, decision A1).
func ParseStreamURL(s string) (StreamURL, error) {
	refuse := func(why string, sources ...Source) (StreamURL, error) {
		var accepted []string
		for _, source := range sources {
			accepted = append(accepted, source.Accepted)
		}
		return "", OfField("stream_url", Errorf(InvalidURL, "stream_url: %s; accepted is %s", why, strings.Join(accepted, ", or ")))
	}
	if s == "" {
		return refuse("is missing", Sources...)
	}
	if len(s) > MaxURLLength {
		return refuse("is longer than 512 characters", Sources...)
	}
	u, err := url.Parse(s)
	if err != nil {
		return refuse("is not a URL", Sources...)
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return refuse("must start with https://", Sources...)
	case u.User != nil:
		return refuse("must not carry a user name", Sources...)
	}
	var hosts []string
	for _, source := range Sources {
		if slices.Contains(source.Hosts, strings.ToLower(u.Host)) {
			id, why := source.ID(u)
			if why != "" {
				return refuse(why, source)
			}
			return StreamURL(source.Prefix + id), nil
		}
		hosts = append(hosts, source.Hosts[0])
	}
	return refuse("is not on "+strings.Join(hosts, " or "), Sources...)
}

// Source is the name of the source that the stream is of; "" for a URL that is
// not canonical.
func (u StreamURL) Source() SourceName {
	for _, source := range Sources {
		if strings.HasPrefix(string(u), source.Prefix) {
			return source.Name
		}
	}
	return ""
}

// VideoID is the identifier of the stream within its source; for YouTube, 11
// characters.
func (u StreamURL) VideoID() string {
	for _, source := range Sources {
		if id, is := strings.CutPrefix(string(u), source.Prefix); is {
			return id
		}
	}
	return ""
}
