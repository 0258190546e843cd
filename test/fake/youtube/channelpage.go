package youtube

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

// streamsParams selects the tab of streams in a browse request.
const streamsParams = "EgdzdHJlYW1z8gYECgJ6AA=="

// consentPage is where YouTube sends a European browser without a decision about cookies.
const consentPage = "https://consent.youtube.com/m?continue=https%3A%2F%2Fwww.youtube.com%2F&gl=DE&m=0&pc=yt&hl=en&src=1"

// Consent redirects to the page that asks for consent to cookies.
func Consent() httpfault.Fault { return httpfault.Redirect(consentPage) }

// channelSite adds the pages of channels and the API behind them.
func (y *Server) channelSite(mux *http.ServeMux) {
	mux.HandleFunc("GET /", y.channelPage)
	mux.HandleFunc("POST /youtubei/v1/navigation/resolve_url", y.resolveURL)
	mux.HandleFunc("POST /youtubei/v1/browse", y.browse)
	mux.HandleFunc("GET /m", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!DOCTYPE html><html><head><title>Before you continue to YouTube</title></head><body><form action=\"https://consent.youtube.com/save\"></form></body></html>\n")
	})
}

// pageOf returns the channel that the path of a page names, its id, handle or name, and which of its pages.
func pageOf(path string) (address, tab string) {
	for _, kind := range []string{"/channel", "/c", "/user"} {
		if rest, is := strings.CutPrefix(path, kind+"/"); is {
			path = rest
		}
	}
	address, tab, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return address, tab
}

// channelPage answers with home, or with the tab of streams; for /live, with the watch page of a stream that
// is live or to come, if there is one.
func (y *Server) channelPage(w http.ResponseWriter, r *http.Request) {
	address, tab := pageOf(r.URL.Path)
	id, c, exists := y.channelOf(address)
	if !exists {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<!DOCTYPE html><html><head><title>404 Not Found</title></head><body></body></html>\n")
		return
	}
	if video := y.liveOf(id); tab == "live" && video != "" {
		y.livePage(w, video)
		return
	}
	writeInitialData(w, "", y.tabs(id, c, tab == "streams"))
}

// livePage answers with the watch page of a video.
func (y *Server) livePage(w http.ResponseWriter, video string) {
	response, err := json.Marshal(y.playerResponse(video, webClient, false))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeInitialData(w, fmt.Sprintf("<link rel=\"canonical\" href=\"%s\">\n<script>var ytInitialPlayerResponse = %s;var meta = document.createElement('meta');</script>\n",
		html.EscapeString(y.URL(video)), response),
		object{"contents": initialData["contents"], "currentVideoEndpoint": object{"watchEndpoint": object{"videoId": video}}})
}

// writeInitialData writes a page with ytInitialData, and with more before it.
func writeInitialData(w http.ResponseWriter, more string, data object) {
	text, err := json.Marshal(data)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writePage(w, fmt.Sprintf("%s<script>var ytInitialData = %s;</script>\n", more, text))
}

// resolveURL says which request a page stands for.
func (y *Server) resolveURL(w http.ResponseWriter, r *http.Request) {
	asked := askedIn(r)
	u, err := url.Parse(asked.URL)
	if err != nil {
		apiError(w, http.StatusBadRequest, "Request contains an invalid argument.", "INVALID_ARGUMENT")
		return
	}
	address, tab := pageOf(u.Path)
	id, _, exists := y.channelOf(address)
	if !exists {
		apiError(w, http.StatusNotFound, "Requested entity was not found.", "NOT_FOUND")
		return
	}
	endpoint := object{"browseEndpoint": object{"browseId": id, "params": "EghmZWF0dXJlZPIGBAoCMgA="}}
	switch video := y.liveOf(id); {
	case tab == "streams":
		endpoint = object{"browseEndpoint": object{"browseId": id, "params": streamsParams}}
	case tab == "live" && video != "":
		endpoint = object{"watchEndpoint": object{"videoId": video}}
	}
	writeJSON(w, object{"endpoint": endpoint})
}

