package youtube

import (
	"net/http"
	"strings"
	"time"
)

// APIKey is the only key that the YouTube Data API accepts here.
const APIKey = "AIzaSyAKeyOfTheDataAPIForTestsOnly00000"

// DataAPI is how the YouTube Data API, and the Live Streaming API with it, answers. The zero value answers every call with the right key. Faults of other kinds are
// injected for the Class API.
type DataAPI struct {
	Refusal string // reason of the refusal of each call: quotaExceeded, accessNotConfigured, keyInvalid, …; empty: none is refused
	Quota   int    // calls that are answered before the units are used up; 0: any number

	calls int // that were answered
}

// SetDataAPI changes how the API answers from now on. It counts anew.
func (y *Server) SetDataAPI(d DataAPI) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.dataAPI = d
}

// refuse returns the reason for which a call with a key is refused; empty: it is answered.
func (y *Server) refuse(key string, ids int) string {
	y.mu.Lock()
	defer y.mu.Unlock()
	switch {
	case key != APIKey:
		return "keyInvalid"
	case y.dataAPI.Refusal != "":
		return y.dataAPI.Refusal
	case ids > 50:
		return "invalidFilters"
	case y.dataAPI.Quota > 0 && y.dataAPI.calls == y.dataAPI.Quota:
		return "quotaExceeded"
	}
	y.dataAPI.calls++
	return ""
}

// videosList answers videos.list of the YouTube Data API.
func (y *Server) videosList(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	ids := strings.Split(query.Get("id"), ",")
	if reason := y.refuse(r.Header.Get("X-Goog-Api-Key"), len(ids)); reason != "" {
		writeRefusal(w, reason)
		return
	}
	items := []object{}
	for _, id := range ids {
		all := apiVideo(y.video(id))
		if all == nil {
			continue
		}
		item := object{"kind": "youtube#video", "id": id}
		for part := range strings.SplitSeq(query.Get("part"), ",") {
			if value, has := all[part]; has {
				item[part] = value
			}
		}
		items = append(items, item)
	}
	writeJSON(w, object{"kind": "youtube#videoListResponse", "items": items, "pageInfo": object{"totalResults": len(items), "resultsPerPage": len(items)}})
}

// writeRefusal answers a call that the Data API refuses.
func writeRefusal(w http.ResponseWriter, reason string) {
	code, status := http.StatusForbidden, "PERMISSION_DENIED"
	switch reason {
	case "keyInvalid", "invalidFilters", "invalidPageToken":
		code, status = http.StatusBadRequest, "INVALID_ARGUMENT"
	case "playlistNotFound":
		code, status = http.StatusNotFound, "NOT_FOUND"
	}
	refuseCall(w, code, status, reason)
}

// refuseCall answers a call that is refused.
func refuseCall(w http.ResponseWriter, code int, status, reason string) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(code)
	writeJSON(w, object{"error": object{"code": code, "message": "The request was refused: " + reason, "status": status, "errors": []object{{"reason": reason, "domain": "youtube"}}}})
}

// apiVideo returns the parts of a video that the API has; nil: it does not say that the video exists.
func apiVideo(v entry) object {
	content, upload := "none", "processed"
	details := object{}
	start := func(name string, at time.Time) {
		if !at.IsZero() {
			details[name] = at.UTC().Format(time.RFC3339)
		}
	}
	start("scheduledStartTime", v.Scheduled)
	switch v.State {
	case Private, Removed, Unavailable:
		return nil
	case Ordinary:
		return object{"snippet": object{"title": v.Title, "liveBroadcastContent": content}, "status": object{"uploadStatus": upload, "privacyStatus": "public"}}
	case Upcoming:
		content, upload = "upcoming", "uploaded"
	case Premiere:
		content = "upcoming"
	case Ended, PostLive, Archived, NoRecording:
		start("actualStartTime", v.Started)
		start("actualEndTime", time.Now())
	default: // live; what refuses one address or one client does not concern the API
		content, upload = "live", "uploaded"
		start("actualStartTime", v.Started)
		if v.LateIndex {
			content = "upcoming"
		}
	}
	return object{
		"snippet":              object{"title": v.Title, "channelId": DefaultChannelID, "liveBroadcastContent": content},
		"liveStreamingDetails": details,
		"status":               object{"uploadStatus": upload, "privacyStatus": "public"},
	}
}
