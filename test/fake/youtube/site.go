package youtube

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// The values that yt-dlp reads from the pages before it calls the player API.
const (
	apiKey       = "AIzaSyStandInForYouTubeDoesNotCheckKeys"
	playerScript = "/s/player/0123abcd/player_es6.vflset/en_US/base.js"
	sts          = 20400 // the script's "signature timestamp"
)

// site returns the handler of YouTube's own pages and of the media.
func (y *Server) site() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /watch", y.watchPage)
	mux.HandleFunc("POST /youtubei/v1/player", y.playerAPI)
	mux.HandleFunc("POST /youtubei/v1/next", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, initialData) })
	mux.HandleFunc("GET /oembed", y.oembed)
	mux.HandleFunc("GET www.googleapis.com/youtube/v3/videos", y.videosList)
	mux.HandleFunc("GET www.googleapis.com/youtube/v3/channels", y.withKey(y.apiChannels))
	mux.HandleFunc("GET www.googleapis.com/youtube/v3/playlistItems", y.withKey(y.playlistItems))
	mux.HandleFunc("GET www.googleapis.com/youtube/v3/liveBroadcasts", y.liveBroadcasts)
	mux.HandleFunc("GET www.googleapis.com/youtube/v3/liveStreams", y.liveStreams)
	mux.HandleFunc("POST oauth2.googleapis.com/token", y.token)
	mux.HandleFunc("GET /s/player/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "var config={signatureTimestamp:%d};\n", sts)
	})
	mux.HandleFunc("GET /iframe_api", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `var scriptUrl = 'https:\/\/www.youtube.com\/s\/player\/0123abcd\/www-widgetapi.vflset\/www-widgetapi.js';`)
	})
	for _, page := range []string{"GET /tv", "GET /embed/"} {
		mux.HandleFunc(page, func(w http.ResponseWriter, _ *http.Request) { writePage(w, "") })
	}
	y.channelSite(mux)
	mux.HandleFunc("GET /api/manifest/hls_variant/", y.media("/api/manifest/hls_variant/", serveMaster))
	mux.HandleFunc("GET /api/manifest/hls_playlist/", y.media("/api/manifest/hls_playlist/", servePlaylist))
	mux.HandleFunc("GET /videoplayback/", y.media("/videoplayback/", serveSegment))
	mux.HandleFunc("GET "+originPrefix, y.origin)
	mux.HandleFunc("GET /videoplayback", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "video/mp4")
	})
	return mux
}

func (y *Server) watchPage(w http.ResponseWriter, r *http.Request) {
	response, err := json.Marshal(y.playerResponse(r.URL.Query().Get("v"), webClient, y.signedIn(w, r)))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	data, err := json.Marshal(initialData)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writePage(w, fmt.Sprintf("<script>var ytInitialPlayerResponse = %s;var meta = document.createElement('meta');</script>\n"+
		"<script>var ytInitialData = %s;</script>\n", response, data))
}

func (y *Server) playerAPI(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, y.playerResponse(r.Header.Get(subjectHeader), askedIn(r).Context.Client.Name, y.signedIn(w, r)))
}

// oembed answers whether a video exists (section 7.4, method 2): 200 for one that
// can be embedded, 403 for a private one, 404 for none.
func (y *Server) oembed(w http.ResponseWriter, r *http.Request) {
	_, id := classify(r)
	v := y.video(id)
	_, c, _ := y.channelOf(v.channel())
	switch v.State {
	case Removed, Unavailable:
		http.Error(w, "Not Found", http.StatusNotFound)
	case Private:
		http.Error(w, "Forbidden", http.StatusForbidden)
	default:
		writeJSON(w, map[string]any{
			"title": v.Title, "author_name": c.Title, "author_url": "https://www.youtube.com/" + c.Handle, "type": "video",
			"height": 113, "width": 200, "version": "1.0", "provider_name": "YouTube", "provider_url": "https://www.youtube.com/",
			"html": `<iframe width="200" height="113" src="https://www.youtube.com/embed/` + id + `?feature=oembed"></iframe>`,
		})
	}
}

var initialData = map[string]any{"contents": map[string]any{"twoColumnWatchNextResults": map[string]any{"results": map[string]any{}}}}

// writePage writes a page with the configuration that every page has.
func writePage(w http.ResponseWriter, scripts string) {
	config, err := json.Marshal(map[string]any{
		"INNERTUBE_API_KEY": apiKey,
		"INNERTUBE_CONTEXT": map[string]any{"client": map[string]any{
			"clientName": "WEB", "clientVersion": "2.20261120.00.00", "hl": "en", "gl": "US", "visitorData": visitor,
		}},
		"INNERTUBE_CLIENT_VERSION": "2.20261120.00.00",
		"VISITOR_DATA":             visitor,
		"PLAYER_JS_URL":            playerScript,
		"STS":                      sts,
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(w, "<!DOCTYPE html><html><head><title>YouTube</title>\n<script>ytcfg.set(%s);</script>\n%s</head><body></body></html>\n", config, scripts)
}

const visitor = "CgtTdGFuZEluMDAwMSjA"

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_ = json.NewEncoder(w).Encode(v)
}
