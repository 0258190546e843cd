package ffmpeg_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestTheContainerIsToldByTheFirstBytes(t *testing.T) {
	packet := append([]byte{0x47}, make([]byte, 187)...)
	four := bytes.Repeat(packet, 4)
	outOfStep := bytes.Clone(four)
	outOfStep[188] = 0
	box := func(kind string) []byte { return append([]byte("\x00\x00\x00\x18"+kind), make([]byte, 16)...) }

	for name, c := range map[string]struct {
		head     []byte
		declared string
		want     string // empty: refused
	}{
		"packets in step":                        {four, "mp4", "mpegts"},
		"packets after 187 bytes of rubbish":     {append(make([]byte, 187), four[:3*188]...), "", "mpegts"},
		"packets after more rubbish than one":    {append(make([]byte, 188), four[:3*188]...), "", ""},
		"packets of which one is out of step":    {outOfStep, "", ""},
		"one packet":                             {packet, "", "mpegts"},
		"the beginning of one packet":            {packet[:5], "", "mpegts"},
		"a segment with a type":                  {box("styp"), "mpegts", "mov"},
		"an index first":                         {box("sidx"), "", "mov"},
		"padding first":                          {box("skip"), "", "mov"},
		"a box nobody knows":                     {box("what"), "", ""},
		"a box nobody knows, declared as MP4":    {box("what"), "mp4", "mov"},
		"half a box's head":                      {box("styp")[:7], "", ""},
		"zeros":                                  {make([]byte, 752), "", ""},
		"zeros declared as MPEG-TS":              {make([]byte, 752), "mpegts", "mpegts"},
		"zeros declared as something else":       {make([]byte, 752), "matroska", ""},
		"nothing, whatever it is declared to be": {nil, "mp4", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ffmpeg.Container(c.head, c.declared)
			var f *watch.Failure
			if refused := errors.As(err, &f) && f.Kind == watch.FailureUndecodable; got != c.want || refused != (c.want == "") {
				t.Errorf("container = %q, %v; want %q", got, err, c.want)
			}
		})
	}
}
