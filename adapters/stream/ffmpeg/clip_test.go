package ffmpeg_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/must"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// scene describes a clip of moving bars and a tone, with black and silent parts.
// Times are seconds of the clip.
type scene struct {
	seconds   float64      // default 3
	rate      int          // frames a second, default 30
	size      string       // default 256x144
	black     [][2]float64 // whole frames only
	silent    [][2]float64
	volume    float64  // of the tone, in dB below its own -21 dBFS in stereo; default 0
	offset    float64  // of the timestamps
	layout    string   // of the sound, default stereo
	pan       string   // another filter for the sound
	audioLead float64  // seconds by which the sound begins before the picture
	mux       []string // container, default MPEG-TS
	codec     []string // more options for the encoders
}

// priming is how long the sound begins before the clip's zero: an AAC encoder puts one
// frame before the first sample, and times count from there. A clip without sound has
// no priming.
const priming = 1024 * time.Second / 48000

func (s scene) make(tb testing.TB) []byte {
	tb.Helper()
	seconds, rate, size, layout := cmp.Or(s.seconds, 3), cmp.Or(s.rate, 30), cmp.Or(s.size, "256x144"), cmp.Or(s.layout, "stereo")
	pan := cmp.Or(s.pan, "anull")
	args := []string{
		"-f", "lavfi", "-i", fmt.Sprintf("testsrc2=s=%s:r=%d:d=%g", size, rate, seconds),
		"-f", "lavfi", "-i", fmt.Sprintf("sine=f=440:r=48000:d=%g", seconds+s.audioLead),
		"-vf", "drawbox=c=black:t=fill:enable='" + duringAny(s.black, 0.5/float64(rate)) + fmt.Sprintf("',setpts=PTS+%g/TB", s.audioLead),
		"-af", fmt.Sprintf("volume=%gdB,volume=0:enable='%s',aformat=channel_layouts=%s,%s", s.volume, duringAny(s.silent, 0), layout, pan),
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

// duringAny returns a filter expression that is true during the parts. They are moved
// back by shift: half a frame makes rounding harmless.
func duringAny(parts [][2]float64, shift float64) string {
	terms := []string{"0"}
	for _, p := range parts {
		terms = append(terms, fmt.Sprintf("gte(t,%g)*lt(t,%g)", p[0]-shift, p[1]-shift))
	}
	return strings.Join(terms, "+")
}

// encodeVideo returns MPEG-TS with H.264 of a lavfi source, without sound. args are
// further arguments of ffmpeg, such as filters.
func encodeVideo(tb testing.TB, source string, args ...string) []byte {
	tb.Helper()
	return encode(tb, slices.Concat([]string{"-f", "lavfi", "-i", source}, args,
		[]string{"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-f", "mpegts"})...)
}

// encodeSound returns AAC (ADTS).
func encodeSound(tb testing.TB, seconds int) []byte {
	tb.Helper()
	return encode(tb, "-f", "lavfi", "-i", fmt.Sprintf("sine=f=440:r=48000:d=%d", seconds), "-c:a", "aac", "-f", "adts")
}

// encode returns the output of ffmpeg with args. It runs once for the same args: encoding costs more
// than most tests of what it makes, so clips stay in the cache of the user.
func encode(tb testing.TB, args ...string) []byte {
	tb.Helper()
	sum := sha256.Sum256([]byte(strings.Join(args, "\x00")))
	dir := filepath.Join(clipDir, hex.EncodeToString(sum[:16]))
	if b, err := os.ReadFile(filepath.Join(dir, "clip")); err == nil {
		return b
	}
	err := testtools.MakeDir(dir, func(dir string) error {
		_, err := testtools.FFmpeg(context.Background(), ffmpegPath(tb), dir, nil, append(slices.Clone(args), "clip")...)
		return err
	})
	if err != nil {
		tb.Fatalf("encode a clip: %v", err)
	}
	return must.Get(os.ReadFile(filepath.Join(dir, "clip")))(tb)
}

// encodeFragments returns an init section and fragments of two seconds, as in HLS with
// EXT-X-MAP.
func encodeFragments(t *testing.T, args ...string) (init []byte, media [][]byte) {
	t.Helper()
	dir := t.TempDir()
	all := append([]string{"-nostdin", "-v", "error", "-y"}, args...)
	all = append(all, "-f", "hls", "-hls_segment_type", "fmp4", "-hls_time", "2", "-hls_list_size", "0",
		"-hls_segment_filename", filepath.Join(dir, "%d.m4s"), filepath.Join(dir, "list.m3u8"))
	if output, err := exec.Command(ffmpegPath(t), all...).CombinedOutput(); err != nil {
		t.Fatalf("encode fragments: %v\n%s", err, output)
	}
	init = must.Get(os.ReadFile(filepath.Join(dir, "init.mp4")))(t)
	for i := 0; ; i++ {
		path := filepath.Join(dir, fmt.Sprintf("%d.m4s", i))
		if _, err := os.Stat(path); err != nil {
			return init, media
		}
		media = append(media, must.Get(os.ReadFile(path))(t))
	}
}

// The size of a packet of MPEG-TS, and the packet identifiers that ffmpeg gives to the tracks.
const (
	packetSize = 188

	pidVideo = 0x100
	pidAudio = 0x101
)

// packets splits an MPEG-TS into packets.
func packets(ts []byte) (all [][]byte) {
	for ; len(ts) >= 188; ts = ts[188:] {
		all = append(all, ts[:188])
	}
	return all
}

func pid(packet []byte) int { return int(packet[1]&0x1f)<<8 | int(packet[2]) }

// withoutTrack removes the packets of a track that the tables still announce.
func withoutTrack(ts []byte, track int) (rest []byte) {
	for _, p := range packets(ts) {
		if pid(p) != track {
			rest = append(rest, p...)
		}
	}
	return rest
}

// corruptTrack overwrites the contents of a track's packets and keeps their headers.
func corruptTrack(ts []byte, track int) (rest []byte) {
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
