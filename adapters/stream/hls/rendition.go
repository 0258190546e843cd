package hls

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/grafov/m3u8"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Codecs by the first part of their name (RFC 6381), as far as HLS has them.
// Subtitles carry neither picture nor sound.
var (
	videoCodecs    = names("avc1 avc3 hvc1 hev1 vp08 vp09 vp8 vp9 av01 dvh1 dvhe dva1 dvav dav1 mp4v vvc1 vvi1")
	audioCodecs    = names("mp4a opus ac-3 ec-3 ac-4 mp3 flac alac vorbis mha1 mhm1 dtsc dtse dtsh dtsl dtsx")
	subtitleCodecs = names("stpp wvtt")
)

func names(list string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(list) {
		set[name] = true
	}
	return set
}

// rendition makes a Rendition of a variant. It is false if the variant's URI
// cannot be fetched.
func rendition(base *url.URL, v *m3u8.Variant, all sounds) (watch.Rendition, bool) {
	uri, ok := resolve(base, v.URI)
	r := watch.Rendition{URL: uri, Height: height(v.Resolution), Bandwidth: int(v.Bandwidth)}
	r.HasVideo, r.HasAudio = tracks(v.Codecs)
	if r.Height > 0 {
		r.HasVideo = true
	}
	// The sound of a variant with pictures may be elsewhere. A variant of sound
	// alone names its group too and is a member of it.
	if r.HasVideo && v.Audio != "" && all.apart(v.Audio, uri) {
		r.HasAudio = false
	}
	return r, ok
}

// tracks tells what CODECS says. A codec that is not known might be either.
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

// height takes the height from WIDTHxHEIGHT; 0: unknown.
func height(resolution string) int {
	const tallest = 1 << 15
	_, text, _ := strings.Cut(strings.ToLower(resolution), "x")
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16)
	if err != nil || n > tallest {
		return 0
	}
	return int(n)
}
