package monitor

import (
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Twitch is the name of the source Twitch.
const Twitch SourceName = "twitch"

const twitchPrefix = "https://www.twitch.tv/"

// twitch is the row of Twitch. Its URLs name a channel, which has one broadcast at a time (decision A1).
var twitch = Source{
	Name:        Twitch,
	Title:       "Twitch",
	Studio:      "the Creator Dashboard of Twitch",
	StudioJa:    "Twitchのクリエイターダッシュボード",
	Hosts:       []string{"www.twitch.tv", "twitch.tv", "m.twitch.tv", "go.twitch.tv", "player.twitch.tv", "clips.twitch.tv"},
	Accepted:    twitchPrefix + "LOGIN or https://player.twitch.tv/?channel=LOGIN, where LOGIN is 2 to 25 of a-z 0-9 _",
	Prefix:      twitchPrefix,
	ID:          twitchLogin,
	Example:     twitchPrefix + "twitch", // Twitch's own channel
	Returns:     90 * time.Second,        // for which Twitch keeps a broadcast whose encoder is away
	Login:       [][]string{{"auth-token"}},
	SecretHosts: []string{"ttvnw.net", "live-video.net"},
	SecretPaths: regexp.MustCompile(`(?i)/(?:api(?:/v2)?/channel/hls|v1/(?:playlist|segment))/[^\s"'<>]*`),

	OfficialCheck: 2 * time.Minute, // Helix learns of a start 1 to 15 minutes late
}

var loginForm = regexp.MustCompile(`^[a-z0-9_]{2,25}$`)

// twitchPages are the first parts of paths that have the form of a login.
var twitchPages = map[string]string{
	"videos": "names a recording", "video": "names a recording", "v": "names a recording", "clip": namesClip, "collections": "names a collection of recordings",
	"directory": namesNoChannel, "downloads": namesNoChannel, "jobs": namesNoChannel, "login": namesNoChannel, "p": namesNoChannel,
	"search": namesNoChannel, "settings": namesNoChannel, "signup": namesNoChannel, "store": namesNoChannel, "subscriptions": namesNoChannel, "wallet": namesNoChannel,
}

// namesClip is why a URL names no channel that can be watched.
const namesClip = "names a clip"

// twitchLogin is Source.ID of Twitch.
func twitchLogin(u *url.URL) (id, why string) {
	first, rest, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	switch strings.ToLower(u.Host) {
	case "clips.twitch.tv":
		return "", namesClip
	case "player.twitch.tv":
		query, err := url.ParseQuery(u.RawQuery)
		channels := query["channel"]
		if err != nil || first != "" || len(channels) != 1 {
			return "", "has no single channel="
		}
		first = channels[0]
	}
	first = strings.ToLower(first)
	switch page := twitchPages[first]; {
	case page != "":
		return "", page
	case !loginForm.MatchString(first):
		return "", "has no valid login of a channel"
	}
	sub, _, _ := strings.Cut(rest, "/")
	switch page := twitchPages[strings.ToLower(sub)]; {
	case page == "" && rest != "":
		return "", "names a page of a channel"
	case page != "":
		return "", page
	}
	return first, ""
}
