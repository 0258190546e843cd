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

// exclusions counts the representations that cannot be watched, by reason.
type exclusions map[string]int

// Reasons for which a representation cannot be watched.
const (
	isEncrypted     = "encrypted (DRM)"
	isTextOrImage   = "text or images"
	isTrickPlay     = "for trick play"
	needsParameters = "to be requested with parameters (UrlQueryInfo)"
	isLiveFile      = "a single file (SegmentBase), which cannot be followed live"
)

// failure returns the failure of an MPD without a representation that can be
// watched. It names at most six reasons.
func (e exclusions) failure(hasRemote bool) *watch.Failure {
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(e)) {
		reasons = append(reasons, fmt.Sprintf("%d %s", e[reason], reason))
	}
	if hasRemote {
		reasons = append(reasons, "remote elements (xlink), which are not followed")
	}
	if len(reasons) == 0 {
		return malformed("an MPD without a representation")
	}
	const maxReasons = 6
	return malformed("no representation that can be watched, only: %s", strings.Join(reasons[:min(len(reasons), maxReasons)], ", "))
}

// containers maps the MIME types that can be decoded to the names of
// watch.Segment.Container.
var containers = map[string]string{
	"video/mp4": "mp4", "audio/mp4": "mp4", "application/mp4": "mp4",
	"video/mp2t": "mpegts", "audio/mp2t": "mpegts",
	"audio/aac": "aac", "audio/aacp": "aac", "audio/mpeg": "mp3", "audio/mp3": "mp3",
	"": "", // not stated: the segment's bytes tell
}

// Patterns of the first part of a codec's name (RFC 6381).
var (
	videoCodec = regexp.MustCompile(`^(?:avc[1-4]|svc1|hvc[123]|hev[123]|vp0?[89]|av01|dva[1v]|dvav|dvh[1e]|dav1|mp4v|vvc[1n]|vvi1|evc1|s263|mp2v)$`)
	audioCodec = regexp.MustCompile(`^(?:mp4a|opus|ac-[34]|ec-[3+]|mp3|flac|alac|vorbis|dts[cehlx+-]|mhm[12]|mha[12]|iamf)$`)
	otherCodec = regexp.MustCompile(`^(?:stpp|wvtt|ttml|dfxp|tx3g|jpeg|mjpg|png)$`)
)

var mimeTypePattern = regexp.MustCompile(`^[a-z0-9]{1,20}/[a-z0-9.+-]{1,40}$`)

// classify returns the tracks of a representation, or the reason why it cannot be
// watched. separateAudio says that the Period has an AdaptationSet of audio.
func classify(live bool, period timedPeriod, set *mpd.AdaptationSetType, rep *mpd.RepresentationType, separateAudio bool) (has tracks, reason string) {
	if len(set.ContentProtections)+len(rep.ContentProtections) > 0 {
		return "", isEncrypted
	}
	if reason := propertyExclusion(set, rep); reason != "" {
		return "", reason
	}
	mime := mimeType(set, rep)
	contentType := strings.ToLower(string(set.ContentType))
	major, _, _ := strings.Cut(mime, "/")
	if isCaptions(set, rep, mime) && (!live || !isSingleFile(period, set, rep)) {
		return text, ""
	}
	if major == "text" || major == "image" || contentType == "text" || contentType == "image" || mime == "application/ttml+xml" {
		return "", isTextOrImage
	}
	if _, ok := containers[mime]; !ok {
		if !mimeTypePattern.MatchString(mime) {
			mime = "of an unknown type"
		}
		return "", "in a format that cannot be decoded (" + mime + ")"
	}
	if has = tracksOf(set, rep, mime, separateAudio); has == "" {
		return "", isTextOrImage
	}
	if live && isSingleFile(period, set, rep) {
		return "", isLiveFile
	}
	return has, ""
}

// captionCodec matches the codecs of captions as text, but for TTML that consists of pictures.
var captionCodec = regexp.MustCompile(`^(?:wvtt|stpp)(?:\.|$)`)

