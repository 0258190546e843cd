package monitor

import (
	"net/url"
	"strings"
)

// ICY is the name of the source of audio streams of one's own: Icecast, SHOUTcast, and what speaks like them.
const ICY SourceName = "icy"

const icyScheme = "icy+"

// icy is the row of audio streams. The scheme tells their URLs from those of a mistyped site, and from other
// streams of one's own (decision A1).
var icy = Source{
	Name:     ICY,
	Title:    "Icecast",
	Studio:   "the status page of the server",
	StudioJa: "配信サーバーのステータスページ",
	Scheme:   icyScheme,
	Accepted: "icy+https://HOST:PORT/MOUNT or icy+http://HOST:PORT/MOUNT for an audio stream of your own (Icecast, SHOUTcast)",
	Prefix:   icyScheme,
	ID:       icyID,

	SecretQuery:  icyQuery,
	TakesHeaders: true,

	AudioOnly: true,
	Lasting:   true,
	Example:   "icy+https://radio.example/live",
}

// icyID is Source.ID of audio streams: the URL of the mount without its query, whose host is in lower case and has no port that
// follows from the scheme.
func icyID(u *url.URL) (id, why string) {
	scheme := strings.TrimPrefix(u.Scheme, icyScheme)
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
	mount := url.URL{Scheme: scheme, Host: host, Path: u.Path, RawPath: u.RawPath}
	if mount.Path == "" {
		mount.Path = "/"
	}
	if id = mount.String(); len(icyScheme+id) > MaxURLLength {
		return "", "is longer than 512 characters when it is written out"
	}
	return id, ""
}

// icyQuery is Source.SecretQuery of audio streams.
func icyQuery(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	return "?" + u.RawQuery
}
