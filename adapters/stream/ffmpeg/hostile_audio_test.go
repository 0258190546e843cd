package ffmpeg_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
)

// Sound that is too much.
var hostileAudio = map[string]func(t *testing.T) []byte{
	"sixteen channels at 768 kHz": func(t *testing.T) []byte {
		return encode(t, "-f", "lavfi", "-i", "anoisesrc=r=768000:d=0.3", "-af", "pan=hexadecagonal|"+sixteen(), "-c:a", "pcm_s16le", "-f", "mov")
	},
	"255 channels": func(t *testing.T) []byte {
		return patched(t, encode(t, "-f", "lavfi", "-i", "anoisesrc=r=48000:d=1", "-ac", "2", "-c:a", "pcm_s16le", "-movflags", "faststart", "-f", "mov"), "sowt", 16, 0, 255)
	},
	"65535 channels": func(t *testing.T) []byte {
		return patched(t, encode(t, "-f", "lavfi", "-i", "anoisesrc=r=48000:d=1", "-ac", "2", "-c:a", "pcm_s16le", "-movflags", "faststart", "-f", "mov"), "sowt", 16, 0xff, 0xff)
	},
	"FLAC at 192 kHz": func(t *testing.T) []byte {
		return encode(t, "-f", "lavfi", "-i", "anoisesrc=r=192000:d=5", "-c:a", "flac", "-strict", "-2", "-f", "mp4", "-movflags", "empty_moov+frag_keyframe")
	},
	"a million frames of AAC with nothing in them": func(t *testing.T) []byte {
		silent := encode(t, "-f", "lavfi", "-i", "anullsrc=r=48000:cl=mono:d=1", "-c:a", "aac", "-f", "adts")
		n := int(silent[3]&3)<<11 | int(silent[4])<<3 | int(silent[5])>>5
		frame := silent[n:]
		frame = frame[:int(frame[3]&3)<<11|int(frame[4])<<3|int(frame[5])>>5]
		return bytes.Repeat(frame, 1_000_000)
	},
	"twenty megabytes of MP3": func(t *testing.T) []byte {
		mp3 := encode(t, "-f", "lavfi", "-i", "anoisesrc=r=48000:d=10", "-c:a", "libmp3lame", "-b:a", "8k", "-ar", "8000", "-write_xing", "0", "-f", "mp3")
		return bytes.Repeat(mp3, 20<<20/len(mp3))
	},
	"a tag of 60 MB before the sound": func(t *testing.T) []byte {
		tag := append([]byte{'I', 'D', '3', 4, 0, 0, 28, 0, 0, 0}, make([]byte, 28<<21)...)
		return slices.Concat(tag, scene{codec: []string{"-vn"}, mux: []string{"-f", "adts"}}.make(t))
	},
	"a tag full of pictures": func(t *testing.T) []byte {
		picture := append([]byte{'A', 'P', 'I', 'C', 0, 0, 0, 22, 0, 0, 0}, "image/png\x00\x03\x00\x89PNG\r\n\x1a\n"...)
		picture[7] = byte(len(picture) - 10)
		all := bytes.Repeat(picture, 50_000)
		n := len(all)
		tag := append([]byte{'I', 'D', '3', 4, 0, 0, byte(n >> 21), byte(n >> 14 & 127), byte(n >> 7 & 127), byte(n & 127)}, all...)
		return slices.Concat(tag, scene{codec: []string{"-vn", "-c:a", "libmp3lame"}, mux: []string{"-f", "mp3"}}.make(t))
	},
	"noise after a header of AAC": func(t *testing.T) []byte {
		aac := scene{codec: []string{"-vn"}, mux: []string{"-f", "adts"}}.make(t)
		return slices.Concat(aac[:2000], noise(20<<20))
	},
	"SBR in frames that have none, at 96 kHz": func(t *testing.T) []byte {
		lc := scene{codec: []string{"-vn", "-ar", "48000"}, mux: fragmented}.make(t)
		return patched(t, lc, "\x11\x90\x56\xe5", -4, 0x29, 0x90, 0x88, 0)
	},
}

func sixteen() (channels string) {
	for i := range 16 {
		channels += fmt.Sprintf("c%d=c0|", i)
	}
	return channels[:len(channels)-1]
}
