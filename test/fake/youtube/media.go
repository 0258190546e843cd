package youtube

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// A media URL carries its parameters as pairs in its path, the way YouTube
// writes them.
const (
	manifestHost = "https://manifest.googlevideo.com"
	segmentHost  = "https://rr1---sn-n4v7snly.googlevideo.com"
)

// masterURL returns a new URL of a master playlist for a client. A client that is refused gets one that has expired.
func (y *Server) masterURL(id, client string, v entry) string {
	issue := 0
	if v.OnlyFor == "" || v.OnlyFor == client {
		issue = y.newIssue(id)
	}
	return fmt.Sprintf("%s/api/manifest/hls_variant/%s/playlist_duration/30/manifest_duration/30/go/1/keepalive/yes/file/index.m3u8",
		manifestHost, y.ticket(id, issue, time.Now().Add(expiry)))
}

func playlistURL(ticket string, r livestream.Rendition) string {
	return fmt.Sprintf("%s/api/manifest/hls_playlist/%s/itag/%d/playlist_type/DVR/playlist/index.m3u8", manifestHost, ticket, r.Itag)
}

func segmentURL(ticket string, itag int, e livestream.Entry) string {
	return fmt.Sprintf("%s/videoplayback/%s/itag/%d/playlist_type/DVR/playlist/index.m3u8/sq/%d/goap/clen%%3D0%%3Blmt%%3D1/govp/slices%%3D0/dur/%.3f/file/seg.ts",
		segmentHost, ticket, itag, e.Sequence, e.Duration.Seconds())
}

// ticket returns the part of a media URL with its video, its issue and its expiry
// time.
func (y *Server) ticket(id string, issue int, until time.Time) string {
	return fmt.Sprintf("expire/%d/ei/issue-%d/ip/127.0.0.1/id/%s.1/source/yt_live_broadcast/requiressl/yes/hfr/1/sparams/expire%%2Cei%%2Cip%%2Cid%%2Csource/sig/AJfQdSswRQIhALs1gnatur3",
		until.Unix(), issue, id)
}

// params returns the pairs in a media URL's path after prefix. The last pair of a
// name counts.
func params(path, prefix string) map[string]string {
	found := map[string]string{}
	parts := strings.Split(strings.TrimPrefix(path, prefix), "/")
	for i := 0; i+1 < len(parts); i++ {
		switch parts[i] {
		case "expire", "ei", "id", "itag", "sq":
			found[parts[i]] = parts[i+1]
			i++
		}
	}
	return found
}

// media returns the handler of one kind of media URL. It answers 404 when the
// video has no media, and 403 when the URL has expired.
func (y *Server) media(prefix string, answer func(w http.ResponseWriter, r *http.Request, s Source, ticket string, p map[string]string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := params(r.URL.Path, prefix)
		id, issue, expire := parseTicket(p)
		e := y.video(id)
		switch {
		case e.Source == nil:
			http.NotFound(w, r)
		case !e.accepts(issue, expire):
			http.Error(w, "403 Forbidden", http.StatusForbidden)
		default:
			answer(w, r, e.Source, y.ticket(id, issue, time.Unix(expire, 0)), p)
		}
	}
}

// parseTicket returns the video, the issue, and the expiry time in Unix seconds of
// a ticket.
func parseTicket(p map[string]string) (id string, issue int, expire int64) {
	id, _, _ = strings.Cut(p["id"], ".")
	expire, _ = strconv.ParseInt(p["expire"], 10, 64)
	issue, _ = strconv.Atoi(strings.TrimPrefix(p["ei"], "issue-"))
	return id, issue, expire
}

// accepts reports whether a media URL has not expired.
func (e entry) accepts(issue int, expire int64) bool {
	return time.Now().Unix() < expire && issue > e.expired
}

func serveMaster(w http.ResponseWriter, _ *http.Request, s Source, ticket string, _ map[string]string) {
	livestream.WritePlaylist(w, livestream.MasterText(s.Renditions(), func(r livestream.Rendition) string { return playlistURL(ticket, r) }))
}

func servePlaylist(w http.ResponseWriter, r *http.Request, s Source, ticket string, p map[string]string) {
	itag, _ := strconv.Atoi(p["itag"])
	playlist, err := s.Playlist(itag)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	livestream.WritePlaylist(w, playlist.Text(func(e livestream.Entry) string { return segmentURL(ticket, itag, e) }))
}

func serveSegment(w http.ResponseWriter, r *http.Request, s Source, _ string, p map[string]string) {
	itag, _ := strconv.Atoi(p["itag"])
	sequence, err := strconv.ParseUint(p["sq"], 10, 63)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	b, err := s.Segment(r.Context(), itag, sequence)
	livestream.WriteSegment(w, b, err)
}
