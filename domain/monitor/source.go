package monitor

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/cookie"
)

// SourceName identifies a kind of source, such as youtube. Workers choose their
// resolver by it.
type SourceName string

// Source is one row of the table of sources. Beside the package of the source in adapters/stream, the rest of
// the program knows a site by this row alone.
type Source struct {
	Name     SourceName
	Title    string   // for people
	Studio   string   // where broadcasters look at their stream; empty: nowhere that has a name
	StudioJa string   // its name in Japanese; empty: the same
	Hosts    []string // of the URLs that people share; lower case, each without a port; none: any, by Scheme
	Scheme   string   // that tells its URLs, which may be on any host, from all others, such as icy+; "": Hosts does
	Ending   string   // in lower case, of the paths of URLs without Scheme that are taken for its own, such as .m3u8; "": none
	Accepted string   // what is accepted, in words
	Prefix   string   // of every canonical URL of the source; it has no secret

	// ID extracts what follows Prefix in the canonical form. The same ID is the same stream. why says why a URL on
	// one of Hosts names no stream; "" if it does.
	ID func(u *url.URL) (id, why string)

	// SecretQuery extracts the words of a shared URL that workers need and nobody else may see, such as a query with a
	// token. They go behind the canonical URL. A source whose URLs have no secret leaves it nil.
	SecretQuery func(u *url.URL) string

	// TakesHeaders says that registrations may give header fields for the requests of a stream (config.http_headers).
	TakesHeaders bool

	// TakesToken says that registrations may give a URL that answers with the token of a stream (config.token_url). They may also
	// let the query go with every request (config.copy_query), and name a jar with the cookies of any host.
	TakesToken bool

	// Example is a stream about which doctor asks, to see whether the source answers. It need not exist.
	Example StreamURL

	// Returns is how long a broadcast may be gone and still go on, if the ID names a place where broadcasts come
	// and go; 0: the ID names one broadcast, and nothing begins under it again after its end. A place is a channel, too.
	Returns time.Duration

	// OfficialCheck is how often the source itself is asked about a stream that waits by its official API (decision S23). That
	// API may learn of a start much later; 0: it is believed.
	OfficialCheck time.Duration

	// Channels has the addresses of channels whose streams have URLs of their own; nil: the source has no such channels.
	Channels *ChannelForm

	// Lifetime is how long the URLs of a manifest work if they do not say until when; 0: until they are refused.
	Lifetime time.Duration

	// Secret parts of the URLs of the source's media, beside every query. No log and no answer has them.
	SecretHosts []string       // domains whose paths are signed; lower case
	SecretPaths *regexp.Regexp // paths that are signed, also where they stand without their host; nil: none

	// AudioOnly says that its streams have sound alone: no picture is expected, and none is missed.
	AudioOnly bool

	// Lasting says that a URL outlives its broadcasts, as the mount of a radio station does. While such a stream is
	// watched, all but a refusal is an outage until its scheduled end (section 7.6).
	Lasting bool

	// Login has the names of the cookies of a login, as cookie.Site does; empty: no jar helps here (section 17.7).
	Login [][]string
}

// MaxBroadcast is the most bytes of the id of a broadcast.
const MaxBroadcast = 100

// ChannelForm says how the addresses of a source's channels look.
type ChannelForm struct {
	Accepted string // in words, beside a URL such as Example
	Example  string
	Prefix   string // of every canonical address

	// Short makes a URL of what people write in place of one, such as a handle; "": it is none of these. nil: there are none.
	Short func(s string) (url string)

	// Path extracts what follows Prefix in the canonical form, as Source.ID does.
	Path func(u *url.URL) (path, why string)

	// ByID is what a canonical address that has the source's ID of the channel begins with, and SourceID the form of that ID.
	ByID     string
	SourceID *regexp.Regexp
}

// Sources lists every kind of source. To add one, see "Adding something" in docs/architecture.md.
// Only tests change the table.
var Sources = []Source{youTube, twitch, twitCasting, icy, ownHLS, ownDASH}

// Row returns the row of a source; the zero value for an unknown one.
func (n SourceName) Row() Source {
	for _, s := range Sources {
		if s.Name == n {
			return s
		}
	}
	return Source{}
}

// Site says whose cookies a source needs. An unknown source needs none.
func (n SourceName) Site() cookie.Site {
	s := n.Row()
	return cookie.Site{Hosts: s.Hosts, Login: s.Login}
}

// IsPlace says that the source's URLs name places where broadcasts come and go (Returns).
func (s Source) IsPlace() bool { return s.Returns > 0 }

// CookieHosts lists the hosts of all sources that know a login.
func CookieHosts() (hosts []string) {
	for _, s := range Sources {
		if len(s.Login) > 0 {
			hosts = append(hosts, s.Hosts...)
		}
	}
	return hosts
}

// KeepCookies returns the cookies of a file that a jar keeps, and the sources that they are for. It keeps those of sources that know a
// login. A file without any is for streams of one's own, and is kept whole.
func KeepCookies(all cookie.File) (kept cookie.File, of []SourceName) {
	for _, s := range Sources {
		if len(s.Login) > 0 && len(all.Keep(s.Hosts)) > 0 {
			of = append(of, s.Name)
		}
	}
	if len(of) > 0 {
		return all.Keep(CookieHosts()), of
	}
	for _, s := range Sources {
		if s.TakesToken {
			of = append(of, s.Name)
		}
	}
	return all, of
}

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
	prefix, onWeb := strings.CutSuffix(u.Scheme, "https")
	if !onWeb {
		prefix, onWeb = strings.CutSuffix(u.Scheme, "http")
	}
	switch {
	case !onWeb:
		return refuse("must start with https://", Sources...)
	case u.User != nil:
		return refuse("must not carry a user name", Sources...)
	}
	var hosts []string
	for _, source := range Sources {
		if source.matches(u, prefix) {
			id, why := source.ID(u)
			if why != "" {
				return refuse(why, source)
			}
			return StreamURL(source.Prefix + id), nil
		}
		hosts = append(hosts, source.Hosts[:min(1, len(source.Hosts))]...)
	}
	return refuse("is not on "+strings.Join(hosts, " or "), Sources...)
}

// matches reports whether a URL is meant for the source, whose hosts come before the endings of others. prefix is what its
// scheme has before http or https.
func (s Source) matches(u *url.URL, prefix string) bool {
	if prefix != "" {
		return s.Scheme == prefix
	}
	return slices.Contains(s.Hosts, strings.ToLower(u.Host)) || s.Ending != "" && strings.HasSuffix(strings.ToLower(u.Path), s.Ending)
}

// SourceOf returns the row of a stream's source; the zero value for a URL that is not canonical.
func SourceOf(u StreamURL) Source {
	for _, source := range Sources {
		if strings.HasPrefix(string(u), source.Prefix) {
			return source
		}
	}
	return Source{}
}

// Source is the name of the source that the stream is of; "" for a URL that is
// not canonical.
func (u StreamURL) Source() SourceName { return SourceOf(u).Name }

// ID is the identifier of the stream within its source; for YouTube, 11
// characters, and for an audio stream the URL of its mount. It is "" for a URL that is not canonical.
func (u StreamURL) ID() string {
	source := SourceOf(u)
	if source.Prefix == "" {
		return ""
	}
	return strings.TrimPrefix(string(u), source.Prefix)
}

// Page returns the address under which people see or hear the stream.
func (u StreamURL) Page() string { return strings.TrimPrefix(string(u), SourceOf(u).Scheme) }
