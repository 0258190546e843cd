package monitor

import (
	"net/url"
	"regexp"
	"strings"
	"time"
)

// TwitCasting is the name of the source TwitCasting.
const TwitCasting SourceName = "twitcasting"

const twitCastingPrefix = "https://twitcasting.tv/"

// twitCasting is the row of TwitCasting. Its URLs name a user, who has one broadcast at a time (decision A1).
var twitCasting = Source{
	Name:     TwitCasting,
	Title:    "TwitCasting",
	Studio:   "the broadcasting page of TwitCasting",
	StudioJa: "ツイキャスの配信ページ",
	Hosts:    []string{"twitcasting.tv", "www.twitcasting.tv", "en.twitcasting.tv", "ssl.twitcasting.tv"},
	Accepted: twitCastingPrefix + "USER, where USER is 1 to 64 of A-Z a-z 0-9 _ : -",
	Prefix:   twitCastingPrefix,
	ID:       twitCastingUser,
	Example:  twitCastingPrefix + "twitcasting_jp", // TwitCasting's own channel
	Returns:  90 * time.Second,
}

var userForm = regexp.MustCompile(`^[A-Za-z0-9_:-]{1,64}$`)

// twitCastingUser is Source.ID of TwitCasting.
func twitCastingUser(u *url.URL) (id, why string) {
	user, rest, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	switch page, _, _ := strings.Cut(rest, "/"); {
	case !userForm.MatchString(user):
		return "", "has no valid name of a user"
	case page == "movie":
		return "", "names a recording"
	case rest != "":
		return "", "names a page of a user"
	}
	return user, ""
}