// isCaptions reports whether a representation has captions as text that do not only translate signs.
func isCaptions(set *mpd.AdaptationSetType, rep *mpd.RepresentationType, mime string) bool {
	isForced := slices.ContainsFunc(set.Roles, func(r *mpd.DescriptorType) bool { return strings.HasPrefix(r.Value, "forced") })
	switch mime {
	case "text/vtt", "application/ttml+xml":
		return !isForced
	}
	codec := strings.ToLower(cmp.Or(rep.Codecs, set.Codecs))
	return mime == "application/mp4" && captionCodec.MatchString(codec) && !strings.Contains(codec, "im1i") && !isForced
}

// declaresCaptions reports whether an AdaptationSet says that its pictures have captions of CEA-608 or CEA-708 in
// their packets (SCTE 214-1, 7.2).
func declaresCaptions(set *mpd.AdaptationSetType) bool {
	return slices.ContainsFunc(set.Accessibilities, func(a *mpd.DescriptorType) bool {
		return strings.HasPrefix(string(a.SchemeIdUri), "urn:scte:dash:cc:cea-")
	})
}

// propertyExclusion returns the reason for which an EssentialProperty excludes a
// representation, or "".
func propertyExclusion(set *mpd.AdaptationSetType, rep *mpd.RepresentationType) string {
	for _, d := range slices.Concat(set.EssentialProperties, rep.EssentialProperties) {
		switch scheme := string(d.SchemeIdUri); {
		case scheme == "http://dashif.org/guidelines/trickmode":
			return isTrickPlay
		case strings.HasPrefix(scheme, "urn:mpeg:dash:urlparam:"):
			return needsParameters
		}
	}
	return ""
}

// tracksOf returns the tracks by codecs, else by content type, else by MIME type. It
// returns "" for codecs of other media. Video without codecs and content type counts
// as muxed unless the Period has separate audio.
func tracksOf(set *mpd.AdaptationSetType, rep *mpd.RepresentationType, mime string, separateAudio bool) tracks {
	var isVideo, isAudio, isOther bool
	for codec := range strings.SplitSeq(cmp.Or(rep.Codecs, set.Codecs), ",") {
		name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(codec)), ".")
		isVideo = isVideo || videoCodec.MatchString(name)
		isAudio = isAudio || audioCodec.MatchString(name)
		isOther = isOther || otherCodec.MatchString(name)
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
		switch unknown := !isVideo && !isAudio; {
		case unknown && strings.HasPrefix(mime, "audio/"):
			isAudio = true
		case unknown:
			isVideo, isAudio = true, !separateAudio
		}
	}
	switch {
	case isVideo && isAudio:
		return muxed
	case isVideo:
		return video
	}
	return audio
}

// hasAudioSet reports whether the Period has an AdaptationSet of audio.
func hasAudioSet(period timedPeriod) bool {
	return slices.ContainsFunc(period.AdaptationSets, func(set *mpd.AdaptationSetType) bool {
		return set.ContentType == "audio" || slices.ContainsFunc(set.Representations, func(rep *mpd.RepresentationType) bool {
			return strings.HasPrefix(mimeType(set, rep), "audio/")
		})
	})
}

func mimeType(set *mpd.AdaptationSetType, rep *mpd.RepresentationType) string {
	mime, _, _ := strings.Cut(cmp.Or(rep.MimeType, set.MimeType), ";")
	return strings.ToLower(strings.TrimSpace(mime))
}

// roleRank returns 2 for an AdaptationSet with the Role main, 1 for one without a
// Role, and 0 for one with another Role.
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

// height returns the number of lines of a picture; 0: not stated, or too large.
func height(set *mpd.AdaptationSetType, rep *mpd.RepresentationType) int {
	const maxHeight = 1 << 15
	h := cmp.Or(rep.Height, set.Height)
	if h > maxHeight {
		return 0
	}
	return int(h)
}
