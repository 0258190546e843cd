package ffmpeg

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

func TestASegmentOfWebVTTHasTextOrNone(t *testing.T) { // section 6.8
	const cue = "\n00:01.000 --> 00:02.000 line:0\n"
	for name, c := range map[string]struct {
		segment string
		want    detector.CaptionState // empty: it is refused
	}{
		"a cue":                       {"WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000\n" + cue + "<v Mai>Hello</v>\n", detector.CaptionText},
		"a cue with a name, and CRLF": {strings.ReplaceAll("\ufeffWEBVTT - live\n\n1"+cue+"こんにちは\n", "\n", "\r\n"), detector.CaptionText},
		"a cue after bare returns":    {strings.ReplaceAll("WEBVTT\n"+cue+"Hello\n", "\n", "\r"), detector.CaptionText},
		"the second of two cues":      {"WEBVTT\n" + cue + " \n" + cue + "Hello", detector.CaptionText},
		"no cue":                      {"WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000\n\n", detector.EmptyCaptions},
		"cues of tags and spaces":     {"WEBVTT\n" + cue + "<c.white>&nbsp; </c>\n" + cue, detector.EmptyCaptions},
		"a note":                      {"WEBVTT\n\nNOTE Hello\nHello\n", detector.EmptyCaptions},
		"nothing":                     {"", ""},
		"a page":                      {"<html>-->\nHello", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readText(iotest.HalfReader(strings.NewReader(c.segment)))
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
