package monitor_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/monitor/sourcetest"
)

func TestAStreamURLIsNormalisedOrRefused(t *testing.T) { // decision A1
	const canonical = "https://www.youtube.com/watch?v=dQw4w9WgXc_"
	for _, s := range []string{
		canonical,
		"http://www.youtube.com/watch?v=dQw4w9WgXc_",
		"https://youtube.com/watch?v=dQw4w9WgXc_",
		"https://m.youtube.com/watch?v=dQw4w9WgXc_",
		"https://WWW.YouTube.com/watch?v=dQw4w9WgXc_",
		"HTTPS://www.youtube.com/watch?v=dQw4w9WgXc_",
		"https://www.youtube.com/watch?t=90&v=dQw4w9WgXc_&list=PL0123456789&index=2",
		"https://www.youtube.com/watch?v=dQw4w9WgXc_#t=10",
		"https://www.youtube.com/watch?v=dQw4w9WgXc%5F",
		"https://youtu.be/dQw4w9WgXc_",
		"http://YOUTU.BE/dQw4w9WgXc_?si=abcdefghijklmnop&t=1h2m",
		"https://www.youtube.com/live/dQw4w9WgXc_?feature=share",
		"https://m.youtube.com/live/dQw4w9WgXc%5F",
		"https://youtube.com/shorts/dQw4w9WgXc_",
		"https://www.youtube.com/embed/dQw4w9WgXc_?autoplay=1&list=PL0123456789",
		"https://www.youtube-nocookie.com/embed/dQw4w9WgXc_",
		"https://youtube-nocookie.com/embed/dQw4w9WgXc_#x",
	} {
		got, err := monitor.ParseStreamURL(s)
		if err != nil || string(got) != canonical {
			t.Errorf("%s: got %q, %v", s, got, err)
		}
		if got.Source() != monitor.YouTube {
			t.Errorf("%s: source %q", s, got.Source())
		}
	}
	const channel, playlist, refused = "POST /api/v1/channels", "names a playlist", ""
	for s, says := range map[string]string{
		"": refused, "hello": refused, "https://": refused, "dQw4w9WgXc_": refused, "youtu.be/dQw4w9WgXc_": refused,
		"https://www.youtube.com": refused, "https://www.youtube.com/": refused, "https://www.youtube.com/watch": refused,
		"https://www.youtube.com/watch?v=":                            refused,
		"https://www.youtube.com/watch?v=dQw4w9WgXc":                  refused,
		"https://www.youtube.com/watch?v=twelve_chars":                refused,
		"https://www.youtube.com/watch?v=dQw4w9WgXc%2F":               refused,
		"https://www.youtube.com/watch?v=dQw4w9WgXc_&v=dQw4w9WgXcQ":   refused,
		"https://www.youtube.com/watch?V=dQw4w9WgXc_":                 refused,
		"https://www.youtube.com/watch?v=%zz":                         refused,
		"https://www.youtube.com/watch/?v=dQw4w9WgXc_":                refused,
		"https://www.youtube.com/dQw4w9WgXc_":                         "names no stream",
		"https://www.youtube.com/feed/subscriptions":                  "names no stream",
		"https://www.youtube.com/clip/dQw4w9WgXc_":                    "names no stream",
		"https://www.youtube.com/live/":                               "no valid video id",
		"https://www.youtube.com/live":                                "no valid video id",
		"https://www.youtube.com/live/dQw4w9WgXc":                     "no valid video id",
		"https://www.youtube.com/live/twelve_chars":                   "no valid video id",
		"https://www.youtube.com/live/dQw4w9WgXc_/x":                  "no valid video id",
		"https://www.youtube.com/LIVE/dQw4w9WgXc_":                    "names no stream",
		"https://youtu.be/":                                           "no valid video id",
		"https://youtu.be/live/dQw4w9WgXc_":                           "no valid video id",
		"https://youtu.be/watch?v=dQw4w9WgXc_":                        "no valid video id",
		"https://www.youtube-nocookie.com/live/dQw4w9WgXc_":           "names no stream",
		"https://www.youtube-nocookie.com/watch?v=dQw4w9WgXc_":        "names no stream",
		"https://www.youtube.com/embed/":                              "no valid video id",
		"https://www.youtube.com/embed/live_stream?channel=UC0123456": channel,
		"https://www.youtube.com/embed/videoseries?list=PL0123456789": playlist,
		"https://www.youtube.com/playlist?list=PL0123456789":          playlist,
		"https://www.youtube.com/watch?list=PL0123456789":             playlist,
		"https://www.youtube.com/@channel":                            channel,
		"https://www.youtube.com/@channel/live":                       channel,
		"https://m.youtube.com/channel/UC0123456789012345678901/live": channel,
		"https://www.youtube.com/c/name":                              channel,
		"https://www.youtube.com/user/name/streams":                   channel,
		"https://music.youtube.com/watch?v=dQw4w9WgXc_":               "is not on",
		"https://www.youtube.com:8443/watch?v=dQw4w9WgXc_":            "is not on",
		"https://youtu.be:443/dQw4w9WgXc_":                            "is not on",
		"https://www.youtube.com./watch?v=dQw4w9WgXc_":                "is not on",
		"https://www.youtube.com.evil.test/watch?v=dQw4w9WgXc_":       "is not on",
		"https://evilyoutube.com/watch?v=dQw4w9WgXc_":                 "is not on",
		"https://youtu.be.evil.test/dQw4w9WgXc_":                      "is not on",
		"https://evil.test/youtu.be/dQw4w9WgXc_":                      "is not on",
		"https://user@www.youtube.com/watch?v=dQw4w9WgXc_":            "user name",
		"https://youtu.be@evil.test/dQw4w9WgXc_":                      "user name",
		"https://evil.test\\@youtu.be/dQw4w9WgXc_":                    refused,
		"ftp://www.youtube.com/watch?v=dQw4w9WgXc_":                   "must start with https://",
		"//www.youtube.com/watch?v=dQw4w9WgXc_":                       "must start with https://",
		canonical + strings.Repeat("&x=1", 200):                       "longer than 512",
	} {
		got, err := monitor.ParseStreamURL(s)
		if code(err) != monitor.InvalidURL || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "https://www.youtube.com/watch?v=ID") || !strings.Contains(err.Error(), "https://youtu.be/ID") {
			t.Errorf("%.80s: got %q, %v; want INVALID_URL with %q that says what is accepted", s, got, err, says)
		}
	}
}

