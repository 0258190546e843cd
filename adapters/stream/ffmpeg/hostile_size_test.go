package ffmpeg_test

import (
	"bytes"
	"slices"
	"testing"
)

// picture makes a short elementary stream.
func picture(t *testing.T, format string, codec ...string) []byte {
	t.Helper()
	return encode(t, append(append([]string{"-f", "lavfi", "-i", "testsrc2=s=256x144:r=10:d=1", "-pix_fmt", "yuv420p"}, codec...), "-f", format)...)
}

var fragmented = []string{"-movflags", "empty_moov+default_base_moof+frag_keyframe", "-f", "mp4"}

// Pictures that say they are larger than they are.
var hostileSizes = map[string]func(t *testing.T) []byte{
	"H.264 of 16384x16384 with 16 references": func(t *testing.T) []byte {
		s := picture(t, "h264", "-c:v", "libx264", "-profile:v", "baseline")
		return remuxed(t, "h264", resized(t, s, false, 16384, 16384), "-f", "mpegts")
	},
	"H.264 of 4096x2304 with 16 references": func(t *testing.T) []byte {
		s := picture(t, "h264", "-c:v", "libx264", "-profile:v", "baseline")
		return remuxed(t, "h264", resized(t, s, false, 4096, 2304), "-f", "mpegts")
	},
	"H.264 of 1048576x16": func(t *testing.T) []byte {
		s := picture(t, "h264", "-c:v", "libx264", "-profile:v", "baseline")
		return remuxed(t, "h264", resized(t, s, false, 1<<20, 16), "-f", "mpegts")
	},
	"HEVC of 16384x16384": func(t *testing.T) []byte {
		s := picture(t, "hevc", "-c:v", "libx265", "-x265-params", "log-level=none")
		return remuxed(t, "hevc", resized(t, s, true, 16384, 16384), "-f", "mpegts")
	},
	"HEVC of 4096x2304": func(t *testing.T) []byte {
		s := picture(t, "hevc", "-c:v", "libx265", "-x265-params", "log-level=none")
		return remuxed(t, "hevc", resized(t, s, true, 4096, 2304), "-f", "mpegts")
	},
	// A wider one would have more bits in its header.
	"VP9 of 448x65535": func(t *testing.T) []byte {
		return resizedVP9(t, picture(t, "mp4", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-movflags", "empty_moov+frag_keyframe"), 448, 65535)
	},
	"VP9 of 448x20000": func(t *testing.T) []byte {
		return resizedVP9(t, picture(t, "mp4", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-movflags", "empty_moov+frag_keyframe"), 448, 20000)
	},
	"AV1 of 4096x4096": func(t *testing.T) []byte {
		return encode(t, "-f", "lavfi", "-i", "color=s=4096x4096:r=10:d=0.1", "-c:v", "libaom-av1", "-usage", "realtime", "-cpu-used", "8", "-pix_fmt", "yuv420p", "-movflags", "empty_moov+frag_keyframe", "-f", "mp4")
	},
	"AV1 of 4096x2304 and 10 bits": func(t *testing.T) []byte {
		return encode(t, "-f", "lavfi", "-i", "testsrc2=s=4096x2304:r=10:d=0.8", "-c:v", "libsvtav1", "-preset", "12", "-pix_fmt", "yuv420p10le", "-movflags", "empty_moov+frag_keyframe", "-f", "mp4")
	},
	"one picture of 60 MB of filler": func(t *testing.T) []byte {
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
			return encode(t, "-f", "lavfi", "-i", "color=s="+size+":r=10:d=0.1", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-f", "mpegts")
		}
		return bytes.Repeat(slices.Concat(one("160x90"), one("3840x2160")), 25)
	},
}
