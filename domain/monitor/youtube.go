package monitor

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// YouTube is the name of the source YouTube.
const YouTube SourceName = "youtube"

const youTubePrefix = "https://www.youtube.com/watch?v="

// youTube is the row of YouTube. It accepts each form by which people share one video (decision A1).
var youTube = Source{
	Name:   YouTube,
	Title:  "YouTube",
	Studio: "YouTube Studio",
	Hosts:  slices.Concat(youTubeSite, youTubeShort, youTubeEmbeds),
	Accepted: youTubePrefix + "ID, or https://www.youtube.com/live/ID, /shorts/ID or /embed/ID, or https://youtu.be/ID, " +
		"where ID is 11 of A-Z a-z 0-9 _ -",
	Prefix: youTubePrefix,
	ID:     youTubeID,

	Channels: &ChannelForm{
		Accepted: "an ID (UC and 22 characters), an @handle",
		Example:  "https://www.youtube.com/@handle",
		Prefix:   youTubeChannels,
		Short:    youTubeChannelURL,
		Path:     youTubeChannel,
		ByID:     youTubeChannels + "channel/",
		SourceID: youTubeChannelID,
	},
	Login:       [][]string{{"LOGIN_INFO"}, {"SAPISID", "__Secure-1PAPISID", "__Secure-3PAPISID"}},
	Example:     youTubePrefix + "jNQXAC9IVRw", // public since 2005
	Lifetime:    6 * time.Hour,
	SecretHosts: []string{"googlevideo.com"},
	SecretPaths: regexp.MustCompile(`(?i)/(?:videoplayback|api/manifest)\b[^\s"'<>]*`),
}

// The hosts of YouTube, by the forms of the URLs that they have.
var (
	youTubeSite   = []string{"www.youtube.com", "youtube.com", "m.youtube.com"}
	youTubeShort  = []string{"youtu.be"}
	youTubeEmbeds = []string{"www.youtube-nocookie.com", "youtube-nocookie.com"}
)

var videoID = regexp.MustCompile(`^[A-Za-z0-9_-]{11}$`)

// Why a URL names no single stream, or no channel.
const (
	namesChannel   = "names a channel, and a monitor watches one stream: POST /api/v1/channels registers a channel"
	namesPlaylist  = "names a playlist, and a monitor watches one stream: register each stream of the list by its own URL"
	namesNoChannel = "names no channel"
)

// youTubeID is Source.ID of YouTube.
func youTubeID(u *url.URL) (id, why string) {
	host := strings.ToLower(u.Host)
	if u.Path == "/watch" && slices.Contains(youTubeSite, host) {
		return idOfWatchPage(u)
	}
	path := strings.TrimPrefix(u.Path, "/")
	form, id, _ := strings.Cut(path, "/")
	switch {
	case slices.Contains(youTubeShort, host):
		id = path
	case form == "embed" && id == "live_stream":
		return "", namesChannel // it has the form of an ID
	case form == "playlist", form == "embed" && id == "videoseries":
		return "", namesPlaylist
	case strings.HasPrefix(form, "@"), form == "channel", form == "c", form == "user":
		return "", namesChannel
	case form == "embed":
	case (form == "live" || form == "shorts") && slices.Contains(youTubeSite, host):
	default:
		return "", "names no stream"
	}
	if !videoID.MatchString(id) {
		return "", "has no valid video id in its path"
	}
	return id, ""
}

// idOfWatchPage returns the ID of a /watch URL.
func idOfWatchPage(u *url.URL) (id, why string) {
	query, err := url.ParseQuery(u.RawQuery)
	switch ids := query["v"]; {
	case err != nil:
		return "", "has a malformed query"
	case len(ids) == 0 && query.Get("list") != "":
		return "", namesPlaylist
	case len(ids) != 1 || !videoID.MatchString(ids[0]):
		return "", "has no single valid video id in v="
	default:
		return ids[0], ""
	}
}

const youTubeChannels = "https://www.youtube.com/"

// The characters of names. Their numbers are counted apart: a program of these classes for each character takes megabytes, in every
// process of a worker.
var (
	youTubeChannelID = regexp.MustCompile(`^UC[A-Za-z0-9_-]{22}$`)
	youTubeHandle    = regexp.MustCompile(`^@[\p{L}\p{M}\p{N}._·-]+$`) // 3 to 30 behind the @
	youTubeOldName   = regexp.MustCompile(`^[\p{L}\p{M}\p{N}._-]+$`)   // of /c/ and /user/, up to 100
)

// youTubeChannelURL is ChannelForm.Short of YouTube.
func youTubeChannelURL(s string) string {
	switch {
	case youTubeChannelID.MatchString(s):
		return youTubeChannels + "channel/" + s
	case strings.HasPrefix(s, "@"):
		return youTubeChannels + s
	}
	return ""
}

// youTubeChannel is ChannelForm.Path of YouTube. Handles and names are the same in upper and lower case.
func youTubeChannel(u *url.URL) (path, why string) {
	if !slices.Contains(youTubeSite, strings.ToLower(u.Host)) {
		return "", namesNoChannel
	}
	kind, rest, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	name, _, _ := strings.Cut(rest, "/")
	switch {
	case kind == "channel" && youTubeChannelID.MatchString(name):
		return "channel/" + name, ""
	case (kind == "c" || kind == "user") && youTubeOldName.MatchString(name) && utf8.RuneCountInString(name) <= 100:
		return kind + "/" + strings.ToLower(name), ""
	case youTubeHandle.MatchString(kind) && utf8.RuneCountInString(kind) >= 4 && utf8.RuneCountInString(kind) <= 31:
		return strings.ToLower(kind), ""
	}
	return "", namesNoChannel
}