func TestAURLOfTwitchNamesAChannel(t *testing.T) { // decision A1
	for _, s := range []string{
		"https://www.twitch.tv/some_login", "http://twitch.tv/Some_Login", "https://m.twitch.tv/some_login/", "https://go.twitch.tv/SOME_LOGIN?referrer=raid#x",
		"https://WWW.Twitch.TV/some_login?t=1h", "https://player.twitch.tv/?channel=Some_Login&parent=example.com", "HTTPS://www.twitch.tv/some%5Flogin",
	} {
		if got, err := monitor.ParseStreamURL(s); err != nil || got != "https://www.twitch.tv/some_login" || got.Source() != monitor.Twitch || got.ID() != "some_login" {
			t.Errorf("%s: got %q, %v", s, got, err)
		}
	}
	for s, says := range map[string]string{
		"https://www.twitch.tv/": "no valid login", "https://www.twitch.tv/x": "no valid login", "https://www.twitch.tv/some-login": "no valid login",
		"https://www.twitch.tv/abcdefghijklmnopqrstuvwxyz": "no valid login", "https://www.twitch.tv/%E9%85%8D%E4%BF%A1": "no valid login",
		"https://www.twitch.tv/videos/123456789": "names a recording", "https://www.twitch.tv/some_login/video/123": "names a recording", "https://m.twitch.tv/some_login/v/123": "names a recording",
		"https://www.twitch.tv/collections/abc": "names a collection", "https://clips.twitch.tv/SomeClip": "names a clip", "https://www.twitch.tv/some_login/clip/SomeClip": "names a clip",
		"https://www.twitch.tv/some_login/schedule": "names a page of a channel", "https://www.twitch.tv/some_login/about": "names a page of a channel",
		"https://www.twitch.tv/some_login/Videos?filter=archives": "names a recording", "https://www.twitch.tv/directory/following": "names no channel", "https://www.twitch.tv/Settings": "names no channel",
		"https://player.twitch.tv/?video=123": "no single channel=", "https://player.twitch.tv/?channel=a_login&channel=b_login": "no single channel=", "https://player.twitch.tv/some_login": "no single channel=",
		"https://api.twitch.tv/some_login": "is not on", "https://www.twitch.tv:8443/some_login": "is not on", "https://www.twitch.tv.evil.test/some_login": "is not on",
	} {
		_, err := monitor.ParseStreamURL(s)
		if code(err) != monitor.InvalidURL || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "https://www.twitch.tv/LOGIN") {
			t.Errorf("%s: %v; want INVALID_URL with %q that says what is accepted", s, err, says)
		}
	}
}

