package ffmpeg

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// The demuxers that may read a segment, by ffmpeg's names.
const (
	mpegTS = "mpegts"
	mp4    = "mov"
	aac    = "aac"
	mp3    = "mp3"
	ogg    = "ogg"
)

// demuxers maps the values of watch.Segment.Container to demuxers.
var demuxers = map[string]string{"mpegts": mpegTS, "mp4": mp4, "aac": aac, "mp3": mp3, "ogg": ogg}

const (
	packetSize  = 188            // bytes of an MPEG-TS packet
	syncByte    = 0x47           // the first byte of each packet (ISO/IEC 13818-1, 2.4.3.2)
	headSize    = 4 * packetSize // bytes to detect a container by: three packets after up to one of garbage
	excerptSize = 16             // bytes of an unknown segment that a failure shows
)

// detectContainer returns the demuxer for a segment. Its first bytes decide; if
// they are unknown, the declared container does. If none is declared either, the
// segment is refused before ffmpeg is started.
func detectContainer(in *input, s watch.Segment) (string, error) {
	head := in.peek(headSize)
	demuxer := sniff(head)
	if n := id3Size(head); demuxer == "" && n > 0 {
		if b := in.peek(n + headSize); len(b) > n {
			demuxer = sniffPackedAudio(b[n:])
		}
	}
	switch {
	case len(head) == 0:
		return "", watch.NewFailure(watch.FailureUndecodable, "the segment is empty")
	case demuxer != "":
		return demuxer, nil
	case demuxers[s.Container] != "":
		return demuxers[s.Container], nil
	case s.Key != nil:
		return "", watch.NewFailure(watch.FailureUndecodable, "neither MPEG-TS, MP4, AAC, MP3 nor Ogg, perhaps decrypted with the wrong key: it begins with %s", excerpt(head))
	}
	return "", watch.NewFailure(watch.FailureUndecodable, "neither MPEG-TS, MP4, AAC, MP3 nor Ogg: it begins with %s", excerpt(head))
}

// sniff returns the demuxer for a segment that begins with b, or "".
func sniff(b []byte) string {
	switch {
	case len(b) == 0:
		return ""
	case isMPEGTS(b):
		return mpegTS
	case isMP4(b):
		return mp4
	case bytes.HasPrefix(b, []byte("OggS")): // RFC 3533, 6
		return ogg
	}
	return sniffPackedAudio(b)
}

// isMPEGTS looks for sync bytes at the distance of packets, after at most one
// packet of garbage. Up to one packet, the first byte decides.
func isMPEGTS(b []byte) bool {
	if len(b) <= packetSize {
		return b[0] == syncByte
	}
	for at := range min(packetSize, len(b)-packetSize) {
		if inSync(b[at:]) {
			return true
		}
	}
	return false
}

func inSync(b []byte) bool {
	for at := 0; at < len(b); at += packetSize {
		if b[at] != syncByte {
			return false
		}
	}
	return true
}

// isMP4 reports whether b begins with a box that may begin a segment or an init
// section (ISO/IEC 14496-12).
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

// excerpt returns the first bytes for a failure: markup, most likely of an error
// page, as text and everything else in hexadecimal.
func excerpt(b []byte) string {
	b = b[:min(len(b), excerptSize)]
	if b[0] == '<' && utf8.Valid(b) {
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("% x", b)
}