// browse answers a request for a tab, or for what follows a page of it.
func (y *Server) browse(w http.ResponseWriter, r *http.Request) {
	asked := askedIn(r)
	if asked.Context.Client.Name == "" || asked.Context.Client.Version == "" {
		apiError(w, http.StatusBadRequest, "Request contains an invalid argument.", "INVALID_ARGUMENT")
		return
	}
	id, c, exists := y.channelOf(asked.channel())
	if !exists {
		apiError(w, http.StatusNotFound, "Requested entity was not found.", "NOT_FOUND")
		return
	}
	if asked.Continuation != "" {
		writeJSON(w, object{"onResponseReceivedActions": []object{{
			"appendContinuationItemsAction": object{"continuationItems": y.page(id, c, asked.Continuation)},
		}}})
		return
	}
	params, _ := url.QueryUnescape(asked.Params)
	writeJSON(w, y.tabs(id, c, params == streamsParams))
}

func apiError(w http.ResponseWriter, code int, message, status string) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object{"error": object{"code": code, "message": message, "status": status}})
}

// asked is the body of a request of the pages' own API.
type asked struct {
	VideoID      string `json:"videoId"`
	BrowseID     string `json:"browseId"`
	Params       string `json:"params"`
	Continuation string `json:"continuation"`
	URL          string `json:"url"`
	Context      struct {
		Client struct {
			Name    string `json:"clientName"`
			Version string `json:"clientVersion"`
		} `json:"client"`
	} `json:"context"`
}

// channel returns the channel that a request is about, its id or its handle.
func (a asked) channel() string {
	switch {
	case a.Continuation != "":
		id, _ := parseContinuation(a.Continuation)
		return id
	case a.URL != "":
		u, err := url.Parse(a.URL)
		if err != nil {
			return ""
		}
		address, _ := pageOf(u.Path)
		return address
	}
	return a.BrowseID
}

// subject returns the video or channel that a request is about.
func (a asked) subject() string { return cmp.Or(a.VideoID, a.channel()) }

// tabs returns the page of a channel: the tab of streams, or home.
func (y *Server) tabs(id string, c Channel, streams bool) object {
	if c.Alert != "" {
		return object{"alerts": []object{{"alertRenderer": object{"type": "ERROR", "text": object{"simpleText": c.Alert}}}}, "contents": object{}}
	}
	address := "/" + c.Handle
	if c.Handle == "" {
		address = "/channel/" + id
	}
	home := tab("Home", address+"/featured")
	page := []object{home, tab("Videos", address+"/videos")}
	selected, content := home, object{"sectionListRenderer": object{"contents": []object{}}}
	if c.Answer != NoStreamsTab {
		live := tab("Live", address+"/streams")
		page = append(page, live)
		if streams && c.Answer != HomeInstead {
			selected, content = live, object{"richGridRenderer": object{"contents": y.page(id, c, "")}}
		}
	}
	selected["selected"], selected["content"] = true, content
	var rendered []object
	for _, t := range page {
		rendered = append(rendered, object{"tabRenderer": t})
	}
	metadata := object{"title": c.Title, "externalId": id, "channelUrl": "https://www.youtube.com/channel/" + id}
	if c.Handle != "" {
		metadata["vanityChannelUrl"] = "http://www.youtube.com/" + c.Handle
	}
	return object{
		"metadata": object{"channelMetadataRenderer": metadata},
		"contents": object{"twoColumnBrowseResultsRenderer": object{"tabs": rendered}},
	}
}

func tab(title, path string) object {
	return object{"title": title, "endpoint": object{"commandMetadata": object{"webCommandMetadata": object{"url": path}}}}
}

// page returns the entries of a page of the tab, with a continuation if more follow. continuation
// is what leads to it; empty: it is the first.
func (y *Server) page(id string, c Channel, continuation string) []object {
	_, from := parseContinuation(continuation)
	if c.Answer == OnlyContinuation && continuation == "" {
		return []object{continuationItem(id, 0)}
	}
	all := y.streamsOf(id)
	from = min(from, len(all))
	until := min(from+c.PageSize, len(all))
	items := []object{}
	for _, l := range all[from:until] {
		content := object{"lockupViewModel": l.lockup()}
		if c.Layout == Renderer {
			content = object{"videoRenderer": l.renderer()}
		}
		items = append(items, object{"richItemRenderer": object{"content": content}})
	}
	if until < len(all) {
		items = append(items, continuationItem(id, until))
	}
	return items
}

