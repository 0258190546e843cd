package ffmpeg_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

var fragmentedMP4 = []string{"-movflags", "empty_moov+delay_moov+default_base_moof+frag_keyframe", "-f", "mp4"}

// tooManyReferences has more reference frames than there is memory for. The decoder does not say
// so: its errors are those of a broken stream.
func tooManyReferences(t *testing.T) []byte {
	t.Helper()
	return large(t, "4096x2304", "0.7", "-c:v", "libx264", "-preset", "ultrafast", "-x264-params", "ref=16:bframes=0:rc-lookahead=0", "-level", "6.2", "-threads", "1")
}

// tooManyPixels returns one picture that is refused for its size, by ffmpeg or by dav1d.
func tooManyPixels(t *testing.T, codec ...string) []byte {
	t.Helper()
	return encode(t, slices.Concat([]string{"-f", "lavfi", "-i", "color=s=4096x4096:r=10:d=0.1", "-pix_fmt", "yuv420p"}, codec, []string{"-movflags", "empty_moov+frag_keyframe", "-f", "mp4"})...)
}

// hostileSegments state sizes, counts and times that they do not have, or have too much of something.
var hostileSegments = map[string]func(t *testing.T) []byte{
	// Pictures are larger than there is memory for, or change their size.
	"VP9 of 4096x4096":                      func(t *testing.T) []byte { return tooManyPixels(t, vp9...) },
	"AV1 of 4096x4096":                      func(t *testing.T) []byte { return tooManyPixels(t, av1...) },
	"H.264 of 4096x2304 with 16 references": tooManyReferences,
	"HEVC of 4096x2304 and 10 bits": func(t *testing.T) []byte {
		return large(t, "4096x2304", "0.3", append(hevc, "-preset", "ultrafast", "-pix_fmt", "yuv420p10le")...)
	},
	"AV1 of 4096x2304 and 10 bits": func(t *testing.T) []byte {
		return encode(t, "-f", "lavfi", "-i", "testsrc2=s=4096x2304:r=10:d=0.8", "-c:v", "libsvtav1", "-preset", "12", "-pix_fmt", "yuv420p10le", "-movflags", "empty_moov+frag_keyframe", "-f", "mp4")
	},
	"one picture with 60 MB of filler": func(t *testing.T) []byte {
		filler := append([]byte{0x47, pidVideo >> 8, pidVideo & 0xff, 0x10}, bytes.Repeat([]byte{0xaa}, packetSize-4)...)
		return slices.Concat(scene{seconds: 1}.make(t), bytes.Repeat(filler, 60<<20/packetSize))
	},
	"two thousand changes of the size": func(t *testing.T) []byte {
		return bytes.Repeat(slices.Concat(encodeVideo(t, "testsrc2=s=160x90:r=10:d=0.1"), encodeVideo(t, "testsrc2=s=320x180:r=10:d=0.1")), 1000)
	},
	"fifty changes between small and 2160p": func(t *testing.T) []byte {
		return bytes.Repeat(slices.Concat(encodeVideo(t, "color=s=160x90:r=10:d=0.1"), encodeVideo(t, "color=s=3840x2160:r=10:d=0.1")), 25)
	},

	// Sound has too many channels, samples or frames.
	"sixteen channels at 768 kHz": func(t *testing.T) []byte {
		return encode(t, "-f", "lavfi", "-i", "anoisesrc=r=768000:d=0.3", "-af", "pan=hexadecagonal|c0=c0"+sixteenChannels, "-c:a", "pcm_s16le", "-f", "mov")
	},
	"65535 channels": func(t *testing.T) []byte {
		return patchBoxes(t, encode(t, "-f", "lavfi", "-i", "anoisesrc=r=48000:d=1", "-ac", "2", "-c:a", "pcm_s16le", "-movflags", "faststart", "-f", "mov"), "sowt", 16, 0xff, 0xff)
	},
	"a million frames of AAC with nothing in them": func(t *testing.T) []byte {
		silent := encode(t, "-f", "lavfi", "-i", "anullsrc=r=48000:cl=mono:d=1", "-c:a", "aac", "-f", "adts")
		length := func(frame []byte) int { return int(frame[3]&3)<<11 | int(frame[4])<<3 | int(frame[5])>>5 }
		second := silent[length(silent):]
		return bytes.Repeat(second[:length(second)], 1_000_000)
	},
	"twenty megabytes of MP3": func(t *testing.T) []byte {
		mp3 := encode(t, "-f", "lavfi", "-i", "anoisesrc=r=48000:d=10", "-c:a", "libmp3lame", "-b:a", "8k", "-ar", "8000", "-write_xing", "0", "-f", "mp3")
		return bytes.Repeat(mp3, 20<<20/len(mp3))
	},
	"a tag of 60 MB before the sound": func(t *testing.T) []byte {
		tag := append([]byte{'I', 'D', '3', 4, 0, 0, 28, 0, 0, 0}, make([]byte, 28<<21)...)
		return slices.Concat(tag, scene{codec: []string{"-vn"}, mux: []string{"-f", "adts"}}.make(t))
	},
	"noise after a header of AAC": func(t *testing.T) []byte {
		return slices.Concat(scene{codec: []string{"-vn"}, mux: []string{"-f", "adts"}}.make(t)[:2000], randomBytes(20<<20))
	},
	"SBR declared for frames without it, at 96 kHz": func(t *testing.T) []byte {
		lc := scene{codec: []string{"-vn", "-ar", "48000"}, mux: fragmentedMP4}.make(t)
		return patchBoxes(t, lc, "\x11\x90\x56\xe5", -4, 0x29, 0x90, 0x88, 0)
	},

	// Boxes have false counts and sizes, or are too many.
	"fragments that say they have 4 billion samples": func(t *testing.T) []byte {
		return patchBoxes(t, shortFragmentedMP4(t), "trun", 4, 0xff, 0xff, 0xff, 0xff)
	},
	"samples of 2 GB": func(t *testing.T) []byte {
		return patchBoxes(t, patchBoxes(t, shortFragmentedMP4(t), "trun", 0, append([]byte{0, 0, 2, 1}, u32(4, 0, 0x7fffffff, 0x7fffffff)...)...), "tfhd", 0, 0, 0, 0, 0)
	},
	"50 million samples of one byte": func(t *testing.T) []byte { return patchBoxes(t, shortMP4(t), "stsz", 4, u32(1, 50_000_000)...) },
	"a time for 4 billion samples":   func(t *testing.T) []byte { return patchBoxes(t, shortMP4(t), "stts", 8, u32(0xffffffff, 0)...) },
	"4 million real entries of times": func(t *testing.T) []byte {
		table := append(u32(0, 4_000_000), bytes.Repeat(u32(1, 1), 4_000_000)...)
		return replaceBox(t, shortMP4(t), "stts", mp4Box("stts", table), "moov", "trak", "mdia", "minf", "stbl")
	},
	"a list of a million edits": func(t *testing.T) []byte {
		list := mp4Box("edts", mp4Box("elst", u32(0, 1_000_000), bytes.Repeat(u32(1, 0, 0x10000), 1_000_000)))
		return replaceBox(t, shortMP4(t), "edts", list, "moov", "trak")
	},
	"five thousand tracks": func(t *testing.T) []byte {
		return replaceBox(t, shortMP4(t), "trak", bytes.Repeat(findBox(t, shortMP4(t), "trak"), 5000), "moov")
	},
	"boxes in boxes, a hundred thousand deep": func(t *testing.T) []byte {
		var open []byte
		for i := range uint32(100_000) {
			open = append(append(open, u32(8*(100_000-i))...), "moov"...)
		}
		return slices.Concat(mp4Box("ftyp", []byte("isom"), u32(0)), open)
	},
	"twenty thousand fragments": func(t *testing.T) []byte {
		m := shortFragmentedMP4(t)
		return slices.Concat(m, bytes.Repeat(slices.Concat(findBox(t, m, "moof"), mp4Box("mdat")), 20_000))
	},
	"a header of 60 MB": func(t *testing.T) []byte {
		return slices.Concat(mp4Box("ftyp", []byte("isom"), u32(0)), mp4Box("moov", make([]byte, 60<<20)))
	},
	"a compressed header that announces 2 GB": func(t *testing.T) []byte {
		return slices.Concat(mp4Box("ftyp", []byte("qt  "), u32(0)), mp4Box("moov", mp4Box("cmov", mp4Box("dcom", []byte("zlib")), mp4Box("cmvd", u32(0x7ffffff0), make([]byte, 1000)))))
	},
	"noise in place of the samples": func(t *testing.T) []byte {
		m := bytes.Clone(shortFragmentedMP4(t))
		i := bytes.Index(m, []byte("mdat")) + 4
		copy(m[i:], randomBytes(len(m)-i))
		return m
	},
	"five hundred renewed headers": func(t *testing.T) []byte { return bytes.Repeat(shortFragmentedMP4(t), 500) },

	// Tables and packets of MPEG-TS announce what does not come.
	"tables that change in every packet": func(t *testing.T) []byte {
		tables := func(s scene) []byte { return s.make(t)[:3*packetSize] }
		changing := slices.Concat(tables(scene{}), tables(scene{codec: hevc}), tables(scene{codec: []string{"-an"}}), tables(scene{codec: []string{"-c:v", "mpeg2video", "-c:a", "mp2"}}))
		return slices.Concat(bytes.Repeat(changing, 10_000), scene{}.make(t))
	},
	"random packets on every track": func(t *testing.T) []byte {
		b := randomBytes(20 << 20 / packetSize * packetSize)
		for i := 0; i < len(b); i += packetSize {
			b[i], b[i+1] = 0x47, b[i+1]&0x7f
		}
		return slices.Concat(scene{}.make(t), b)
	},
	"random bits in sound and picture": func(t *testing.T) []byte {
		return corruptTrack(corruptTrack(scene{}.make(t), pidVideo), pidAudio)
	},
	"a video track that is announced and never comes": func(t *testing.T) []byte {
		return bytes.Repeat(withoutTrack(scene{seconds: 20}.make(t), pidVideo), 30)
	},

	// Timestamps are wrong, or have too many frames.
	"fifty thousand pictures": func(t *testing.T) []byte {
		return encode(t, "-f", "lavfi", "-i", "color=s=16x16:r=90000:d=0.5", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-muxrate", "0", "-f", "mpegts")
	},
	"random timestamps": func(t *testing.T) []byte {
		random := rand.New(rand.NewPCG(5, 6))
		return changeTimestamps(t, scene{seconds: 5}.make(t), func(uint64) uint64 { return random.Uint64() })
	},
	"timestamps that run backwards": func(t *testing.T) []byte {
		return changeTimestamps(t, scene{seconds: 5}.make(t), func(at uint64) uint64 { return 1<<33 - at })
	},
	"timestamps that jump by a day": func(t *testing.T) []byte {
		n := uint64(0)
		return changeTimestamps(t, scene{seconds: 5}.make(t), func(at uint64) uint64 { n++; return at + n%2*24*3600*90000 })
	},
	"fragments at random times": func(t *testing.T) (out []byte) {
		for i := range uint32(500) {
			out = append(out, patchBoxes(t, shortFragmentedMP4(t), "tfdt", 0, append([]byte{1, 0, 0, 0}, u32(i*0x01234567, i*0x89abcdef)...)...)...)
		}
		return out
	},
}

const sixteenChannels = "|c1=c0|c2=c0|c3=c0|c4=c0|c5=c0|c6=c0|c7=c0|c8=c0|c9=c0|c10=c0|c11=c0|c12=c0|c13=c0|c14=c0|c15=c0"

// shortFragmentedMP4 returns one second in fragments.
func shortFragmentedMP4(t *testing.T) []byte {
	t.Helper()
	return scene{seconds: 1, mux: []string{"-movflags", "empty_moov+default_base_moof+frag_keyframe", "-f", "mp4"}}.make(t)
}

// shortMP4 returns one second of video with all tables at the beginning.
func shortMP4(t *testing.T) []byte {
	t.Helper()
	return scene{seconds: 1, codec: []string{"-an"}, mux: []string{"-movflags", "faststart", "-f", "mp4"}}.make(t)
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(b)
	return b
}

// changeTimestamps changes the presentation timestamps of an MPEG-TS.
func changeTimestamps(t *testing.T, ts []byte, change func(uint64) uint64) []byte {
	t.Helper()
	ts = bytes.Clone(ts)
	found := false
	for _, p := range packets(ts) {
		from := 4
		if p[3]&0x20 != 0 {
			from += 1 + int(p[4])
		}
		if p[1]&0x40 == 0 || from+19 > len(p) || binary.BigEndian.Uint32(p[from:])>>8 != 1 || p[from+7]&0x80 == 0 {
			continue
		}
		b := p[from+9:]
		at := uint64(b[0]>>1&7)<<30 | uint64(b[1])<<22 | uint64(b[2]>>1)<<15 | uint64(b[3])<<7 | uint64(b[4]>>1)
		at = change(at)
		copy(b, []byte{b[0]&0xf0 | byte(at>>30&7)<<1 | 1, byte(at >> 22), byte(at>>15)<<1 | 1, byte(at >> 7), byte(at)<<1 | 1})
		found = true
	}
	if !found {
		t.Fatal("no timestamps")
	}
	return ts
}

// mp4Box returns a box (ISO/IEC 14496-12, 4.2).
func mp4Box(kind string, content ...[]byte) []byte {
	all := bytes.Join(content, nil)
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(8+len(all))), kind...), all...)
}

