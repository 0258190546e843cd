package ffmpeg_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestTheFirstBytesDecideTheContainer(t *testing.T) {
	packet := append([]byte{0x47}, make([]byte, 187)...)
	four := bytes.Repeat(packet, 4)
	outOfSync := bytes.Clone(four)
	outOfSync[188] = 0
	box := func(kind string) []byte { return append([]byte("\x00\x00\x00\x18"+kind), make([]byte, 16)...) }

	// Frames with the lengths that their headers state: AAC at 48 kHz, MP3 at 128 kbit/s
	// and 44.1 kHz, and others.
	adts := append([]byte{0xff, 0xf1, 0x4c, 0x80, 0x20, 0x1f, 0xfc}, make([]byte, 256-7)...)
	mp3 := append([]byte{0xff, 0xfb, 0x90, 0x00}, make([]byte, 417-4)...)
	mp3Low := append([]byte{0xff, 0xf3, 0x84, 0xc4}, make([]byte, 192-4)...) // 64 kbit/s, 24 kHz
	mp2 := append([]byte{0xff, 0xfd, 0xc4, 0x00}, make([]byte, 768-4)...)    // 256 kbit/s, 48 kHz
	mp1 := append([]byte{0xff, 0xff, 0x24, 0x00}, make([]byte, 64-4)...)     // 64 kbit/s, 48 kHz
	two := func(frame []byte) []byte { return bytes.Repeat(frame, 2) }
	tag := func(n int, flags byte) []byte {
		return append([]byte{'I', 'D', '3', 4, 0, flags, byte(n >> 21), byte(n >> 14 & 0x7f), byte(n >> 7 & 0x7f), byte(n & 0x7f)}, make([]byte, n)...)
	}
	withTag := func(n int, rest []byte) []byte { return append(tag(n, 0), rest...) }

	for name, c := range map[string]struct {
		head     []byte
		declared string
		want     string // empty: refused
	}{
		"packets in sync":                        {four, "mp4", "mpegts"},
		"packets after 187 bytes of garbage":     {append(make([]byte, 187), four[:3*188]...), "", "mpegts"},
		"packets after more garbage than one":    {append(make([]byte, 188), four[:3*188]...), "", ""},
		"packets of which one is out of sync":    {outOfSync, "", ""},
		"one packet":                             {packet, "", "mpegts"},
		"the beginning of one packet":            {packet[:5], "", "mpegts"},
		"a segment with a type":                  {box("styp"), "mpegts", "mov"},
		"an index first":                         {box("sidx"), "", "mov"},
		"padding first":                          {box("skip"), "", "mov"},
		"an unknown box":                         {box("what"), "", ""},
		"an unknown box, declared as MP4":        {box("what"), "mp4", "mov"},
		"half a box's head":                      {box("styp")[:7], "", ""},
		"zeros":                                  {make([]byte, 752), "", ""},
		"zeros declared as MPEG-TS":              {make([]byte, 752), "mpegts", "mpegts"},
		"zeros declared as something else":       {make([]byte, 752), "matroska", ""},
		"AAC":                                    {two(adts), "mp3", "aac"},
		"AAC with a checksum":                    {two(append([]byte{0xff, 0xf0}, adts[2:]...)), "", "aac"},
		"AAC of MPEG-2":                          {two(append([]byte{0xff, 0xf9}, adts[2:]...)), "", "aac"},
		"one frame of AAC":                       {adts, "", "aac"},
		"a frame of AAC that nothing follows":    {append(bytes.Clone(adts), make([]byte, 100)...), "", ""},
		"AAC at a rate that is reserved":         {two(append([]byte{0xff, 0xf1, 0x74}, adts[3:]...)), "", ""},
		"MP3":                                    {two(mp3), "aac", "mp3"},
		"MP3 with padding":                       {two(append([]byte{0xff, 0xfb, 0x92}, append(mp3[3:], 0)...)), "", "mp3"},
		"MP3 of MPEG-2":                          {append(two(mp3Low), make([]byte, 100)...), "", "mp3"},
		"MP3 of MPEG-2.5":                        {two(append(append([]byte{0xff, 0xe3}, mp3Low[2:]...), make([]byte, 192)...)), "", "mp3"},
		"MP2":                                    {two(mp2), "", "mp3"},
		"MP1":                                    {append(two(mp1), make([]byte, 400)...), "", "mp3"},
		"a frame of MP3 that nothing follows":    {append(bytes.Clone(mp3), make([]byte, 100)...), "", ""},
		"MP3 of a layer that is reserved":        {two(append([]byte{0xff, 0xf9}, mp3[2:]...)), "", ""},
		"MP3 of a version that is reserved":      {two(append([]byte{0xff, 0xeb, 0x90, 0}, make([]byte, 261-4)...)), "", ""},
		"MP3 of a bit rate that is reserved":     {two(append([]byte{0xff, 0xfb, 0xf0}, mp3[3:]...)), "", ""},
		"bytes of 0xff":                          {bytes.Repeat([]byte{0xff}, 1000), "", ""},
		"AAC after a tag":                        {withTag(63, two(adts)), "", "aac"},
		"AAC after a tag with a footer":          {append(append(tag(63, 0x10), make([]byte, 10)...), two(adts)...), "", "aac"},
		"MP3 after a tag":                        {withTag(63, two(mp3)), "", "mp3"},
		"MP3 after a tag with a picture in it":   {withTag(30_000, two(mp3)), "", "mp3"},
		"MP3 after a tag longer than is read":    {withTag(40_000, two(mp3)), "mp3", "mp3"},
		"something after a tag longer than read": {withTag(40_000, two(mp3)), "", ""},
		"something after a tag":                  {withTag(63, make([]byte, 100)), "", ""},
		"a tag and no more":                      {tag(63, 0), "", ""},
		"half a tag":                             {tag(63, 0)[:30], "aac", "aac"},
		"the beginning of a tag":                 {tag(63, 0)[:5], "", ""},
		"a tag with an invalid length":           {append([]byte("ID3\x04\x00\x00\x00\x00\x00\x80"), two(adts)...), "", ""},
		"a page of Ogg":                          {[]byte("OggS\x00"), "mp3", "ogg"},
		"packets in sync after a tag":            {withTag(100, four), "", "mpegts"},
		"zeros declared as AAC":                  {make([]byte, 752), "aac", "aac"},
		"nothing, whatever it is declared to be": {nil, "mp4", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ffmpeg.DetectContainer(c.head, c.declared)
			var f *watch.Failure
			if refused := errors.As(err, &f) && f.Kind == watch.FailureUndecodable; got != c.want || refused != (c.want == "") {
				t.Errorf("container = %q, %v; want %q", got, err, c.want)
			}
		})
	}
}
