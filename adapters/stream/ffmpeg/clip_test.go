package ffmpeg_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// scene is a clip made of moving bars and a tone, with known black and silent
// parts. Times are seconds of the clip.
type scene struct {
	seconds float64      // default 3
	rate    int          // frames a second, default 30
	size    string       // default 256x144
	black   [][2]float64 // whole frames only
	silent  [][2]float64
	volume  float64  // of the tone, in dB below its own -21 dBFS in stereo; default 0
	offset  float64  // timestamps count from here
	layout  string   // of the sound, default stereo
	pan     string   // a filter for the sound
	lead    float64  // the picture comes this much later than the sound
	mux     []string // container, default MPEG-TS
	codec   []string // more options for the encoders
}

// priming is how much earlier than the clip's zero its sound begins: an AAC
// encoder puts one frame of its own before the first sample, and a segment's
// time counts from there. Without sound there is none.
const priming = 1024 * time.Second / 48000

func (s scene) make(tb testing.TB) []byte {
	tb.Helper()
	seconds, rate, size, layout := or(s.seconds, 3), or(s.rate, 30), or(s.size, "256x144"), or(s.layout, "stereo")
	pan := or(s.pan, "anull")
	args := []string{
		"-f", "lavfi", "-i", fmt.Sprintf("testsrc2=s=%s:r=%d:d=%g", size, rate, seconds),
		"-f", "lavfi", "-i", fmt.Sprintf("sine=f=440:r=48000:d=%g", seconds+s.lead),
		"-vf", "drawbox=c=black:t=fill:enable='" + between(s.black, 0.5/float64(rate)) + fmt.Sprintf("',setpts=PTS+%g/TB", s.lead),
		"-af", fmt.Sprintf("volume=%gdB,volume=0:enable='%s',aformat=channel_layouts=%s,%s", s.volume, between(s.silent, 0), layout, pan),
		"-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-c:a", "aac",
	}
	args = append(args, s.codec...)
	args = append(args, "-output_ts_offset", fmt.Sprint(s.offset))
	if s.mux == nil {
		args = append(args, "-f", "mpegts")
	}
	return encode(tb, append(args, s.mux...)...)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// between is the filter expression that is true within the parts. Frames begin
// shift after the part does at the latest.
func between(parts [][2]float64, shift float64) string {
	terms := []string{"0"}
	for _, p := range parts {
		terms = append(terms, fmt.Sprintf("gte(t,%g)*lt(t,%g)", p[0]-shift, p[1]-shift))
	}
	return strings.Join(terms, "+")
}

func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// made remembers what encode was asked for.
var made sync.Map

// encode runs ffmpeg with args and one file of output, once for the same args.
func encode(tb testing.TB, args ...string) []byte {
	tb.Helper()
	key := strings.Join(args, "\x00")
	if b, ok := made.Load(key); ok {
		return b.([]byte)
	}
	out, err := os.CreateTemp(shared, "clip-")
	if err != nil {
		tb.Fatal(err)
	}
	_ = out.Close()
	all := append([]string{"-nostdin", "-v", "error", "-y"}, args...)
	if said, err := exec.Command(tool(tb), append(all, out.Name())...).CombinedOutput(); err != nil {
		tb.Fatalf("make a clip: %v\n%s", err, said)
	}
	return remember(tb, key, out.Name())
}

func remember(tb testing.TB, key, path string) []byte {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	made.Store(key, b)
	return b
}

// fragments makes an initialisation section and fragments of two seconds, as
// HLS with EXT-X-MAP has them.
func fragments(t *testing.T, args ...string) (init []byte, media [][]byte) {
	t.Helper()
	dir := t.TempDir()
	all := append([]string{"-nostdin", "-v", "error", "-y"}, args...)
	all = append(all, "-f", "hls", "-hls_segment_type", "fmp4", "-hls_time", "2", "-hls_list_size", "0",
		"-hls_segment_filename", filepath.Join(dir, "%d.m4s"), filepath.Join(dir, "list.m3u8"))
	if said, err := exec.Command(tool(t), all...).CombinedOutput(); err != nil {
		t.Fatalf("make fragments: %v\n%s", err, said)
	}
	init = remember(t, dir+"init", filepath.Join(dir, "init.mp4"))
	for i := 0; ; i++ {
		path := filepath.Join(dir, fmt.Sprintf("%d.m4s", i))
		if _, err := os.Stat(path); err != nil {
			return init, media
		}
		media = append(media, remember(t, path, path))
	}
}

// The packet identifiers that ffmpeg gives to the tracks of an MPEG-TS.
const (
	pidVideo = 0x100
	pidAudio = 0x101
)

// packets splits an MPEG-TS.
func packets(ts []byte) (all [][]byte) {
	for ; len(ts) >= 188; ts = ts[188:] {
		all = append(all, ts[:188])
	}
	return all
}

func pid(packet []byte) int { return int(packet[1]&0x1f)<<8 | int(packet[2]) }

// without drops the packets of a track that the container still announces.
func without(ts []byte, track int) (rest []byte) {
	for _, p := range packets(ts) {
		if pid(p) != track {
			rest = append(rest, p...)
		}
	}
	return rest
}

// spoilt overwrites the contents of a track's packets and leaves their headers.
func spoilt(ts []byte, track int) (rest []byte) {
	for _, p := range packets(ts) {
		p = append([]byte(nil), p...)
		if pid(p) == track {
			from := 4
			if p[3]&0x20 != 0 { // an adaptation field
				from += 1 + int(p[4])
			}
			if p[1]&0x40 != 0 && from+9 < len(p) { // a PES header
				from += 9 + int(p[from+8])
			}
			for i := from; i < len(p); i++ {
				p[i] = byte(i*37 + len(rest)/188*11)
			}
		}
		rest = append(rest, p...)
	}
	return rest
}
