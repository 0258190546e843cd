package ffmpeg

import (
	"bytes"

	"github.com/stream-monitor/stream-monitor/adapters/internal/audioframe"
)

// id3Size returns the length in bytes of the ID3 tag that b begins with, or 0. Each
// packed audio segment has one (RFC 8216, 3.4).
func id3Size(b []byte) int {
	const header = 10 // bytes of the header, and of the footer if there is one (ID3v2.4, 3.1)
	if len(b) < header || !bytes.HasPrefix(b, []byte("ID3")) || (b[6]|b[7]|b[8]|b[9])&0x80 != 0 {
		return 0
	}
	n := header + int(b[6])<<21 + int(b[7])<<14 + int(b[8])<<7 + int(b[9])
	if b[5]&0x10 != 0 {
		n += header
	}
	return n
}

// sniffPackedAudio returns the demuxer for AAC or MP3 frames without a container,
// or "". Another frame must begin where the first one ends, as far as b reaches.
func sniffPackedAudio(b []byte) string {
	for demuxer, parse := range map[string]audioframe.Parse{aac: audioframe.ADTS, mp3: audioframe.MPEG} {
		if n := parse(b).Size; n > 0 && (n > len(b)-audioframe.HeaderSize || parse(b[n:]).Size > 0) {
			return demuxer
		}
	}
	return ""
}