func TestAURLOfTwitCastingNamesAUser(t *testing.T) { // decision A1
	for _, s := range []string{"https://twitcasting.tv/c:Some_user", "http://www.twitcasting.tv/c:Some_user/?x=1", "https://EN.twitcasting.tv/c%3ASome_user#x", "https://ssl.twitcasting.tv/c:Some_user"} {
		if got, err := monitor.ParseStreamURL(s); err != nil || got != "https://twitcasting.tv/c:Some_user" || got.Source() != monitor.TwitCasting {
			t.Errorf("%s: got %q, %v", s, got, err)
		}
	}
	for s, says := range map[string]string{
		"https://twitcasting.tv/": "no valid name", "https://twitcasting.tv/" + strings.Repeat("a", 65): "no valid name", "https://twitcasting.tv/a%20b": "no valid name",
		"https://twitcasting.tv/some_user/movie/123": "names a recording", "https://twitcasting.tv/some_user/show/": "names a page of a user", "https://apiv2.twitcasting.tv/x": "is not on",
	} {
		_, err := monitor.ParseStreamURL(s)
		if code(err) != monitor.InvalidURL || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "https://twitcasting.tv/USER") {
			t.Errorf("%s: %v; want INVALID_URL with %q that says what is accepted", s, err, says)
		}
	}
}

func TestTheMountOfAnAudioStreamIsNormalisedOrRefused(t *testing.T) { // decision A1
	for given, want := range map[string]monitor.StreamURL{
		"icy+https://radio.example/live":         "icy+https://radio.example/live",
		"ICY+HTTPS://Radio.Example:443/Live":     "icy+https://radio.example/Live",
		"icy+http://radio.example:80":            "icy+http://radio.example/",
		"icy+http://radio.example:443/;":         "icy+http://radio.example:443/;",
		"icy+http://10.0.0.7:8000/a%20b/c%2Fd":   "icy+http://10.0.0.7:8000/a%20b/c%2Fd",
		"icy+http://[2001:DB8::1]:8000/live":     "icy+http://[2001:db8::1]:8000/live",
		"icy+https://[2001:db8::1]/stream.mp3":   "icy+https://[2001:db8::1]/stream.mp3",
		"icy+https://radio.example/live?token=1": "icy+https://radio.example/live",
		"icy+https://radio.example/live?":        "icy+https://radio.example/live",
		"icy+https://www.youtube.com/watch.mp3":  "icy+https://www.youtube.com/watch.mp3",
	} {
		got, err := monitor.ParseStreamURL(given)
		if err != nil || got != want || got.Source() != monitor.ICY || "icy+"+got.ID() != string(want) || got.Page() != got.ID() {
			t.Errorf("%s is %s of %q, %v", given, got, got.Source(), err)
		}
		if again, err := monitor.ParseStreamURL(string(got)); err != nil || again != got {
			t.Errorf("%s is stored as %s, %v", got, again, err)
		}
	}
	for given, says := range map[string]string{
		"icy+https:///live":                                      "names no host",
		"icy+https:live":                                         "names no host",
		"icy+https://radio.example:0/live":                       "port",
		"icy+https://radio.example/live#now":                     "fragment",
		"icy+https://me:pw@radio.example/live":                   "user name",
		"icy+ftp://radio.example/live":                           "must start with https://",
		"icecast+https://radio.example/live":                     "is not on",
		"https://radio.example/live":                             "is not on",
		"icy+https://radio.example/" + strings.Repeat("\"", 170): "512 characters",
	} {
		_, err := monitor.ParseStreamURL(given)
		if code(err) != monitor.InvalidURL || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "icy+https://HOST:PORT/MOUNT") {
			t.Errorf("%s: %v; want %q", given, err, says)
		}
	}
}

