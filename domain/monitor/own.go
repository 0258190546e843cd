package monitor

import (
	"net/url"
	"strings"
)

// The names of the sources of streams of one's own, beside ICY.
const (
	HLS  SourceName = "hls"
	DASH SourceName = "dash"
)

// ownHLS and ownDASH are the rows of the streams of one's own CDN. Their scheme tells them from a mistyped site. A URL whose
// path ends as those of manifests do is no such mistake, and needs no scheme (decision A1).
var (
	ownHLS  = ownStream(HLS, "HLS", "PATH.m3u8", "live.m3u8", ".m3u8")
	ownDASH = ownStream(DASH, "DASH", "PATH.mpd", "live.mpd", ".mpd")
)

func ownStream(name SourceName, title, accepted, example, ending string) Source {
	scheme := string(name) + "+"
	return Source{
		Name:     name,
		Title:    title,
		Studio:   "the console of the CDN or the server",
		StudioJa: "CDNまたは配信サーバーの管理画面",
		Scheme:   scheme,
		Ending:   ending,
		Accepted: "https://HOST/" + accepted + " or " + scheme + "https://HOST/PATH for a stream of your own in " + title,
		Prefix:   scheme,
		ID:       ownID(scheme),

		SecretQuery:  ownQuery,
		TakesHeaders: true,
		TakesToken:   true,

		Lasting: true,
		Example: StreamURL(scheme + "https://stream.example/" + example),
	}
}

// ownID returns Source.ID of streams of one's own. It is their URL without its scheme's prefix and its query. The host is in lower
// case, without a port that follows from the scheme.
func ownID(prefix string) func(u *url.URL) (id, why string) {
	return func(u *url.URL) (id, why string) {
		scheme := strings.TrimPrefix(u.Scheme, prefix)
		host, port := strings.ToLower(u.Hostname()), u.Port()
		switch {
		case host == "" || u.Opaque != "":
			return "", "names no host"
		case !validPort(port):
			return "", "has a port outside 1 to 65535"
		case u.Fragment != "":
			return "", "must not carry a fragment"
		}
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		if port != "" && port != map[string]string{"http": "80", "https": "443"}[scheme] {
			host += ":" + port
		}
		stream := url.URL{Scheme: scheme, Host: host, Path: u.Path, RawPath: u.RawPath}
		if stream.Path == "" {
			stream.Path = "/"
		}
		if id = stream.String(); len(prefix+id) > MaxURLLength {
			return "", "is longer than 512 characters when it is written out"
		}
		return id, ""
	}
}

// ownQuery is Source.SecretQuery of streams of one's own.
func ownQuery(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	return "?" + u.RawQuery
}
