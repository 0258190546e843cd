package ytdlp

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Limits on what is taken over from yt-dlp's answer.
const (
	MaxRenditions = 200     // more are left out
	MaxURL        = 8 << 10 // bytes; a rendition with a longer URL is left out
)

// video is what is read of yt-dlp's JSON. Numbers are floats because Python
// writes some of them so.
type video struct {
	ID         string   `json:"id"`
	LiveStatus string   `json:"live_status"` // is_live, is_upcoming, post_live, was_live, not_live or null
	IsLive     *bool    `json:"is_live"`
	Release    float64  `json:"release_timestamp"` // Unix seconds: the scheduled, later the actual start
	Formats    []format `json:"formats"`
}

type format struct {
	URL         string  `json:"url"`
	ManifestURL string  `json:"manifest_url"` // of the master playlist or MPD it was found in
	Protocol    string  `json:"protocol"`
	Height      float64 `json:"height"`
	TBR         float64 `json:"tbr"` // kbit/s; null for sound that has a playlist of its own
	VideoCodec  *string `json:"vcodec"`
	AudioCodec  *string `json:"acodec"`
	DRM         any     `json:"has_drm"` // true, false, null, or "maybe" for all of a master that has some

	// How a sound compares with the others; see sounds.
	Language           *string  `json:"language"`
	LanguagePreference *float64 `json:"language_preference"`
	SourcePreference   *float64 `json:"source_preference"`
}

// decode reads the one JSON object that yt-dlp writes. An answer about another
// video (a paid film's trailer) is an error: it must not be taken for this
// one's.
func decode(videoID string, stdout []byte) (*video, error) {
	var v video
	if err := json.Unmarshal(stdout, &v); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, fmt.Errorf("field %s is a %s", wrong.Field, wrong.Value)
		}
		return nil, err
	}
	if v.ID != videoID {
		return nil, fmt.Errorf("it is about %q", v.ID)
	}
	return &v, nil
}

// hls tells a format that can be watched: a media playlist without DRM.
func (f format) isHLS() bool {
	return strings.HasPrefix(f.Protocol, "m3u8") && !f.hasDRM() && isWebURL(f.URL)
}

// dash tells a format whose MPD can be watched. Only the URL
// of the MPD is used: the watcher reads it again and again.
func (f format) isDASH() bool {
	return strings.HasPrefix(f.Protocol, "http_dash_segments") && !f.hasDRM() && isWebURL(f.ManifestURL)
}

func (f format) hasDRM() bool {
	drm, _ := f.DRM.(bool)
	return drm
}

// media tells a format with picture or sound from a storyboard.
func (f format) isMedia() bool {
	return f.Protocol != "mhtml" && (f.hasVideo() || f.hasAudio())
}

func (f format) hasVideo() bool { return hasTrack(f.VideoCodec) }
func (f format) hasAudio() bool { return hasTrack(f.AudioCodec) }

// carries reads a codec: "none" is the only way yt-dlp says that a track is
// not there; null means that the playlist did not say.
func hasTrack(codec *string) bool { return codec == nil || *codec != "none" }

// renditions lists the HLS formats that can be watched and the master playlist
// of the first that names one. Without HLS it gives the MPD of the first DASH
// format.
func (v *video) renditions() (list []watch.Rendition, manifest string) {
	sounds, mpd := v.sounds(), ""
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
			Alternate: sounds[f.hasVideo()].alternate(f),
		})
		if manifest == "" && isWebURL(f.ManifestURL) {
			manifest = f.ManifestURL
		}
	}
	if len(list) == 0 {
		manifest = mpd
	}
	return list, manifest
}

// playable tells whether YouTube handed out any media at all, of whatever kind.
func (v *video) playable() bool {
	return slices.ContainsFunc(v.Formats, format.isMedia)
}

// release is the start, zero when unknown or beyond what RFC 3339 can say.
func (v *video) release() time.Time {
	const year10000 = 253402300800
	if v.Release < 1 || v.Release >= year10000 {
		return time.Time{}
	}
	return time.Unix(int64(v.Release), 0).UTC()
}

// whole rounds a size to an int that any platform and JSON reader can hold.
func roundToInt(f float64) int {
	if f < 0 || f > math.MaxInt32 {
		return 0
	}
	return int(math.Round(f))
}

// mediaURL admits what may be fetched: absolute http and https.
func isWebURL(s string) bool {
	if s == "" || len(s) > MaxURL {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