func TestACallbackURLIsAcceptedOrRefused(t *testing.T) { // decision A2
	for _, s := range []string{
		"https://example.com/hook", "http://10.0.0.1:8080/hook?x=1", "https://[2001:db8::1]/x", "https://例え.jp/hook",
		"https://example.com:1/", "https://example.com:65535/", "https://example.com:/", "https://[2001:db8::1]:8443/",
	} {
		if got, err := monitor.ParseCallbackURL(s); err != nil || string(got) != s {
			t.Errorf("%s: got %q, %v", s, got, err)
		}
	}
	for _, s := range []string{
		"", "example.com/hook", "/hook", "ftp://example.com", "https://", "https:///hook", "https:example.com",
		"https://user:secret@example.com/", "https://example.com/#fragment", "https://example.com/#", "https://exa mple.com/",
		"https://example.com:0/", "https://example.com:65536/", "https://example.com:99999999999999999999/", "https://[2001:db8::1]:0/",
		"https://example.com/" + strings.Repeat("a", 500),
	} {
		if got, err := monitor.ParseCallbackURL(s); code(err) != monitor.InvalidURL {
			t.Errorf("%.60s: got %q, %v", s, got, err)
		}
	}
	exactly := "https://example.com/" + strings.Repeat("a", monitor.MaxURLLength-len("https://example.com/"))
	if _, err := monitor.ParseCallbackURL(exactly); err != nil {
		t.Errorf("512 characters: %v", err)
	}
	if _, err := monitor.ParseCallbackURL(exactly + "a"); err == nil {
		t.Error("513 characters are accepted")
	}
}

func TestAnotherSourceFollowsFromItsRow(t *testing.T) {
	sourcetest.Add(t, sourcetest.Imaginary)
	for given, want := range map[string]struct {
		canonical monitor.StreamURL
		source    monitor.SourceName
	}{
		"http://LIVE.example.com/news/?t=1":         {sourcetest.Stream, sourcetest.Imaginary.Name},
		"https://m.youtube.com/watch?v=dQw4w9WgXcQ": {"https://www.youtube.com/watch?v=dQw4w9WgXcQ", monitor.YouTube},
	} {
		got, err := monitor.ParseStreamURL(given)
		if err != nil || got != want.canonical || got.Source() != want.source {
			t.Errorf("%s is %s of %q, %v", given, got, got.Source(), err)
		}
	}
	for given, words := range map[string][]string{
		"https://live.example.com/": {"names no channel", "accepted is https://live.example.com/CHANNEL"},
		"https://example.org/news":  {"is not on www.youtube.com or ", " or live.example.com", "https://www.youtube.com/watch?v=ID", "https://live.example.com/CHANNEL"},
	} {
		_, err := monitor.ParseStreamURL(given)
		for _, word := range words {
			if code(err) != monitor.InvalidURL || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v; want %q", given, err, word)
			}
		}
	}
	for given, secret := range map[string]string{
		"https://live.example.com/news?token=s3cr3t": "?token=s3cr3t", "https://live.example.com/news": "",
		"https://live.example.com/?token=s3cr3t": "", "https://www.youtube.com/watch?v=dQw4w9WgXcQ&token=1": "", "not a URL": "",
	} {
		if got := monitor.SecretQueryOf(given); got != secret || secret != "" && string(sourcetest.Stream)+got != given {
			t.Errorf("the secret of %s is %q", given, got)
		}
	}
	if name := monitor.StreamURL("https://example.org/news").Source(); name != "" {
		t.Errorf("a URL of no source is of %q", name)
	}
}

func TestTheHeadersOfAStreamHaveLimitsAndNoAnswerShowsThem(t *testing.T) {
	many := map[string]*string{}
	for n := range monitor.MaxHeaders + 1 {
		many[fmt.Sprint("x-", n)] = new("1")
	}
	var s monitor.StreamSecret
	for name, given := range map[string]map[string]*string{
		"fields":       many,
		"bytes":        {"x": new(strings.Repeat("s", monitor.MaxHeaderBytes))},
		"no value":     {"x": new("")},
		"a line break": {"x": new("a\r\nb")},
		"a space":      {"x": new(" a")},
	} {
		if refused := s.SetHeaders(given, sourcetest.Imaginary); len(refused) != 1 || !strings.Contains(refused[0].Error(), "config.http_headers has ") || !s.IsZero() {
			t.Errorf("%s: %v", name, refused)
		}
	}
	if refused := s.SetHeaders(map[string]*string{"X-Key": new("s3cr3t"), "authorization": new("Basic é")}, sourcetest.Imaginary); refused != nil || s.HeaderNames() != "authorization,x-key" {
		t.Errorf("%v, has %s", refused, s.HeaderNames())
	}
	if shown := fmt.Sprintf("%v %+v %#v %s", s, struct{ S monitor.StreamSecret }{s}, s, s); strings.Contains(shown, "s3cr3t") {
		t.Errorf("it is shown: %s", shown)
	}
	c := monitor.DefaultConfig()
	c.HeaderNames = s.HeaderNames()
	raw, err := json.Marshal(c)
	if err != nil || !strings.Contains(string(raw), `"http_headers":{"authorization":null,"x-key":null}`) {
		t.Errorf("%s, %v", raw, err)
	}
	var read monitor.Config
	if err := json.Unmarshal(raw, &read); err != nil || read != c {
		t.Errorf("read is %+v, %v", read, err)
	}
}

