package youtube

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxResults is the largest page of the Data API.
const maxResults = 50

// withKey lets a call be answered unless the API refuses it. Each one costs a unit.
func (y *Server) withKey(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if reason := y.refuse(r.Header.Get("X-Goog-Api-Key"), 0); reason != "" {
			writeRefusal(w, reason)
			return
		}
		answer(w, r)
	}
}

// apiChannels answers which channel has a handle, or an id.
func (y *Server) apiChannels(w http.ResponseWriter, r *http.Request) {
	query, items := r.URL.Query(), []object{}
	address := query.Get("id")
	if handle := query.Get("forHandle"); handle != "" {
		address = "@" + strings.TrimPrefix(handle, "@")
	}
	if id, c, exists := y.channelOf(address); exists {
		items = append(items, object{
			"kind": "youtube#channel", "id": id,
			"snippet":        object{"title": c.Title, "customUrl": c.Handle},
			"contentDetails": object{"relatedPlaylists": object{"uploads": "UU" + id[2:]}},
		})
	}
	writeJSON(w, object{"kind": "youtube#channelListResponse", "pageInfo": object{"totalResults": len(items)}, "items": items})
}

// playlistItems answers with a page of the uploads of a channel (UU…), or of its streams alone (UULV…). They are
// the public ones, the latest addition first.
func (y *Server) playlistItems(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	suffix, streamsOnly := strings.CutPrefix(query.Get("playlistId"), "UULV")
	id := "UC" + strings.TrimPrefix(suffix, "UU")
	_, c, exists := y.channelOf(id)
	all := slices.DeleteFunc(y.videosOf(id), func(l listed) bool { return l.isMembersOnly() || streamsOnly && l.mark == noStream })
	from, err := strconv.Atoi("0" + query.Get("pageToken"))
	size, _ := strconv.Atoi(query.Get("maxResults"))
	if size == 0 {
		size = 5
	}
	switch {
	case !exists, streamsOnly && len(all) == 0:
		writeRefusal(w, "playlistNotFound")
		return
	case err != nil, from > len(all):
		writeRefusal(w, "invalidPageToken")
		return
	}
	until := min(from+min(size, maxResults), len(all))
	items := []object{}
	for i, l := range all[from:until] {
		items = append(items, object{
			"kind": "youtube#playlistItem",
			"snippet": object{
				"publishedAt": time.Now().UTC().Format(time.RFC3339), "channelId": id, "channelTitle": c.Title, "title": l.Title,
				"playlistId": query.Get("playlistId"), "position": from + i, "resourceId": object{"kind": "youtube#video", "videoId": l.id},
			},
			"contentDetails": object{"videoId": l.id},
			"status":         object{"privacyStatus": "public"},
		})
	}
	answer := object{"kind": "youtube#playlistItemListResponse", "items": items, "pageInfo": object{"totalResults": len(all), "resultsPerPage": size}}
	if until < len(all) {
		answer["nextPageToken"] = strconv.Itoa(until)
	}
	writeJSON(w, answer)
}
