package twitch

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// The hosts of the media.
const (
	playlistHost = "https://video-weaver.ttvnw.net"
	segmentHost  = "https://video-edge.ttvnw.net"
)

// adBreak is a time in which the playlist lists advertisements in place of the broadcaster's segments.
type adBreak struct {
	from, until time.Time
	byTitle     bool
}

// Advertise shows advertisements from now on for a time, with the media of ads. byTitle: only the title of its segments
// tells them, not a date range.
func (s *Site) Advertise(login string, ads youtube.Source, d time.Duration, byTitle bool) (from, until time.Time) {
	from = time.Now().Truncate(time.Millisecond)
	until = from.Add(d)
	s.change(login, func(c *channel) { c.ads, c.breaks = ads, append(c.breaks, adBreak{from, until, byTitle}) })
	return from, until
}

// ExpireURLs lets all URLs of the media of a channel be refused that were given out before.
func (s *Site) ExpireURLs(login string) { s.change(login, func(c *channel) { c.issue++ }) }

// Refused returns how many requests came with URLs that had expired.
func (s *Site) Refused(login string) int { return s.channel(login).refused }

// isAd reports whether an advertisement replaces the segment.
func (c channel) isAd(e livestream.Entry) (b adBreak, ok bool) {
	for _, b := range c.breaks {
		if !e.ProgramTime.Before(b.from) && e.ProgramTime.Before(b.until) {
			return b, true
		}
	}
	return b, false
}

// serveMedia answers for the server of playlists, the playlists and the segments.
func (s *Site) serveMedia(w http.ResponseWriter, r *http.Request) {
	dir, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/hls/")
	if r.Host == "usher.ttvnw.net" {
		if dir == "api/channel" || dir == "api/v2/channel" {
			s.serveMaster(w, r, strings.TrimSuffix(name, ".m3u8"))
			return
		}
		http.NotFound(w, r)
		return
	}
	t, ok := parseTicket(r.URL.Path)
	c := s.channel(t.login)
	if !ok || c.media == nil || t.broadcast != c.broadcast {
		http.NotFound(w, r)
		return
	}
	if t.issue != c.issue {
		s.change(t.login, func(c *channel) { c.refused++ })
		http.Error(w, "the URL has expired", http.StatusForbidden)
		return
	}
	part := livestream.Playlists
	if t.segment {
		part = livestream.Segments
	}
	httpfault.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if t.segment {
			media := c.media
			if t.ad {
				media = c.ads
			}
			b, err := media.Segment(r.Context(), t.itag, t.number)
			livestream.WriteSegment(w, b, err)
			return
		}
		p, err := c.media.Playlist(t.itag)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		livestream.WritePlaylist(w, c.text(t, p))
	}), func(*http.Request) httpfault.Fault { return c.media.Fault(part) }).ServeHTTP(w, r)
}

// serveMaster answers with the qualities of a channel, or refuses.
func (s *Site) serveMaster(w http.ResponseWriter, r *http.Request, login string) {
	refuse := func(status int, code string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `[{"url":"","error":"refused","error_code":%q,"type":"error"}]`, code)
	}
	c := s.channel(login)
	status := statuses[c.state]
	switch {
	case c.state == NoPlaylist:
		status = http.StatusServiceUnavailable
		fallthrough
	case status != 0:
		http.Error(w, http.StatusText(status), status)
	case r.URL.Query().Get("sig") == "":
		refuse(http.StatusForbidden, "invalid_signature")
	case c.state == Subscribers && !strings.Contains(r.URL.Query().Get("token"), `"subscriber":true`):
		refuse(http.StatusForbidden, "unauthorized_entitlements")
	case c.state == Region:
		refuse(http.StatusForbidden, "content_geoblocked")
	case c.media == nil, c.state == NotLive, c.state == Late, c.state == Gone:
		refuse(http.StatusNotFound, "transcode_does_not_exist")
	default:
		livestream.WritePlaylist(w, c.master(login))
	}
}