func continuationItem(id string, from int) object {
	token := base64.RawURLEncoding.EncodeToString([]byte(id + " " + strconv.Itoa(from)))
	return object{"continuationItemRenderer": object{
		"trigger":              "CONTINUATION_TRIGGER_ON_ITEM_SHOWN",
		"continuationEndpoint": object{"continuationCommand": object{"token": token, "request": "CONTINUATION_REQUEST_TYPE_BROWSE"}},
	}}
}

func parseContinuation(token string) (id string, from int) {
	text, _ := base64.RawURLEncoding.DecodeString(token)
	id, number, _ := strings.Cut(string(text), " ")
	from, _ = strconv.Atoi(number)
	return id, from
}

// startText is the start of a stream as the pages say it, in the zone of whoever asks.
func (l listed) startText() string {
	word := "Scheduled for "
	if l.State == Premiere {
		word = "Premieres "
	}
	return word + l.Scheduled.UTC().Format("1/2/06, 3:04 PM")
}

// lockup returns an entry of the present layout.
func (l listed) lockup() object {
	part := func(text string) object { return object{"text": object{"content": text}} }
	var badge object
	var row []object
	switch l.mark {
	case isUpcoming:
		badge = object{"text": "Upcoming", "badgeStyle": "THUMBNAIL_OVERLAY_BADGE_STYLE_DEFAULT"}
		row = append(row, part("12 waiting"))
		if !l.Scheduled.IsZero() {
			row = append(row, part(l.startText()))
		}
	case isLive:
		badge = object{"text": "LIVE", "badgeStyle": "THUMBNAIL_OVERLAY_BADGE_STYLE_LIVE"}
		row = append(row, part("123 watching"))
	default:
		badge = object{"text": "1:02:03", "badgeStyle": "THUMBNAIL_OVERLAY_BADGE_STYLE_DEFAULT"}
		ago := part("Streamed 2 days ago")
		ago["accessibilityLabel"] = "Streamed 2 days ago"
		row = append(row, part("1.2K views"), ago)
	}
	rows := []object{{"metadataParts": row}}
	if l.isMembersOnly() {
		rows = append(rows, object{"badges": []object{{"badgeViewModel": object{"badgeText": "Members only", "badgeStyle": "BADGE_MEMBERS_ONLY"}}}})
	}
	return object{
		"contentId": l.id, "contentType": "LOCKUP_CONTENT_TYPE_VIDEO",
		"contentImage": object{"thumbnailViewModel": object{"overlays": []object{
			{"thumbnailBottomOverlayViewModel": object{"badges": []object{{"thumbnailBadgeViewModel": badge}}}},
		}}},
		"metadata": object{"lockupMetadataViewModel": object{
			"title":    object{"content": l.Title},
			"metadata": object{"contentMetadataViewModel": object{"metadataRows": rows}},
		}},
	}
}

// renderer returns an entry of the layout of before.
func (l listed) renderer() object {
	v := object{"videoId": l.id, "title": object{"runs": []object{{"text": l.Title}}}}
	style := "DEFAULT"
	switch l.mark {
	case isUpcoming:
		style = "UPCOMING"
		start := l.Scheduled
		if start.IsZero() {
			start = time.Now().Add(time.Hour)
		}
		v["upcomingEventData"] = object{"startTime": strconv.FormatInt(start.Unix(), 10), "isReminderSet": false}
	case isLive:
		style = "LIVE"
		v["viewCountText"] = object{"runs": []object{{"text": "123"}, {"text": " watching"}}}
	default:
		v["publishedTimeText"] = object{"simpleText": "Streamed 2 days ago"}
		v["lengthText"] = object{"simpleText": "1:02:03"}
	}
	v["thumbnailOverlays"] = []object{{"thumbnailOverlayTimeStatusRenderer": object{"style": style, "text": object{"simpleText": style}}}}
	if l.isMembersOnly() {
		v["badges"] = []object{{"metadataBadgeRenderer": object{"style": "BADGE_STYLE_TYPE_MEMBERS_ONLY", "label": "Members only"}}}
	}
	return v
}
