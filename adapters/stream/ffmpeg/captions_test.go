package ffmpeg_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// The bytes in front of a triplet of caption data: whether it is valid, and of which kind.
const (
	field1, field2       = 0xfc, 0xfd
	service, serviceMore = 0xff, 0xfe // of CEA-708: a packet begins, goes on
	invalid              = 0xf8
)

// captionData returns user data of ATSC A/53 in T.35, with these triplets.
func captionData(triplets ...byte) []byte {
	return slices.Concat([]byte{0xb5, 0, 0x31, 'G', 'A', '9', '4', 3, 0x40 | byte(len(triplets)/3), 0xff}, triplets, []byte{0xff})
}

// escape puts a byte 3 in front of what would look like the beginning of a NAL unit.
func escape(payload []byte) (nal []byte) {
	zeros := 0
	for _, b := range payload {
		if zeros >= 2 && b <= 3 {
			nal, zeros = append(nal, 3), 0
		}
		if zeros++; b != 0 {
			zeros = 0
		}
		nal = append(nal, b)
	}
	return nal
}

// withCaptions encodes 60 pictures of a raw stream (h264, hevc or obu), adds data to each, and returns a segment.
func withCaptions(t *testing.T, format string, encoder []string, data []byte, mux ...string) []byte {
	t.Helper()
	raw := encode(t, slices.Concat([]string{"-f", "lavfi", "-i", "testsrc2=s=256x144:r=30:d=2"}, encoder, []string{"-pix_fmt", "yuv420p", "-f", format})...)
	var out []byte
	switch format {
	case "obu": // the data follow the temporal delimiter
		delimiter := []byte{0x12, 0}
		metadata := slices.Concat([]byte{5<<3 | 2, byte(len(data) + 2), 4}, data, []byte{0x80})
		out = bytes.ReplaceAll(raw, delimiter, slices.Concat(delimiter, metadata))
	default:
		sei := slices.Concat([]byte{0, 0, 0, 1, 6}, escape(slices.Concat([]byte{4, byte(len(data))}, data, []byte{0x80})))
		first := func(nal []byte) bool { return (nal[0]&31 == 1 || nal[0]&31 == 5) && nal[1]&0x80 != 0 }
		if format == "hevc" {
			sei = slices.Concat([]byte{0, 0, 0, 1, 39 << 1, 1}, sei[5:])
			first = func(nal []byte) bool { return nal[0]>>1 < 32 && nal[2]&0x80 != 0 }
		}
		start := []byte{0, 0, 1}
		for i, nal := range bytes.Split(raw, start) {
			if i > 0 && len(nal) > 2 && first(nal) && len(data) > 0 {
				out = append(bytes.TrimRight(out, "\x00"), sei...)
			}
			if i > 0 {
				out = append(out, start...)
			}
			out = append(out, nal...)
		}
	}
	path := filepath.Join(t.TempDir(), "segment")
	if mux == nil {
		mux = []string{"-f", "mpegts"}
	}
	cmd := exec.Command(ffmpegPath(t), slices.Concat([]string{"-nostdin", "-v", "error", "-f", format, "-framerate", "30", "-i", "pipe:0", "-c", "copy"}, mux, []string{path})...)
	if format == "obu" {
		cmd.Args = slices.DeleteFunc(cmd.Args, func(a string) bool { return a == "-framerate" || a == "30" })
	}
	cmd.Stdin = bytes.NewReader(out)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	segment, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return segment
}

