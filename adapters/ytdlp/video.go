package ytdlp

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
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
	ManifestURL string  `json:"manifest_url"` // of the master playlist it was found in
	Protocol    string  `json:"protocol"`
	Height      float64 `json:"height"`
	TBR         float64 `json:"tbr"` // kbit/s
	VideoCodec  *string `json:"vcodec"`
	AudioCodec  *string `json:"acodec"`
	DRM         any     `json:"has_drm"`
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
func (f format) hls() bool {
	drm, _ := f.DRM.(bool)
	return strings.HasPrefix(f.Protocol, "m3u8") && !drm && mediaURL(f.URL)
}

// media tells a format with picture or sound from a storyboard.
func (f format) media() bool {
	return f.Protocol != "mhtml" && (carries(f.VideoCodec) || carries(f.AudioCodec))
}

// carries reads a codec: "none" is the only way yt-dlp says that a track is
// not there; null means that the playlist did not say.
func carries(codec *string) bool { return codec == nil || *codec != "none" }

// renditions lists the formats that can be watched and the master playlist of
// the first that names one.
func (v *video) renditions() (list []watch.Rendition, master string) {
	for _, f := range v.Formats {
		if !f.hls() || len(list) == MaxRenditions {
			continue
		}
		list = append(list, watch.Rendition{
			URL:       f.URL,
			Height:    whole(f.Height),
			Bandwidth: whole(f.TBR * 1000),
			HasVideo:  carries(f.VideoCodec),
			HasAudio:  carries(f.AudioCodec),
		})
		if master == "" && mediaURL(f.ManifestURL) {
			master = f.ManifestURL
		}
	}
	return list, master
}

// otherMedia tells whether there is something to play that is not HLS.
func (v *video) otherMedia() bool {
	for _, f := range v.Formats {
		if f.media() && !strings.HasPrefix(f.Protocol, "m3u8") {
			return true
		}
	}
	return false
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
func whole(f float64) int {
	if f < 0 || f > math.MaxInt32 {
		return 0
	}
	return int(math.Round(f))
}

// mediaURL admits what may be fetched: absolute http and https.
func mediaURL(s string) bool {
	if s == "" || len(s) > MaxURL {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
