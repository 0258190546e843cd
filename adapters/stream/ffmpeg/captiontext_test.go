package ffmpeg

import (
	"encoding/binary"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// box returns a box of MP4.
func box(kind string, contents ...string) string {
	content := strings.Join(contents, "")
	return string(binary.BigEndian.AppendUint32(nil, uint32(8+len(content)))) + kind + content
}

func TestASegmentOfCaptionsHasTextOrNone(t *testing.T) { // section 6.8
	fragment := func(samples ...string) string {
		return box("ftyp", "iso6") + box("moov") + box("moof", box("mfhd", "\x00\x00\x00\x00")) + box("mdat", samples...)
	}
	ttml := func(body string) string {
		return `<?xml version="1.0" encoding="utf-8"?><tt:tt xmlns:tt="http://www.w3.org/ns/ttml"><tt:head><ttm:title xmlns:ttm="http://www.w3.org/ns/ttml#metadata">News</ttm:title></tt:head><tt:body>` + body + `</tt:body></tt:tt>`
	}
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

		"a cue in MP4":                    {fragment(box("vttc", box("sttg", "line:0"), box("payl", "<v Mai>Hello</v>"))), detector.CaptionText},
		"a cue in MP4, after a pause":     {fragment(box("vtte"), box("vttc", box("payl", "Hello"))), detector.CaptionText},
		"no cue in MP4":                   {fragment(box("vtte"), box("vtta", "Hello")), detector.EmptyCaptions},
		"a cue of tags in MP4":            {fragment(box("vttc", box("iden", "Hello"), box("payl", "<i> </i>"))), detector.EmptyCaptions},
		"two fragments in MP4":            {fragment(box("vtte")) + fragment(box("vttc", box("payl", "Hello"))), detector.CaptionText},
		"TTML":                            {"\ufeff" + ttml(`<tt:div><tt:p begin="0s"><tt:span>Hello</tt:span></tt:p></tt:div>`), detector.CaptionText},
		"TTML without a paragraph":        {ttml("\n <tt:div>Hello</tt:div>"), detector.EmptyCaptions},
		"TTML with an empty one":          {ttml("<tt:div><tt:p> <tt:br/></tt:p></tt:div>"), detector.EmptyCaptions},
		"TTML in MP4":                     {fragment(ttml("<tt:p>Hello</tt:p>")), detector.CaptionText},
		"TTML in MP4 without a paragraph": {fragment(ttml("<tt:div/>")), detector.EmptyCaptions},
		"a picture of TTML in MP4":        {fragment(ttml(`<tt:div smpte:backgroundImage="urn:mpeg:14496-30:subs:1"/>`), "\x89PNG"), detector.CaptionText},
		"two documents of TTML in MP4":    {fragment(ttml("<tt:div/>"), ttml("<tt:p>Hello</tt:p>")), detector.CaptionText},
		"MP4 whose samples are encrypted": {fragment("\x93\x01\x20\x77\x93\x01\x20\x77\x11"), ""},
		"MP4 of a picture":                {fragment("\x00\x00\x00\x09\x65\x88\x84\x00\x33\xff\xfe\xf6\xf0"), ""},
		"MP4 without samples":             {box("ftyp", "iso6") + box("moov"), ""},
		"MP4 that breaks off":             {fragment(box("vtte"))[:50], ""},
		"a page of another language":      {"<html><p>Hello</p></html>", ""},
		"a page":                          {"<html>-->\nHello", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readText(iotest.HalfReader(strings.NewReader(c.segment)))
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func FuzzSegmentsOfCaptions(f *testing.F) {
	for _, seed := range []string{"WEBVTT\n\n00:01.000 --> 00:02.000\nHello", `<tt><p begin="0s">Hello</p></tt>`, box("mdat", box("vttc", box("payl", "Hello")), box("vtte")), box("mdat", "<tt/>")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, segment string) {
		if got, err := readText(strings.NewReader(segment)); (got == "") != (err != nil) {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
