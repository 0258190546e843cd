package ffmpeg

import (
	"fmt"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// ffmpeg's names of the only two demuxers a segment is ever given to.
const (
	mpegTS = "mpegts"
	mp4    = "mov"
)

const (
	packet   = 188        // bytes of an MPEG-TS packet, each beginning with syncByte
	syncByte = 0x47       // ISO/IEC 13818-1, 2.4.3.2
	headSize = 4 * packet // three packets after up to one of rubbish
	oddBytes = 16         // of an unknown segment, shown to whoever has to find out
)

// container tells the demuxer for a segment that begins with head. The bytes
// are believed first: a playlist's reader knows the container from a name only.
// When they are neither and nothing is declared, ffmpeg is not even started.
func container(head []byte, declared string) (string, error) {
	switch {
	case len(head) == 0:
		return "", watch.Failed(watch.FailureUndecodable, "the segment is empty")
	case isMPEGTS(head):
		return mpegTS, nil
	case isMP4(head):
		return mp4, nil
	case declared == "mpegts":
		return mpegTS, nil
	case declared == "mp4":
		return mp4, nil
	}
	return "", watch.Failed(watch.FailureUndecodable, "neither MPEG-TS nor MP4: it begins with %s", excerpt(head))
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
