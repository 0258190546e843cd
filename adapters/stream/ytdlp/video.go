package ytdlp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Limits on yt-dlp's output.
const (
	MaxRenditions = 200     // more are left out
	MaxURL        = 8 << 10 // bytes; a rendition with a longer URL is left out
)

// video holds the fields of yt-dlp's JSON that are used. Numbers are floats because
// Python writes some of them as floats.
type video struct {
	ID         string   `json:"id"`
	DisplayID  string   `json:"display_id"`
	LiveStatus string   `json:"live_status"` // is_live, is_upcoming, post_live, was_live, not_live or null
	IsLive     *bool    `json:"is_live"`
	FullTitle  any      `json:"fulltitle"`         // text, unless a site changes its pages
	Title      any      `json:"title"`             // as FullTitle; yt-dlp adds the time of day to that of a live stream
	Channel    any      `json:"channel"`           // as FullTitle
	Uploader   any      `json:"uploader"`          // as FullTitle; pages of some videos name no channel
	Release    float64  `json:"release_timestamp"` // Unix seconds: the scheduled, later the actual start
	Timestamp  float64  `json:"timestamp"`         // Unix seconds; see Site.Place
	Text       any      `json:"description"`       // as FullTitle; see Site.Place
	Formats    []format `json:"formats"`

	Subtitles         json.RawMessage `json:"subtitles"`          // by language, lists of subtitle; a site's page decides their form
	AutomaticCaptions json.RawMessage `json:"automatic_captions"` // as Subtitles; also those that a manifest of YouTube lists
}

// subtitle is one form of the captions in a language.
type subtitle struct {
	URL      string `json:"url"`
	Protocol string `json:"protocol"`
}

type format struct {
	URL         string  `json:"url"`
	ManifestURL string  `json:"manifest_url"` // of the master playlist or MPD that lists the format
	Protocol    string  `json:"protocol"`
	Height      float64 `json:"height"`
	TBR         float64 `json:"tbr"` // kbit/s; null for audio with its own playlist
	VideoCodec  *string `json:"vcodec"`
	AudioCodec  *string `json:"acodec"`
	DRM         any     `json:"has_drm"` // true, false, null, or "maybe": the master has DRM in some format

	// What requests for the media carry. Cookies are secret; sites and extractors decide the form.
	HTTPHeaders json.RawMessage `json:"http_headers"`
	Cookies     json.RawMessage `json:"cookies"`

	// How the audio compares with that of other formats; see audioGroup.
	Language           *string  `json:"language"`
	LanguagePreference *float64 `json:"language_preference"`
	SourcePreference   *float64 `json:"source_preference"`
}

// decode reads the JSON object that yt-dlp prints. An object about another video (a paid
// film's trailer) is an error.
func decode(site pythontool.Site, streamID string, stdout []byte) (*video, error) {
	var v video
	if err := json.Unmarshal(stdout, &v); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, fmt.Errorf("field %s is a %s", wrong.Field, wrong.Value)
		}
		return nil, err
	}
	about := v.ID
	if site.Place {
		about, v.Release, v.FullTitle = v.DisplayID, v.Timestamp, v.Text
	}
	if about != streamID {
		return nil, fmt.Errorf("it is about %q", about)
	}
	return &v, nil
}

// isHLS reports whether the format is a media playlist without DRM.
func (f format) isHLS() bool {
	return strings.HasPrefix(f.Protocol, "m3u8") && !f.hasDRM() && isWebURL(f.URL)
}

// isDASH reports whether the format comes from an MPD and has no DRM. Only the URL of the
// MPD is used: the watcher reads it periodically.
func (f format) isDASH() bool {
	return strings.HasPrefix(f.Protocol, "http_dash_segments") && !f.hasDRM() && isWebURL(f.ManifestURL)
}

func (f format) hasDRM() bool {
	drm, _ := f.DRM.(bool)
	return drm
}

// isMedia reports whether the format has video or audio, unlike a storyboard.
func (f format) isMedia() bool {
	return f.Protocol != "mhtml" && (f.hasVideo() || f.hasAudio())
}

