package hls

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/grafov/m3u8"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Codecs of HLS by the first part of their name (RFC 6381). Subtitles are neither
// video nor audio.
var (
	videoCodecs    = codecNames("avc1 avc3 hvc1 hev1 vp08 vp09 vp8 vp9 av01 dvh1 dvhe dva1 dvav dav1 mp4v vvc1 vvi1")
	audioCodecs    = codecNames("mp4a opus ac-3 ec-3 ac-4 mp3 flac alac vorbis mha1 mhm1 dtsc dtse dtsh dtsl dtsx")
	subtitleCodecs = codecNames("stpp wvtt")
)

func codecNames(list string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(list) {
		set[name] = true
	}
	return set
}

// newRendition returns the Rendition of a variant, or the problem for which it is left out.
func newRendition(base *url.URL, v *m3u8.Variant, all audioRenditions) (r watch.Rendition, problem string) {
	uri, problem := resolve(base, v.URI)
	if problem != "" {
		return r, "the URI of a rendition is " + problem
	}
	r = watch.Rendition{URL: uri, Height: height(v.Resolution), Bandwidth: int(v.Bandwidth), HasCaptions: v.Captions != "" && v.Captions != "NONE"}
	r.HasVideo, r.HasAudio = tracks(v.Codecs)
	if r.Height > 0 {
		r.HasVideo = true
	}
	// A variant with video may have its audio in other playlists. A variant with audio
	// only is a member of the group that it names.
	if r.HasVideo && v.Audio != "" {
		separate, lost := all.isSeparate(v.Audio, uri)
		if lost {
			return r, "no sound of a rendition can be used" // without it, the rendition would count as silent
		}
		r.HasAudio = r.HasAudio && !separate
	}
	return r, ""
}

// tracks returns what CODECS announces. An unknown codec may be either.
func tracks(codecs string) (video, audio bool) {
	if strings.TrimSpace(codecs) == "" {
		return true, true
	}
	for codec := range strings.SplitSeq(codecs, ",") {
		name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(codec)), ".")
		isVideo, isAudio := videoCodecs[name], audioCodecs[name]
		unknown := !isVideo && !isAudio && !subtitleCodecs[name]
		video = video || isVideo || unknown
		audio = audio || isAudio || unknown
	}
	return video, audio
}

// height returns the height of WIDTHxHEIGHT in pixels, or 0.
func height(resolution string) int {
	const maxHeight = 1 << 15
	_, text, _ := strings.Cut(strings.ToLower(resolution), "x")
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16)
	if err != nil || n > maxHeight {
		return 0
	}
	return int(n)
}

// audioRendition is an EXT-X-MEDIA of TYPE=AUDIO: one of the renditions of the group
// that variants name (RFC 8216, 4.3.4.1).
type audioRendition struct {
	group     string
	uri       string // as in the tag; empty: it is in the variants themselves
	url       string // uri made absolute
	unusable  bool   // uri cannot be fetched
	isDefault bool   // DEFAULT=YES
}

// audioRenditions are those of a master playlist in its order.
type audioRenditions []audioRendition

// resolve makes the URIs absolute. It returns the problem of the first that cannot be fetched.
func (all audioRenditions) resolve(base *url.URL) (problem string) {
	for i, a := range all {
		if a.uri == "" {
			continue
		}
		absolute, refused := resolve(base, a.uri)
		all[i].url, all[i].unusable = absolute, refused != ""
		if refused != "" && problem == "" {
			problem = "the URI of an EXT-X-MEDIA is " + refused
		}
	}
	return problem
}

// isSeparate reports whether all renditions of a group have playlists other than the
// variant's. A rendition without a URI is in the variant (RFC 8216, 4.3.4.1), and so
// is one with the variant's URL. lost reports that none of their playlists can be used.
func (all audioRenditions) isSeparate(group, variant string) (separate, lost bool) {
	for _, a := range all {
		switch {
		case a.group != group:
		case a.unusable:
			lost = true
		case a.url == "" || a.url == variant:
			return false, false
		default:
			separate = true
		}
	}
	return separate, lost && !separate
}

// defaults returns the index of each group's default rendition: the one with
// DEFAULT=YES, otherwise the first, as players choose it.
func (all audioRenditions) defaults() map[string]int {
	defaults := map[string]int{}
	for i, a := range all {
		if a.unusable {
			continue
		}
		if first, known := defaults[a.group]; !known || a.isDefault && !all[first].isDefault {
			defaults[a.group] = i
		}
	}
	return defaults
}

// appendTo appends the renditions that have a playlist of their own to those of the
// variants, once for each URL. The default of any group is no alternate.
func (all audioRenditions) appendTo(list []watch.Rendition) []watch.Rendition {
	index := make(map[string]int, len(list)+len(all))
	for i, r := range list {
		index[r.URL] = i
	}
	defaults := all.defaults()
	for i, a := range all {
		if a.url == "" {
			continue
		}
		alternate := defaults[a.group] != i
		if at, listed := index[a.url]; listed {
			list[at].Alternate = list[at].Alternate && alternate
			continue
		}
		index[a.url] = len(list)
		list = append(list, watch.Rendition{URL: a.url, HasAudio: true, Alternate: alternate})
	}
	return list
}
