package dash

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/Eyevinn/dash-mpd/mpd"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// leftOut counts the representations that cannot be watched, by why.
type leftOut map[string]int

const (
	encrypted  = "encrypted (DRM)"
	notWatched = "text or images"
	trickPlay  = "for trick play"
	parameters = "to be asked for with parameters (UrlQueryInfo)"
	singleFile = "a single file (SegmentBase), which cannot be followed live"
)

// failure says why there is nothing to watch.
func (l leftOut) failure(remote bool) *watch.Failure {
	var all []string
	for _, why := range slices.Sorted(maps.Keys(l)) {
		all = append(all, fmt.Sprintf("%d %s", l[why], why))
	}
	if remote {
		all = append(all, "elements that are elsewhere (xlink), which are not followed")
	}
	if len(all) == 0 {
		return malformed("an MPD without a representation")
	}
	const most = 6
	return malformed("no representation that can be watched, only: %s", strings.Join(all[:min(len(all), most)], ", "))
}

// containers by MIME type, as far as the decoder has them.
var containers = map[string]string{
	"video/mp4": "mp4", "audio/mp4": "mp4", "application/mp4": "mp4",
	"video/mp2t": "mpegts", "audio/mp2t": "mpegts",
	"audio/aac": "aac", "audio/aacp": "aac", "audio/mpeg": "mp3", "audio/mp3": "mp3",
	"": "", // not stated
}

// Codecs by the first part of their name (RFC 6381).
var (
	videoCodecs = regexp.MustCompile(`^(?:avc[1-4]|svc1|hvc[123]|hev[123]|vp0?[89]|av01|dva[1v]|dvav|dvh[1e]|dav1|mp4v|vvc[1n]|vvi1|evc1|s263|mp2v)$`)
	audioCodecs = regexp.MustCompile(`^(?:mp4a|opus|ac-[34]|ec-[3+]|mp3|flac|alac|vorbis|dts[cehlx+-]|mhm[12]|mha[12]|iamf)$`)
	otherCodecs = regexp.MustCompile(`^(?:stpp|wvtt|ttml|dfxp|tx3g|jpeg|mjpg|png)$`)
)

var mimeTypes = regexp.MustCompile(`^[a-z0-9]{1,20}/[a-z0-9.+-]{1,40}$`)

// classify tells what is in a representation, or why it is left out.
// elsewhere: other sets of the Period have sound of their own.
func classify(live bool, one period, set *mpd.AdaptationSetType, rep *mpd.RepresentationType, elsewhere bool) (kind tracks, why string) {
	switch scheme := strange(set, rep); {
	case len(set.ContentProtections)+len(rep.ContentProtections) > 0:
		return "", encrypted
	case scheme != "":
		return "", scheme
	}
	mime := mimeType(set, rep)
	seen := strings.ToLower(string(set.ContentType))
	first, _, _ := strings.Cut(mime, "/")
	if first == "text" || first == "image" || seen == "text" || seen == "image" || mime == "application/ttml+xml" {
		return "", notWatched
	}
	if _, ok := containers[mime]; !ok {
		if !mimeTypes.MatchString(mime) {
			mime = "of an unknown type"
		}
		return "", "in a format that cannot be decoded (" + mime + ")"
	}
	if kind = kindOf(set, rep, mime, elsewhere); kind == "" {
		return "", notWatched
	}
	if live && singular(one, set, rep) {
		return "", singleFile
	}
	return kind, ""
}

// strange is why a representation is not for ordinary play.
func strange(set *mpd.AdaptationSetType, rep *mpd.RepresentationType) string {
	for _, d := range slices.Concat(set.EssentialProperties, rep.EssentialProperties) {
		switch scheme := string(d.SchemeIdUri); {
		case scheme == "http://dashif.org/guidelines/trickmode":
			return trickPlay
		case strings.HasPrefix(scheme, "urn:mpeg:dash:urlparam:"):
			return parameters
		}
	}
	return ""
}

// kindOf goes by codecs, then by MIME type and content type. Pictures of which
// nothing else is said may have their sound with them, unless it is elsewhere.
func kindOf(set *mpd.AdaptationSetType, rep *mpd.RepresentationType, mime string, elsewhere bool) tracks {
	var isVideo, isAudio, isOther bool
	for codec := range strings.SplitSeq(cmp.Or(rep.Codecs, set.Codecs), ",") {
		name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(codec)), ".")
		isVideo = isVideo || videoCodecs.MatchString(name)
		isAudio = isAudio || audioCodecs.MatchString(name)
		isOther = isOther || otherCodecs.MatchString(name)
	}
	if !isVideo && !isAudio && isOther {
		return ""
	}
	if !isVideo && !isAudio {
		stated := strings.ToLower(string(set.ContentType))
		for _, c := range set.ContentComponents {
			isVideo = isVideo || c.ContentType == "video"
			isAudio = isAudio || c.ContentType == "audio"
		}
		isVideo = isVideo || stated == "video"
		isAudio = isAudio || stated == "audio"
		switch nothing := !isVideo && !isAudio; {
		case nothing && strings.HasPrefix(mime, "audio/"):
			isAudio = true
		case nothing:
			isVideo, isAudio = true, !elsewhere
		}
	}
	switch {
	case isVideo && isAudio:
		return both
	case isVideo:
		return video
	}
	return audio
}

// hasSound tells whether a set of the Period is there for its sound.
func hasSound(one period) bool {
	return slices.ContainsFunc(one.AdaptationSets, func(set *mpd.AdaptationSetType) bool {
		return set.ContentType == "audio" || slices.ContainsFunc(set.Representations, func(rep *mpd.RepresentationType) bool {
			return strings.HasPrefix(mimeType(set, rep), "audio/")
		})
	})
}

func mimeType(set *mpd.AdaptationSetType, rep *mpd.RepresentationType) string {
	mime, _, _ := strings.Cut(cmp.Or(rep.MimeType, set.MimeType), ";")
	return strings.ToLower(strings.TrimSpace(mime))
}

// roleRank tells a main set from one of which nothing is said from one with
// another Role.
func roleRank(set *mpd.AdaptationSetType) int {
	rank := 1
	for _, role := range set.Roles {
		switch {
		case role.SchemeIdUri != "urn:mpeg:dash:role:2011":
		case role.Value == "main":
			return 2
		default:
			rank = 0
		}
	}
	return rank
}

// height is in lines; 0: not stated.
func height(set *mpd.AdaptationSetType, rep *mpd.RepresentationType) int {
	const tallest = 1 << 15
	h := cmp.Or(rep.Height, set.Height)
	if h > tallest {
		return 0
	}
	return int(h)
}