func (f format) hasVideo() bool { return hasTrack(f.VideoCodec) }
func (f format) hasAudio() bool { return hasTrack(f.AudioCodec) }

// hasTrack reports whether a codec field allows a track. Only "none" excludes it: null
// means that the playlist does not say.
func hasTrack(codec *string) bool { return codec == nil || *codec != "none" }

// renditions returns the HLS formats without DRM and the URL of the first master
// playlist. Without HLS it returns the MPD of the first DASH format.
func (v *video) renditions() (list []watch.Rendition, manifest string) {
	groups, mpd := v.audioGroups(), ""
	for _, f := range v.Formats {
		if mpd == "" && f.isDASH() {
			mpd = f.ManifestURL
		}
		if !f.isHLS() || len(list) == MaxRenditions {
			continue
		}
		list = append(list, watch.Rendition{
			URL:       f.URL,
			Height:    roundToInt(f.Height),
			Bandwidth: roundToInt(f.TBR * 1000),
			HasVideo:  f.hasVideo(),
			HasAudio:  f.hasAudio(),
			Alternate: groups[f.hasVideo()].isAlternate(f),
		})
		if manifest == "" && isWebURL(f.ManifestURL) {
			manifest = f.ManifestURL
		}
	}
	if len(list) == 0 {
		return nil, mpd
	}
	if captions := v.captions(); captions != "" {
		list = append(list, watch.Rendition{URL: captions, HasCaptions: true})
	}
	return list, manifest
}

// captions returns the URL of the HLS playlist with captions as text, of the first language in the
// order of the alphabet; empty without one.
func (v *video) captions() string {
	for _, list := range []json.RawMessage{v.Subtitles, v.AutomaticCaptions} {
		var all map[string][]subtitle
		if json.Unmarshal(list, &all) != nil {
			continue
		}
		for _, language := range slices.Sorted(maps.Keys(all)) {
			for _, s := range all[language] {
				if strings.HasPrefix(s.Protocol, "m3u8") && isWebURL(s.URL) {
					return s.URL
				}
			}
		}
	}
	return ""
}

// expiry returns when the first of an answer's URLs expires; zero: unknown.
func expiry(list []watch.Rendition, manifest string) time.Time {
	urls := []string{manifest}
	for _, r := range list {
		urls = append(urls, r.URL)
	}
	return pythontool.Expiry(urls...)
}

// describe adds what people know the stream by. A value that is no text is left out: no
// watch may fail for it.
func (v *video) describe(site pythontool.Site, answer watch.Resolution) watch.Resolution {
	if site.Place && v.ID != v.DisplayID { // yt-dlp falls back to that of the place
		answer.Broadcast = label(v.ID)
	}
	answer.Title, answer.Channel = cmp.Or(label(v.FullTitle), label(v.Title)), cmp.Or(label(v.Channel), label(v.Uploader))
	if answer.State == watch.Upcoming {
		answer.ScheduledStart = v.release()
	}
	return answer
}

// maxLabel limits a title or the name of a channel, in bytes.
const maxLabel = 400

// label returns a text of a page, cleaned and shortened.
func label(value any) string {
	text, _ := value.(string)
	return monitor.CleanLine(text[:min(len(text), maxLabel)])
}

// playable reports whether the site listed any media, of any kind.
func (v *video) playable() bool {
	return slices.ContainsFunc(v.Formats, format.isMedia)
}

// release returns the start, or zero if it is unknown.
func (v *video) release() time.Time { return unixTime(v.Release) }

// unixTime returns a time in Unix seconds, or zero if it is before 1970 or after the year 9999 (RFC 3339).
func unixTime(seconds float64) time.Time {
	const year10000 = 253402300800
	if seconds < 1 || seconds >= year10000 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0).UTC()
}

// roundToInt rounds a size. It returns 0 for what does not fit into 32 bits.
func roundToInt(f float64) int {
	if f < 0 || f > math.MaxInt32 {
		return 0
	}
	return int(math.Round(f))
}

// isWebURL reports whether s is an absolute http or https URL of at most MaxURL bytes.
func isWebURL(s string) bool {
	if s == "" || len(s) > MaxURL {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
