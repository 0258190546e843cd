package ffmpeg

import (
	"fmt"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// ffmpeg's names of the only demuxers a segment is ever given to.
const (
	mpegTS = "mpegts"
	mp4    = "mov"
	aac    = "aac"
	mp3    = "mp3"
)

// demuxers are those of the containers of watch.Segment.
var demuxers = map[string]string{"mpegts": mpegTS, "mp4": mp4, "aac": aac, "mp3": mp3}

const (
	packet   = 188        // bytes of an MPEG-TS packet, each beginning with syncByte
	syncByte = 0x47       // ISO/IEC 13818-1, 2.4.3.2
	headSize = 4 * packet // three packets after up to one of rubbish
	oddBytes = 16         // of an unknown segment, shown to whoever has to find out
)

// container tells the demuxer for a segment. The bytes are believed first: a
// playlist's reader knows the container from a name only. When they are none
// that is known and nothing is declared, ffmpeg is not even started.
func container(in *input, s watch.Segment) (string, error) {
	head := in.head(headSize)
	format := sniff(head)
	if n := tagSize(head); format == "" && n > 0 {
		if b := in.head(n + headSize); len(b) > n {
			format = packedAudio(b[n:])
		}
	}
	switch {
	case len(head) == 0:
		return "", watch.NewFailure(watch.FailureUndecodable, "the segment is empty")
	case format != "":
		return format, nil
	case demuxers[s.Container] != "":
		return demuxers[s.Container], nil
	case s.Key != nil:
		return "", watch.NewFailure(watch.FailureUndecodable, "neither MPEG-TS, MP4, AAC nor MP3, perhaps decrypted with the wrong key: it begins with %s", excerpt(head))
	}
	return "", watch.NewFailure(watch.FailureUndecodable, "neither MPEG-TS, MP4, AAC nor MP3: it begins with %s", excerpt(head))
}

// sniff tells the demuxer for what begins with b; empty: it is not known.
func sniff(b []byte) string {
	switch {
	case len(b) == 0:
		return ""
	case isMPEGTS(b):
		return mpegTS
	case isMP4(b):
		return mp4
	}
	return packedAudio(b)
}

// isMPEGTS looks for packets in step, after at most one packet of rubbish. Of
// less than two packets the first byte has to do.
func isMPEGTS(b []byte) bool {
	if len(b) <= packet {
		return b[0] == syncByte
	}
	for at := range min(packet, len(b)-packet) {
		if inStep(b[at:]) {
			return true
		}
	}
	return false
}

func inStep(b []byte) bool {
	for at := 0; at < len(b); at += packet {
		if b[at] != syncByte {
			return false
		}
	}
	return true
}

// isMP4 knows the boxes that a segment or its initialisation section may begin
// with (ISO/IEC 14496-12).
func isMP4(b []byte) bool {
	if len(b) < 8 {
		return false
	}
	switch string(b[4:8]) {
	case "ftyp", "styp", "moov", "moof", "sidx", "emsg", "prft", "free", "skip":
		return true
	}
	return false
}

// excerpt shows a page (an error's, most likely) as text and anything else in
// hexadecimal.
func excerpt(b []byte) string {
	b = b[:min(len(b), oddBytes)]
	if b[0] == '<' && utf8.Valid(b) {
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("% x", b)
}
