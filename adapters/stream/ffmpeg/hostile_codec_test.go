package ffmpeg_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
)

// elementaryStream encodes a short elementary stream.
func elementaryStream(t *testing.T, format string, codec ...string) []byte {
	t.Helper()
	return encode(t, append(append([]string{"-f", "lavfi", "-i", "testsrc2=s=256x144:r=10:d=1", "-pix_fmt", "yuv420p"}, codec...), "-f", format)...)
}

var fragmentedMP4 = []string{"-movflags", "empty_moov+delay_moov+default_base_moof+frag_keyframe", "-f", "mp4"}

// hostilePictures state a size larger than they have, or change it.
var hostilePictures = map[string]func(t *testing.T) []byte{
	"H.264 of 16384x16384 with 16 references": func(t *testing.T) []byte {
		s := elementaryStream(t, "h264", "-c:v", "libx264", "-profile:v", "baseline")
		return remux(t, "h264", resizeH26x(t, s, false, 16384, 16384), "-f", "mpegts")
	},
	"H.264 of 4096x2304 with 16 references": func(t *testing.T) []byte {
		s := elementaryStream(t, "h264", "-c:v", "libx264", "-profile:v", "baseline")
		return remux(t, "h264", resizeH26x(t, s, false, 4096, 2304), "-f", "mpegts")
	},
	"H.264 of 1048576x16": func(t *testing.T) []byte {
		s := elementaryStream(t, "h264", "-c:v", "libx264", "-profile:v", "baseline")
		return remux(t, "h264", resizeH26x(t, s, false, 1<<20, 16), "-f", "mpegts")
	},
	"HEVC of 16384x16384": func(t *testing.T) []byte {
		s := elementaryStream(t, "hevc", "-c:v", "libx265", "-x265-params", "log-level=none")
		return remux(t, "hevc", resizeH26x(t, s, true, 16384, 16384), "-f", "mpegts")
	},
	"HEVC of 4096x2304": func(t *testing.T) []byte {
		s := elementaryStream(t, "hevc", "-c:v", "libx265", "-x265-params", "log-level=none")
		return remux(t, "hevc", resizeH26x(t, s, true, 4096, 2304), "-f", "mpegts")
	},
	// A larger width would need more bits in the header.
	"VP9 of 448x65535": func(t *testing.T) []byte {
		return resizeVP9(t, elementaryStream(t, "mp4", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-movflags", "empty_moov+frag_keyframe"), 448, 65535)
	},
	"VP9 of 448x20000": func(t *testing.T) []byte {
		return resizeVP9(t, elementaryStream(t, "mp4", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-movflags", "empty_moov+frag_keyframe"), 448, 20000)
	},
	"AV1 of 4096x4096": func(t *testing.T) []byte {
		return encode(t, "-f", "lavfi", "-i", "color=s=4096x4096:r=10:d=0.1", "-c:v", "libaom-av1", "-usage", "realtime", "-cpu-used", "8", "-pix_fmt", "yuv420p", "-movflags", "empty_moov+frag_keyframe", "-f", "mp4")
	},
	"AV1 of 4096x2304 and 10 bits": func(t *testing.T) []byte {
		return encode(t, "-f", "lavfi", "-i", "testsrc2=s=4096x2304:r=10:d=0.8", "-c:v", "libsvtav1", "-preset", "12", "-pix_fmt", "yuv420p10le", "-movflags", "empty_moov+frag_keyframe", "-f", "mp4")
	},
	"one picture with 60 MB of filler": func(t *testing.T) []byte {
		ts := scene{seconds: 1}.make(t)
		filler := append([]byte{0x47, pidVideo >> 8, pidVideo & 0xff, 0x10}, bytes.Repeat([]byte{0xaa}, packetSize-4)...)
		return append(bytes.Clone(ts), bytes.Repeat(filler, 60<<20/packetSize)...)
	},
	"two thousand changes of the size": func(t *testing.T) []byte {
		one := func(size string) []byte {
			return encode(t, "-f", "lavfi", "-i", "testsrc2=s="+size+":r=10:d=0.1", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-f", "mpegts")
		}
		return bytes.Repeat(slices.Concat(one("160x90"), one("320x180")), 1000)
	},
	"fifty changes between small and 2160p": func(t *testing.T) []byte {
		one := func(size string) []byte {
			return encodeVideo(t, "color=s="+size+":r=10:d=0.1")
		}
		return bytes.Repeat(slices.Concat(one("160x90"), one("3840x2160")), 25)
	},
}

// hostileAudio has too many channels, samples or frames.
var hostileAudio = map[string]func(t *testing.T) []byte{
	"sixteen channels at 768 kHz": func(t *testing.T) []byte {
		return encode(t, "-f", "lavfi", "-i", "anoisesrc=r=768000:d=0.3", "-af", "pan=hexadecagonal|"+sixteenChannels(), "-c:a", "pcm_s16le", "-f", "mov")
	},
	"255 channels": func(t *testing.T) []byte {
		return patchBoxes(t, encode(t, "-f", "lavfi", "-i", "anoisesrc=r=48000:d=1", "-ac", "2", "-c:a", "pcm_s16le", "-movflags", "faststart", "-f", "mov"), "sowt", 16, 0, 255)
	},
	"65535 channels": func(t *testing.T) []byte {
		return patchBoxes(t, encode(t, "-f", "lavfi", "-i", "anoisesrc=r=48000:d=1", "-ac", "2", "-c:a", "pcm_s16le", "-movflags", "faststart", "-f", "mov"), "sowt", 16, 0xff, 0xff)
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
		return slices.Concat(aac[:2000], randomBytes(20<<20))
	},
	"SBR declared for frames without it, at 96 kHz": func(t *testing.T) []byte {
		lc := scene{codec: []string{"-vn", "-ar", "48000"}, mux: fragmentedMP4}.make(t)
		return patchBoxes(t, lc, "\x11\x90\x56\xe5", -4, 0x29, 0x90, 0x88, 0)
	},
}

func sixteenChannels() (channels string) {
	for i := range 16 {
		channels += fmt.Sprintf("c%d=c0|", i)
	}
	return channels[:len(channels)-1]
}