func TestAURLOfOnesOwnStreamIsNormalisedOrRefused(t *testing.T) { // decision A1
	for given, want := range map[string]monitor.StreamURL{
		"hls+https://cdn.example/live":                       "hls+https://cdn.example/live",
		"HLS+HTTP://CDN.example:80/Live.m3u8?t=1":            "hls+http://cdn.example/Live.m3u8",
		"https://cdn.example/a/live.m3u8?t=1":                "hls+https://cdn.example/a/live.m3u8",
		"http://CDN.example:8888/Live.M3U8":                  "hls+http://cdn.example:8888/Live.M3U8",
		"https://[2001:DB8::1]/live.mpd?":                    "dash+https://[2001:db8::1]/live.mpd",
		"dash+https://cdn.example:443/live/manifest(format)": "dash+https://cdn.example/live/manifest(format)",
		"dash+https://www.youtube.com/watch":                 "dash+https://www.youtube.com/watch",
	} {
		got, err := monitor.ParseStreamURL(given)
		if err != nil || got != want || string(got.Source())+"+"+got.ID() != string(want) || got.Page() != got.ID() {
			t.Errorf("%s is %s of %q, %v", given, got, got.Source(), err)
		}
		if again, err := monitor.ParseStreamURL(string(got)); err != nil || again != got {
			t.Errorf("%s is stored as %s, %v", got, again, err)
		}
	}
	for given, says := range map[string]string{
		"https://cdn.example/live":                   "is not on",
		"https://cdn.example/live.m3u8/":             "is not on",
		"https://cdn.example/live?x=.m3u8":           "is not on",
		"https://www.youtube.com/live.m3u8":          "names no stream",
		"https://www.twitch.tv/some_login/live.m3u8": "names a page of a channel",
		"https://me:pw@cdn.example/live.m3u8":        "user name",
		"https://cdn.example/live.m3u8#now":          "fragment",
		"hls+https:///live.m3u8":                     "names no host",
		"hls+ftp://cdn.example/live.m3u8":            "must start with https://",
		"hls+https://cdn.example:0/live.m3u8":        "port",
	} {
		_, err := monitor.ParseStreamURL(given)
		if code(err) != monitor.InvalidURL || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q", given, err, says)
		}
	}
}

func TestATokenURLIsAcceptedOrRefusedAndNeverShown(t *testing.T) { // section 5.7
	row := monitor.SourceOf("hls+https://cdn.example/live.m3u8")
	var s monitor.StreamSecret
	for given, says := range map[string]string{
		"set": "none is stored", "tokens.example/s3cr3t": "no such URL", "ftp://tokens.example/s3cr3t": "no such URL", "https:///s3cr3t": "no such URL", "https://tokens.example:0/s3cr3t": "no such URL",
		"https://me:s3cr3t@tokens.example/": "user name", "https://tokens.example/#s3cr3t": "fragment", "https://tokens.example/s3cr3t" + strings.Repeat("x", monitor.MaxTokenURL): "too long",
	} {
		if err := s.SetTokenURL(given, row); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "s3cr3t") || !s.IsZero() {
			t.Errorf("%s: %v; want %q", given, err, says)
		}
	}
	if err := s.SetTokenURL("https://tokens.example/s3cr3t", monitor.SourceOf("https://twitcasting.tv/x")); err == nil {
		t.Error("TwitCasting takes a token URL")
	}
	const stored = "http://tokens.example:8080/t?key=s3cr3t"
	for _, given := range []string{stored, "set"} {
		if err := s.SetTokenURL(given, row); err != nil || s.TokenURL != stored || s.IsZero() {
			t.Errorf("%s: %v, %s", given, err, s.TokenURL)
		}
	}
	c := monitor.DefaultConfig()
	c.HasTokenURL, c.CopyQuery = true, true
	raw, err := json.Marshal(c)
	if err != nil || !strings.Contains(string(raw), `"token_url":"set","copy_query":true`) {
		t.Errorf("%s, %v", raw, err)
	}
	var read monitor.Config
	if err := json.Unmarshal(raw, &read); err != nil || read != c {
		t.Errorf("read is %+v, %v", read, err)
	}
	if err := s.SetTokenURL("", row); err != nil || !s.IsZero() {
		t.Errorf("it is not removed: %v", err)
	}
}