func u32(numbers ...uint32) (b []byte) {
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return b
}

// findBox returns the first box of a kind, with its header.
func findBox(t *testing.T, file []byte, kind string) []byte {
	t.Helper()
	i := bytes.Index(file, []byte(kind))
	if i < 4 {
		t.Fatalf("no %s", kind)
	}
	n := int(binary.BigEndian.Uint32(file[i-4:]))
	if n < 8 || i-4+n > len(file) {
		t.Fatalf("%s has %d bytes", kind, n)
	}
	return file[i-4 : i-4+n]
}

// patchBoxes overwrites bytes in every box of a kind, at an offset after the box type.
func patchBoxes(t *testing.T, file []byte, kind string, after int, with ...byte) []byte {
	t.Helper()
	file = bytes.Clone(file)
	found := false
	for at := 0; ; {
		i := bytes.Index(file[at:], []byte(kind))
		if i < 0 {
			break
		}
		at += i + len(kind)
		found = copy(file[min(at+after, len(file)):], with) == len(with) || found
	}
	if !found {
		t.Fatalf("no %s", kind)
	}
	return file
}

// replaceBox replaces a box and corrects the sizes of its parents, which are named from
// the outside in.
func replaceBox(t *testing.T, file []byte, kind string, with []byte, around ...string) []byte {
	t.Helper()
	old := findBox(t, file, kind)
	at := bytes.Index(file, []byte(kind)) - 4
	out := bytes.Join([][]byte{file[:at], with, file[at+len(old):]}, nil)
	for _, name := range around {
		i := bytes.Index(out, []byte(name)) - 4
		binary.BigEndian.PutUint32(out[i:], binary.BigEndian.Uint32(out[i:])+uint32(len(with)-len(old)))
	}
	return out
}
