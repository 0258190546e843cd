package youtube

import (
	"net/http"
	"path"
	"strings"
	"time"
)

// An origin's URLs end with its own path, after a mark, because its directories
// may have the names of parameters.
const (
	originPrefix = "/api/manifest/origin/"
	originMark   = "/media/"
)

// originStreams adds the URLs of an origin's manifests to data.
func (y *Server) originStreams(data object, id string, o Origin) {
	base := manifestHost + originPrefix + y.ticket(id, y.newIssue(id), time.Now().Add(expiry)) + originMark
	if o.HLS != "" {
		data["hlsManifestUrl"] = base + o.HLS
	}
	if o.DASH != "" {
		data["dashManifestUrl"] = base + o.DASH
	}
}

// origin passes a request on to the origin of its video, unless the URL has
// expired.
func (y *Server) origin(w http.ResponseWriter, r *http.Request) {
	ticket, rest, found := strings.Cut(r.URL.Path, originMark)
	id, issue, expire := parseTicket(params(ticket, originPrefix))
	e := y.video(id)
	switch {
	case e.Origin == nil || !found:
		http.NotFound(w, r)
	case !e.accepts(issue, expire):
		http.Error(w, "403 Forbidden", http.StatusForbidden)
	default:
		inner := r.Clone(r.Context())
		inner.URL.Path, inner.URL.RawPath = "/"+rest, ""
		e.Origin.Handler.ServeHTTP(w, inner)
	}
}

// originClass classifies a request to an origin by its path: manifests are at the
// top.
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
