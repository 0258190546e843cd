package youtube

import (
	"net/http"
	"path"
	"strings"
	"time"
)

// An origin's URLs end with its own path. It comes after a mark, for its
// directories may have the names of parameters.
const (
	originPrefix = "/api/manifest/origin/"
	originMark   = "/media/"
)

// originStreams tells where an origin's manifests are. The master playlist's
// place is like YouTube's own: yt-dlp may add to it.
func (y *Server) originStreams(data object, id string, o Origin) {
	base := manifestHost + originPrefix + y.ticket(id, y.issued(id), time.Now().Add(y.expiry)) + originMark
	if o.HLS != "" {
		data["hlsManifestUrl"] = base + o.HLS
	}
	if o.DASH != "" {
		data["dashManifestUrl"] = base + o.DASH
	}
}

// origin hands a request on to the origin of the video it is about, if the URL
// is still good.
func (y *Server) origin(w http.ResponseWriter, r *http.Request) {
	ticket, rest, found := strings.Cut(r.URL.Path, originMark)
	id, issue, expire := holder(params(ticket, originPrefix))
	e := y.video(id)
	switch {
	case e.Origin == nil || !found:
		http.NotFound(w, r)
	case !e.admits(issue, expire):
		http.Error(w, "403 Forbidden", http.StatusForbidden)
	default:
		inner := r.Clone(r.Context())
		inner.URL.Path, inner.URL.RawPath = "/"+rest, ""
		e.Origin.Handler.ServeHTTP(w, inner)
	}
}

// originClass tells what a request to an origin is for by the name's ending:
// an entry is at the top.
func originClass(of string) Class {
	_, rest, _ := strings.Cut(of, originMark)
	switch {
	case !strings.Contains(rest, "/"):
		return Manifest
	case path.Ext(rest) == ".m3u8":
		return Playlist
	}
	return Segment
}