// master returns the master playlist: a group of its own for each quality.
func (c channel) master(login string) string {
	var b strings.Builder
	b.WriteString("#EXTM3U\n#EXT-X-TWITCH-INFO:NODE=\"video-edge\",ORIGIN=\"test\"\n")
	for _, r := range c.media.Renditions() {
		name, codecs, size := fmt.Sprintf("%dp30", r.Height), "avc1.4D400C,mp4a.40.2", fmt.Sprintf("RESOLUTION=%dx%d,", r.Width, r.Height)
		if !r.HasVideo() {
			name, codecs, size = "audio_only", "mp4a.40.2", ""
		}
		fmt.Fprintf(&b, "#EXT-X-MEDIA:TYPE=VIDEO,GROUP-ID=%q,NAME=%q,AUTOSELECT=YES,DEFAULT=YES\n", name, name)
		fmt.Fprintf(&b, "#EXT-X-STREAM-INF:BANDWIDTH=%d,%sCODECS=%q,VIDEO=%q,FRAME-RATE=30.000,STABLE-VARIANT-ID=%q\n", r.Bandwidth, size, codecs, name, name)
		fmt.Fprintf(&b, "%s/v1/playlist/%s.m3u8\n", playlistHost, ticket{login: login, broadcast: c.broadcast, issue: c.issue, itag: r.Itag})
	}
	return b.String()
}

// text returns a media playlist, with the advertisements of the channel.
func (c channel) text(t ticket, p livestream.Playlist) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:%d\n#EXT-X-MEDIA-SEQUENCE:%d\n#EXT-X-TWITCH-ELAPSED-SECS:0.000\n", int(p.Target.Seconds()), p.First)
	const form = "2006-01-02T15:04:05.000Z"
	for i, a := range c.breaks {
		if !a.byTitle {
			fmt.Fprintf(&b, "#EXT-X-DATERANGE:ID=\"stitched-ad-%d\",CLASS=\"twitch-stitched-ad\",START-DATE=%q,DURATION=%.3f,X-TV-TWITCH-AD-ROLL-TYPE=\"MIDROLL\"\n",
				i, a.from.UTC().Format(form), a.until.Sub(a.from).Seconds())
		}
	}
	t.segment = true
	before := false
	for i, e := range p.Entries {
		at, ad := c.isAd(e)
		if i > 0 && ad != before {
			b.WriteString("#EXT-X-DISCONTINUITY\n")
		}
		before = ad
		title := "live"
		if ad && at.byTitle {
			title = "Amazon|7250020370401"
		}
		t.ad, t.number = ad, e.Sequence
		fmt.Fprintf(&b, "#EXT-X-PROGRAM-DATE-TIME:%s\n#EXTINF:%.3f,%s\n%s/v1/segment/%s.ts\n", e.ProgramTime.UTC().Format(form), e.Duration.Seconds(), title, segmentHost, t)
	}
	if p.Ended {
		b.WriteString("#EXT-X-ENDLIST\n")
	} else {
		fmt.Fprintf(&b, "#EXT-X-TWITCH-PREFETCH:%s/v1/segment/prefetch.ts\n", segmentHost)
	}
	return b.String()
}

// ticket is what the path of a media URL says, which is signed at Twitch.
type ticket struct {
	login     string
	broadcast int
	issue     int // which the URLs of a master playlist share
	itag      int
	segment   bool
	ad        bool
	number    uint64
}

func (t ticket) String() string {
	return fmt.Sprintf("S1gnedTicket.%s.%d.%d.%d.%t.%d", t.login, t.broadcast, t.issue, t.itag, t.ad, t.number)
}

// parseTicket is the inverse of String.
func parseTicket(path string) (t ticket, ok bool) {
	parts := strings.Split(path[strings.LastIndex(path, "/")+1:], ".")
	if len(parts) != 8 {
		return t, false
	}
	t.login, t.ad, t.segment = parts[1], parts[5] == "true", strings.HasPrefix(path, "/v1/segment/")
	t.broadcast, _ = strconv.Atoi(parts[2])
	t.issue, _ = strconv.Atoi(parts[3])
	t.itag, _ = strconv.Atoi(parts[4])
	t.number, _ = strconv.ParseUint(parts[6], 10, 63)
	return t, true
}
