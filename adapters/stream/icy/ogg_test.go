package icy_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
	"github.com/stream-monitor/stream-monitor/adapters/stream/icy"
	"github.com/stream-monitor/stream-monitor/application/worker/collector"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
	_ "github.com/stream-monitor/stream-monitor/test/harness/testtools/launcher" // the tests start tools
)

// song returns 20 s of a tone in Ogg that is silent from 8 s to 12 s. Its header is its first two pages.
func song(t *testing.T, tool string, options ...string) []byte {
	t.Helper()
	args := append([]string{"-f", "lavfi", "-i", "sine=f=440:r=48000", "-t", "20", "-af", "volume=0:enable='between(t,8,12)'"}, options...)
	return must.Get(testtools.FFmpeg(t.Context(), tool, "", nil, append(args, "-f", "ogg", "-")...))(t)
}

// fromTheMiddle returns what a listener hears who comes in the middle of a song: its header, and then some page.
func fromTheMiddle(song []byte) []byte {
	header := 0
	for range 2 {
		header += len("OggS") + bytes.Index(song[header+len("OggS"):], []byte("OggS"))
	}
	middle := len(song) / 5
	return append(bytes.Clone(song[:header]), song[middle+bytes.Index(song[middle:], []byte("OggS")):]...)
}

func TestEachSegmentOfOggIsAStreamOfItsOwn(t *testing.T) {
	tool := must.Get(testtools.Tool("ffmpeg", ""))(t)
	pool := decoder.New(decoder.Config{Path: must.Get(testtools.Decoder())(t), Files: []string{}, Processes: 1, Timeout: time.Minute}, slog.New(slog.DiscardHandler))
	t.Cleanup(pool.Close)
	// No segment is left to the command ffmpeg.
	analyser := ffmpeg.New(ffmpeg.Config{Path: "/nonexistent/ffmpeg", Files: []string{}, Decoder: pool.Stream(slog.New(slog.DiscardHandler))})
	capturer := ffmpeg.NewCapturer(ffmpeg.Config{Path: tool, Files: []string{}, Timeout: time.Minute})
	cover := []string{"-metadata", "METADATA_BLOCK_PICTURE=" + strings.Repeat("x", 120_000)}
	codecs := map[string][]byte{
		"Vorbis": song(t, tool, "-c:a", "libvorbis"),
		"Opus":   song(t, tool, "-c:a", "libopus"),
		"FLAC":   song(t, tool, "-c:a", "flac"),
	}
	for name, c := range map[string]struct {
		stream   []byte
		segments int
		silent   float64 // seconds
	}{
		"Vorbis":                            {codecs["Vorbis"], 4, 4},
		"Opus":                              {codecs["Opus"], 5, 4},
		"FLAC":                              {codecs["FLAC"], 4, 4},
		"Vorbis from its middle":            {fromTheMiddle(codecs["Vorbis"]), 3, 4},
		"Opus from its middle":              {fromTheMiddle(codecs["Opus"]), 3, 4},
		"FLAC from its middle":              {fromTheMiddle(codecs["FLAC"]), 3, 4},
		"songs one after another":           {append(fromTheMiddle(codecs["Vorbis"]), codecs["Vorbis"]...), 8, 8},
		"Vorbis with the cover of an album": {song(t, tool, append(cover, "-c:a", "libvorbis")...), 4, 4},
		"Opus with the cover of an album":   {song(t, tool, append(cover, "-c:a", "libopus")...), 5, 4},
		"FLAC with the cover of an album":   {song(t, tool, append(cover, "-c:a", "flac")...), 4, 4},
		"a song that has a picture too":     {song(t, tool, "-filter_complex", "testsrc2=s=64x64:r=5:d=20[v]", "-map", "0:a", "-map", "[v]", "-c:v", "libtheora", "-c:a", "libvorbis"), 4, 4},
	} {
		t.Run(name, func(t *testing.T) {
			segments, lengths, err := icy.Cut(bytes.Clone(c.stream), 1000)
			if n := len(segments); err != nil || n < c.segments || n > c.segments+1 {
				t.Fatalf("%d segments, want %d; %v", n, c.segments, err)
			}
			silent, total := time.Duration(0), time.Duration(0)
			for i, segment := range segments {
				if bytes.Contains(segment, []byte(cover[1][len(cover[1])-100:])) {
					t.Errorf("segment %d has the cover", i)
				}
				found, err := analyser.Analyse(t.Context(), watch.Segment{Container: "ogg"}, watch.Look{}, bytes.NewReader(segment), func(string) float64 { return -50 })
				if lasts := found.Audio.To - found.Audio.From; err != nil || (lasts-lengths[i]).Abs() > 200*time.Millisecond {
					t.Errorf("segment %d of %v: decoded are %v; %v", i, lengths[i], lasts, err)
				}
				for _, span := range found.Intervals[detector.Silence] {
					silent += span.To - span.From
				}
				total += lengths[i]
			}
			if math.Abs(silent.Seconds()-c.silent) > 0.2*float64(len(segments)) {
				t.Errorf("%v are silent", silent)
			}
			// Segments one after another, as evidence has them.
			media := collector.Media{Open: func() io.Reader { return bytes.NewReader(bytes.Join(segments, nil)) }}
			levels := must.Get(capturer.Levels(t.Context(), media))(t)
			quiet := 0
			for _, m := range levels {
				if *m.Level < -50 {
					quiet++
				}
			}
			if last := levels[len(levels)-1].At; math.Abs(float64(quiet)-c.silent) > 2 || (last-total).Abs() > 2*time.Second {
				t.Errorf("%d quiet levels; the levels of %v end after %v", quiet, total, last)
			}
			var clip bytes.Buffer
			must.Do(t, capturer.Remux(t.Context(), []collector.Media{media}, func() (io.Writer, error) { clip.Reset(); return &clip, nil }, 19<<20))
			if _, err := testtools.FFmpeg(t.Context(), tool, "", clip.Bytes(), "-i", "-", "-f", "null", "-"); err != nil {
				t.Errorf("the clip: %v", err)
			}
		})
	}
}

