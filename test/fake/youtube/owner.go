package youtube

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The secrets that the token endpoint accepts, and the stream key, which nobody but the owner may see.
const (
	OAuthClientID     = "123456789012-forTestsOnly.apps.googleusercontent.com"
	OAuthClientSecret = "GOCSPX-secretOfTheClientForTestsOnly"
	RefreshToken      = "1//refreshTokenOfAnOwnerForTestsOnly"
	StreamKey         = "abcd-efgh-stream-key-forTests"

	// AccessPrefix is how every access token begins.
	AccessPrefix = "ya29.accessTokenForTestsOnly"
)

// Issue is a configuration issue, as liveStreams.list has it.
type Issue struct {
	Type        string `json:"type"`
	Severity    string `json:"severity"`
	Reason      string `json:"reason"`
	Description string `json:"description"`
}

// Signal is what the Live Streaming API says of a video to its owner.
type Signal struct {
	LifeCycle string // default live
	Stream    string // streamStatus, default active
	Health    string // status of healthStatus, default good
	Issues    []Issue
}

// owner is the owner of all videos that have a Signal.
type owner struct {
	signals map[string]Signal
	refusal string // of the token endpoint; empty: none
	access  int    // access tokens that were given; the newest counts
	keys    int    // answers that had a stream key
}

// SetSignal makes a video one of the owner, or changes what the API says of it.
func (y *Server) SetSignal(id string, s Signal) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.owner.signals == nil {
		y.owner.signals = map[string]Signal{}
	}
	y.owner.signals[id] = s
}

// RefuseOwner lets the token endpoint refuse the login from now on, such as for invalid_grant, and forgets the access tokens. An
// empty error accepts it again.
func (y *Server) RefuseOwner(err string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.owner.refusal = err
	y.owner.access++
}

// StreamKeysGiven returns how many answers had a stream key, because somebody asked for part=cdn.
func (y *Server) StreamKeysGiven() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.owner.keys
}

// token answers the token endpoint of Google's OAuth.
func (y *Server) token(w http.ResponseWriter, r *http.Request) {
	refuse := func(code int, err, description string) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(code)
		writeJSON(w, object{"error": err, "error_description": description})
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	switch form := r.PostFormValue; {
	case form("grant_type") != "refresh_token":
		refuse(http.StatusBadRequest, "unsupported_grant_type", "Invalid grant_type")
	case form("client_id") != OAuthClientID || form("client_secret") != OAuthClientSecret:
		refuse(http.StatusUnauthorized, "invalid_client", "The OAuth client was not found.")
	case form("refresh_token") != RefreshToken:
		refuse(http.StatusBadRequest, "invalid_grant", "Bad Request")
	case y.owner.refusal != "":
		refuse(http.StatusBadRequest, y.owner.refusal, "Token has been expired or revoked.")
	default:
		y.owner.access++
		writeJSON(w, object{"access_token": y.owner.accessToken(), "expires_in": 3599, "scope": "https://www.googleapis.com/auth/youtube.readonly", "token_type": "Bearer"})
	}
}

func (o owner) accessToken() string { return fmt.Sprint(AccessPrefix, o.access) }

// refuseOwner answers a call of the Live Streaming API that is refused, and reports whether it did.
func (y *Server) refuseOwner(w http.ResponseWriter, r *http.Request, selectors ...string) bool {
	y.mu.Lock()
	known := y.owner.access > 0 && r.Header.Get("Authorization") == "Bearer "+y.owner.accessToken()
	y.mu.Unlock()
	given := slices.DeleteFunc(selectors, func(name string) bool { return !r.URL.Query().Has(name) })
	switch {
	case !known:
		refuseCall(w, http.StatusUnauthorized, "UNAUTHENTICATED", "authError")
	case len(given) != 1:
		refuseCall(w, http.StatusBadRequest, "INVALID_ARGUMENT", "incompatibleParameters")
	default:
		reason := y.refuse(APIKey, 1)
		if reason == "" {
			return false
		}
		refuseCall(w, http.StatusForbidden, "PERMISSION_DENIED", reason)
	}
	return true
}

// liveBroadcasts answers liveBroadcasts.list.
func (y *Server) liveBroadcasts(w http.ResponseWriter, r *http.Request) {
	if y.refuseOwner(w, r, "mine", "id", "broadcastStatus") {
		return
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	var ids []string
	for id, s := range y.owner.signals {
		if s.LifeCycle != "complete" && s.LifeCycle != "ready" || r.URL.Query().Get("broadcastStatus") != "active" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	items := []object{}
	for _, id := range ids {
		item := object{"kind": "youtube#liveBroadcast", "id": id}
		if hasPart(r, "status") {
			item["status"] = object{"lifeCycleStatus": cmp.Or(y.owner.signals[id].LifeCycle, "live"), "privacyStatus": "unlisted"}
		}
		if hasPart(r, "contentDetails") {
			item["contentDetails"] = object{"boundStreamId": "stream-of-" + id}
		}
		items = append(items, item)
	}
	writeJSON(w, object{"kind": "youtube#liveBroadcastListResponse", "items": items})
}

// liveStreams answers liveStreams.list.
func (y *Server) liveStreams(w http.ResponseWriter, r *http.Request) {
	if y.refuseOwner(w, r, "mine", "id") {
		return
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	items := []object{}
	for streamID := range strings.SplitSeq(r.URL.Query().Get("id"), ",") {
		s, is := y.owner.signals[strings.TrimPrefix(streamID, "stream-of-")]
		if !is {
			continue
		}
		item := object{"kind": "youtube#liveStream", "id": streamID}
		if hasPart(r, "status") {
			item["status"] = object{"streamStatus": cmp.Or(s.Stream, "active"), "healthStatus": object{
				"status": cmp.Or(s.Health, "good"), "lastUpdateTimeSeconds": fmt.Sprint(time.Now().Unix()), "configurationIssues": append([]Issue{}, s.Issues...),
			}}
		}
		if hasPart(r, "cdn") {
			item["cdn"] = object{"ingestionType": "rtmp", "ingestionInfo": object{"streamName": StreamKey}}
			y.owner.keys++
		}
		items = append(items, item)
	}
	writeJSON(w, object{"kind": "youtube#liveStreamListResponse", "items": items})
}

func hasPart(r *http.Request, part string) bool {
	return slices.Contains(strings.Split(r.URL.Query().Get("part"), ","), part)
}