var (
	rawH264 = []string{"-c:v", "libx264", "-preset", "veryfast", "-bf", "0", "-g", "30"}
	rawHEVC = []string{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:bframes=0:keyint=30"}
	rawAV1  = []string{"-c:v", "libsvtav1", "-preset", "12"}
)

// parity sets the highest bit of each byte so that it has an odd number of ones.
func parity(field byte, text string) (triplets []byte) {
	for i := 0; i+1 < len(text); i += 2 {
		triplets = append(triplets, field)
		for _, b := range []byte(text[i : i+2]) {
			ones := 1
			for bit := range 8 {
				ones += int(b >> bit & 1)
			}
			triplets = append(triplets, b|byte(ones&1)<<7)
		}
	}
	return triplets
}

func TestCaptionsAreNoneEmptyOrText(t *testing.T) {
	padding := bytes.Repeat([]byte{0xfa, 0, 0}, 18) // of CEA-708, not valid: full of zeros, which are escaped
	for name, c := range map[string]struct {
		data []byte
		want detector.CaptionState
	}{
		"no user data":               {nil, detector.NoCaptions},
		"other user data":            {[]byte{0xb5, 0, 0x31, 'D', 'T', 'G', '1', 0x41, 0xf8}, detector.NoCaptions},
		"bars of ATSC":               {[]byte{0xb5, 0, 0x31, 'G', 'A', '9', '4', 6, 0xff, 0xff}, detector.NoCaptions},
		"valid pairs of nulls":       {captionData(field1, 0x80, 0x80, field2, 0x80, 0x80), detector.EmptyCaptions},
		"pairs that are not valid":   {captionData(invalid, 'A', 'B', invalid|1, 'A', 'B'), detector.EmptyCaptions},
		"nulls and padding":          {captionData(slices.Concat([]byte{field1, 0x80, 0x80}, padding)...), detector.EmptyCaptions},
		"codes without a character":  {captionData(parity(field1, "\x14\x2c\x14\x2f")...), detector.EmptyCaptions},
		"a name of the programme":    {captionData(parity(field2, "\x01\x03NEWS\x0f\x1d")...), detector.EmptyCaptions},
		"text":                       {captionData(parity(field1, "HELLO ")...), detector.CaptionText},
		"a note":                     {captionData(parity(field1, "\x11\x37")...), detector.CaptionText},
		"text after padding":         {captionData(slices.Concat(padding, parity(field1, "HI"))...), detector.CaptionText},
		"text in the second field":   {captionData(slices.Concat([]byte{field1, 0x80, 0x80}, parity(field2, "HOLA"))...), detector.CaptionText},
		"text of CEA-708 alone":      {captionData(service, 0x02, 0x22, serviceMore, 'H', 'I'), detector.CaptionText},
		"pairs of nulls and CEA-708": {captionData(field1, 0x80, 0x80, service, 0x02, 0x22, serviceMore, 'H', 'I'), detector.CaptionText},
	} {
		t.Run(name, func(t *testing.T) {
			segment := withCaptions(t, "h264", rawH264, c.data)
			for how, look := range map[string]watch.Look{"whole": {}, "screened": calmest} {
				look.Measure = detector.Captions
				if got := measure(t, segment, look).Measured.Captions; got == nil || *got != c.want {
					t.Errorf("%s: captions %v, want %s", how, *got, c.want)
				}
			}
			// ffmpeg knows what captions are.
			_, log := decodeRaw(t, segment, "-vf", "showinfo", "-f", "null", "-")
			if seen := strings.Count(log, "A/53 closed captions"); (seen > 0) != (c.want != detector.NoCaptions) {
				t.Errorf("ffmpeg sees captions on %d pictures", seen)
			}
		})
	}
}

func TestCaptionsAreFoundInEveryContainer(t *testing.T) {
	text := captionData(parity(field1, "HELLO ")...)
	for name, segment := range map[string][]byte{
		"H.264 in MP4":    withCaptions(t, "h264", rawH264, text, fragmentedMP4...),
		"HEVC in MPEG-TS": withCaptions(t, "hevc", rawHEVC, text),
		"HEVC in MP4":     withCaptions(t, "hevc", rawHEVC, text, fragmentedMP4...),
		"AV1 in MP4":      withCaptions(t, "obu", rawAV1, text, fragmentedMP4...),
	} {
		if got := measure(t, segment, watch.Look{Video: time.Hour, Measure: detector.Captions}).Measured.Captions; got == nil || *got != detector.CaptionText {
			t.Errorf("%s: captions %v", name, *got)
		}
	}
}