// oggPage returns a page of a logical stream with one packet of less than 255 bytes.
func oggPage(serial, number uint32, flags byte, position uint64, packet string) string {
	page := append([]byte("OggS\x00"), flags)
	page = binary.LittleEndian.AppendUint64(page, position)
	page = binary.LittleEndian.AppendUint32(page, serial)
	page = binary.LittleEndian.AppendUint32(page, number)
	return string(append(page, 0, 0, 0, 0, 1, byte(len(packet)))) + packet
}

// What an encoder must not send costs at most the page that has it and the next one.
func TestOddPagesOfOggAreLeftOut(t *testing.T) {
	const second = 48000
	head := oggPage(1, 0, 2, 0, "OpusHead") + oggPage(1, 1, 0, 0, "OpusTags")
	// The cover of an album is in the header of a song: often some 100 KB. One packet goes on over many pages.
	picture := func(pages int) string {
		full := strings.Replace(oggPage(1, 1, 1, math.MaxUint64, strings.Repeat("x", 254)), "\x01\xfe", "\x01\xff", 1) + "x"
		return oggPage(1, 0, 2, 0, "OpusHead") + strings.Replace(full, strings.Repeat("x", 8), "OpusTags", 1) + strings.Repeat(full, pages-1) + oggPage(1, 1, 1, 0, "x")
	}
	page := func(position uint64) string { return oggPage(1, 2, 0, position, "sound") }
	sound := func(from, to uint64) (pages string) { // a page a second
		for n := from; n <= to; n++ {
			pages += page(n * second)
		}
		return pages
	}
	var many strings.Builder // pages with a sample each
	for n := range uint64(10_000) {
		many.WriteString(oggPage(1, 2, 0, n+1, strings.Repeat("x", 254)))
	}
	for name, c := range map[string]struct {
		sent    string
		lengths string
		failure string
	}{
		"whole seconds":                  {head + sound(1, 9), "[4s 4s]", ""},
		"a position that jumps ahead":    {head + sound(1, 2) + sound(1000, 1002), "[4s]", ""},
		"a position that jumps back":     {head + sound(1, 6) + sound(1, 3), "[4s 4s]", ""},
		"the largest position":           {head + page(math.MaxInt64) + sound(1, 5), "[4s]", ""},
		"a negative position":            {head + sound(1, 2) + page(1<<63) + sound(2, 4), "[4s]", ""},
		"a page in which no packet ends": {head + sound(1, 2) + page(math.MaxUint64) + sound(3, 4), "[4s]", ""},
		"bytes between pages":            {head + sound(1, 2) + "O Og Ogg" + sound(3, 4), "[4s]", ""},
		"a picture in the header":        {picture(7000) + sound(1, 4) + picture(7000) + sound(1, 4), "[4s 4s]", ""},
		"too large a picture":            {picture(7500) + sound(1, 4), "[]", "more than 2097152 bytes of tags"},
		"another song":                   {head + sound(1, 2) + head + sound(1, 4), "[2s 4s]", ""},
		"a song of another codec":        {head + sound(1, 4) + oggPage(2, 0, 2, 0, "Speex   ") + oggPage(2, 1, 0, second, "sound") + sound(5, 8), "[4s 4s]", ""},
		"a header that does not end":     {head + strings.Repeat(page(0), 4000), "[]", "no sound in 65536 bytes"},
		"positions that do not move":     {head + strings.Repeat(page(1), 4000), "[]", "no sound in 65536 bytes"},
		"positions that hardly move":     {head + many.String(), "[154.935021ms]", ""},
		"a listener in the middle":       {head + oggPage(1, 7, 0, 5*second, "sound") + sound(6, 9), "[4s]", ""},
		"no header":                      {sound(1, 2), "[]", "none of Vorbis, Opus and FLAC"},
		"a rate of 0":                    {oggPage(1, 0, 2, 0, "\x01vorbis"+strings.Repeat("\x00", 9)) + sound(1, 1), "[]", "none of Vorbis, Opus and FLAC"},
		"something else":                 {head + sound(1, 2) + strings.Repeat("<html>", 12000), "[]", "no sound in 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, step := range []int{7, 53, 4096} {
				_, lengths, err := icy.Cut([]byte(c.sent), step)
				if got := fmt.Sprint(lengths); got != c.lengths || (err == nil) != (c.failure == "") || err != nil && !strings.Contains(err.Error(), c.failure) {
					t.Errorf("in steps of %d bytes: segments of %s, %v; want %s, %q", step, got, err, c.lengths, c.failure)
				}
			}
		})
	}
}
