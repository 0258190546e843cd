package ffmpeg_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// everything is all that can be measured.
const everything = detector.Pictures | detector.Movement | detector.Sound | detector.Tone | detector.Captions | detector.Damage

// measure returns the analysis of a segment by a decoder alone.
func measure(t *testing.T, segment []byte, look watch.Look) watch.Analysis {
	t.Helper()
	a := ffmpeg.New(ffmpeg.Config{Path: noCommand, Decoder: newStream(newPool(t, nil))})
	got, err := a.Analyse(t.Context(), watch.Segment{}, look, bytes.NewReader(segment), settings)
	if err != nil {
		t.Fatal(err)
	}
	if got.Measured.Taken != look.Measure {
		t.Errorf("measured %b, want %b", got.Measured.Taken, look.Measure)
	}
	return got
}

// decodeRaw lets ffmpeg decode a segment, and returns its standard output and error.
func decodeRaw(t *testing.T, segment []byte, args ...string) (stdout []byte, stderr string) {
	t.Helper()
	cmd := exec.Command(ffmpegPath(t), append([]string{"-nostdin", "-hide_banner", "-i", "pipe:0"}, args...)...)
	var complaints strings.Builder
	cmd.Stdin, cmd.Stderr = bytes.NewReader(segment), &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("decode with ffmpeg: %v\n%s", err, complaints.String())
	}
	return out, complaints.String()
}

// encodings are of pictures whose every 30th is a key frame.
var encodings = map[string]scene{
	"H.264":                {codec: keyFramesEvery("30")},
	"H.264 of 10 bits":     {codec: append(keyFramesEvery("30"), "-pix_fmt", "yuv420p10le")},
	"H.264 of full range":  {codec: append(keyFramesEvery("30"), "-pix_fmt", "yuvj420p")},
	"H.264 of 4:4:4":       {codec: append(keyFramesEvery("30"), "-pix_fmt", "yuv444p")},
	"H.264 of 640x360":     {codec: keyFramesEvery("30"), size: "640x360"},
	"H.264 of odd size":    {codec: keyFramesEvery("30"), size: "250x138"},
	"H.264, higher than w": {codec: keyFramesEvery("30"), size: "144x256"},
	"HEVC":                 {codec: slices.Concat(hevc, []string{"-x265-params", "log-level=none:keyint=30:min-keyint=30:scenecut=0:open-gop=0"})},
	"HEVC of 10 bits":      {codec: slices.Concat(hevc, []string{"-x265-params", "log-level=none:keyint=30:min-keyint=30:scenecut=0:open-gop=0", "-pix_fmt", "yuv420p10le"})},
	"VP9":                  {codec: slices.Concat(vp9, []string{"-g", "30", "-keyint_min", "30"}), mux: fragmentedMP4},
	"VP9 of 10 bits":       {codec: slices.Concat(vp9, []string{"-g", "30", "-keyint_min", "30", "-pix_fmt", "yuv420p10le"}), mux: fragmentedMP4},
	"AV1":                  {codec: slices.Concat(av1, []string{"-g", "30"}), mux: fragmentedMP4},
}

func TestAPictureIsMeasuredLikeFFmpegScalesIt(t *testing.T) {
	for name, s := range encodings {
		t.Run(name, func(t *testing.T) {
			segment := s.make(t)
			luma, _ := decodeRaw(t, segment, "-vf", "select=key,scale=64:36:flags=area:out_range=pc,format=gray", "-vsync", "0", "-f", "rawvideo", "-")
			chroma, _ := decodeRaw(t, segment, "-vf", "select=key,scale=16:9:flags=area:out_range=pc,format=yuv444p", "-vsync", "0", "-f", "rawvideo", "-")
			for how, look := range map[string]watch.Look{"whole": {}, "screened": calmest} {
				look.Measure = detector.Pictures
				got := measure(t, segment, look)
				pictures := got.Measured.Pictures
				if got.Video.Screened != (how == "screened") || len(pictures) != 3 || len(luma) != 3*64*36 || len(got.Measured.Movement) > 0 {
					t.Fatalf("%s: screened %v, %d pictures, ffmpeg has %d", how, got.Video.Screened, len(pictures), len(luma)/64/36)
				}
				for i, p := range pictures {
					if at := got.Video.From + time.Duration(i)*time.Second; (p.At - at).Abs() > printPrecision {
						t.Errorf("%s: picture %d is at %v, want %v", how, i, p.At, at)
					}
					if size := fmt.Sprintf("%dx%d", p.Width, p.Height); size != s.size && s.size != "" {
						t.Errorf("%s: it has %s", how, size)
					}
					most := [2]float64{1.5, 20}
					if p.Width%64 > 0 { // ffmpeg weighs pixels that two cells share
						most = [2]float64{5, 45}
					}
					c := chroma[i*3*16*9:]
					for plane, pair := range map[string][2][]byte{"luma": {p.Luma, luma[i*64*36:]}, "U": {p.U, c[16*9:]}, "V": {p.V, c[2*16*9:]}} {
						if mean, largest := distance(pair[0], pair[1]); mean > most[0] || largest > most[1] {
							t.Errorf("%s: %s of picture %d differs by %.2f, at most by %v", how, plane, i, mean, largest)
						}
					}
				}
			}
		})
	}
}

// Section 17.6: an uploaded picture is compared with those of the stream, whatever its size, and whichever matrix
// the stream was encoded with.
func TestAnUploadedPictureIsMeasuredLikeThatOfAStream(t *testing.T) {
	const source = "testsrc2=s=1280x720:r=30:d=1"
	for format, codec := range map[string]string{"PNG": "png", "JPEG": "mjpeg"} {
		uploaded, err := references.Digest(encode(t, "-f", "lavfi", "-i", source, "-frames:v", "1", "-c:v", codec, "-pix_fmt", map[string]string{"png": "rgb24", "mjpeg": "yuvj444p"}[codec], "-f", "image2pipe"))
		if err != nil {
			t.Fatal(err)
		}
		for i, matrix := range []string{"bt601", "bt709"} {
			for name, args := range map[string][]string{
				"144p at 90 kb/s": {"scale=256:144:out_color_matrix=" + matrix, "-b:v", "90k"}, "360p": {"scale=640:360:out_color_matrix=" + matrix},
			} {
				segment := encodeVideo(t, source, append([]string{"-vf"}, args...)...)
				p := measure(t, segment, watch.Look{Measure: detector.Pictures}).Measured.Pictures[0]
				similarity, difference := p.Similarity(uploaded.Digests[i]), p.ChromaDifference(uploaded.Digests[i])
				if similarity < 0.99 || difference > 5 {
					t.Errorf("%s against %s of %s: the similarity is %.4f, the chroma differs by %.1f", format, name, matrix, similarity, difference)
				}
				if other := p.ChromaDifference(uploaded.Digests[1-i]); other <= difference {
					t.Errorf("%s against %s of %s: the chroma of the other matrix differs by %.1f, that of its own by %.1f", format, name, matrix, other, difference)
				}
			}
		}
	}
}

// distance returns the mean and the largest difference of a and the beginning of b.
func distance(a, b []byte) (mean, most float64) {
	for i := range a {
		d := math.Abs(float64(a[i]) - float64(b[i]))
		mean, most = mean+d/float64(len(a)), max(most, d)
	}
	return mean, most
}

func TestMovementIsTheDifferenceToTheKeyFrame(t *testing.T) {
	for name, s := range encodings {
		height := 144
		if _, after, is := strings.Cut(s.size, "x"); is {
			height, _ = strconv.Atoi(after)
		}
		t.Run(name, func(t *testing.T) {
			segment := s.make(t)
			raw, _ := decodeRaw(t, segment, "-vf", "extractplanes=y", "-vsync", "0", "-f", "rawvideo", "-")
			width := len(raw) / 90 / height // in bytes
			level := 255. / 219
			switch {
			case strings.Contains(name, "10 bits"):
				level /= 4
			case strings.Contains(name, "full range"):
				level = 1
			}
			got := measure(t, segment, watch.Look{Measure: everything})
			if len(got.Measured.Movement) != 89 {
				t.Fatalf("%d changes of 90 frames", len(got.Measured.Movement))
			}
			frame := func(i int) []byte { return raw[i*width*height:][:width*height] }
			for i, c := range got.Measured.Movement {
				if at := got.Video.From + time.Duration(i+1)*time.Second/30; (c.At - at).Abs() > printPrecision {
					t.Fatalf("frame %d is at %v, want %v", i+1, c.At, at)
				}
				// A key frame differs from the one before, too.
				mean, block, ratio := change(frame(i+1), frame(i/30*30), height, got.Measured.Pictures[0].Width, level)
				if math.Abs(c.Mean-mean) > 0.01 || math.Abs(c.Block-block) > 0.01 || math.Abs(c.Ratio/ratio-1) > 0.04 {
					t.Fatalf("frame %d: mean %.2f, block %.2f, ratio %.2f; want %.2f, %.2f, %.2f", i+1, c.Mean, c.Block, c.Ratio, mean, block, ratio)
				}
			}
			if screened := measure(t, segment, watch.Look{Video: time.Hour, Measure: everything}); len(screened.Measured.Movement) > 0 {
				t.Errorf("screened: %d changes", len(screened.Measured.Movement))
			}
		})
	}
}

// change returns how two pictures of luma differ in 32 by 18 blocks. Samples of 10 bits have two bytes.
func change(a, b []byte, height, width int, level float64) (mean, block, ratio float64) {
	size := len(a) / height / width
	sample := func(picture []byte, x, y int) float64 {
		at := (y*width + x) * size
		if size == 2 {
			return float64(binary.LittleEndian.Uint16(picture[at:]))
		}
		return float64(picture[at])
	}
	var blocks []float64
	for i := range 18 {
		for j := range 32 {
			sum, pixels := 0., 0.
			for y := i * height / 18; y < (i+1)*height/18; y++ {
				for x := j * width / 32; x < (j+1)*width/32; x++ {
					sum, pixels = sum+math.Abs(sample(a, x, y)-sample(b, x, y))*level, pixels+1
				}
			}
			blocks = append(blocks, sum/pixels)
			mean += sum / pixels / (18 * 32)
		}
	}
	slices.Sort(blocks)
	block = blocks[len(blocks)-1]
	return mean, block, block / max(blocks[len(blocks)/2], 1)
}

func TestColourBarsHaveTheirColoursInOrder(t *testing.T) {
	small := []string{"-vf", "scale=256:144"}
	for name, c := range map[string]struct {
		source string
		args   []string
		least  int // strips with bars, at least; 0: none
	}{
		"SMPTE":                     {"smptebars=s=640x360", small, 10},
		"RP 219":                    {"smptehdbars=s=640x360", small, 9},
		"EBU 75 %":                  {"pal75bars=s=640x360", small, 16},
		"EBU 100 %":                 {"pal100bars=s=640x360", small, 16},
		"EBU of 1280x720":           {"pal75bars=s=1280x720", nil, 16},
		"mirrored":                  {"pal75bars=s=640x360", []string{"-vf", "scale=256:144,hflip"}, 16},
		"with a logo":               {"smptebars=s=640x360", []string{"-vf", "drawbox=x=270:y=60:w=80:h=60:c=white:t=fill,scale=256:144"}, 8},
		"with text over a quarter":  {"pal75bars=s=640x360", []string{"-vf", "drawbox=x=40:y=240:w=560:h=90:c=black:t=fill,scale=256:144"}, 10},
		"pillarboxed":               {"pal75bars=s=480x360", []string{"-vf", "pad=640:360:80:0,scale=256:144"}, 16},
		"letterboxed":               {"pal75bars=s=640x270", []string{"-vf", "pad=640:360:0:45,scale=256:144"}, 12},
		"half the size in a film":   {"testsrc2=s=640x360[a];pal75bars=s=320x180[b];[a][b]overlay=160:90", small, 8},
		"half as bright":            {"pal75bars=s=640x360", []string{"-vf", "colorlevels=romax=0.5:gomax=0.5:bomax=0.5,scale=256:144"}, 16},
		"half as saturated":         {"pal75bars=s=640x360", []string{"-vf", "hue=s=0.5,scale=256:144"}, 16},
		"noisy":                     {"pal75bars=s=640x360", []string{"-vf", "noise=alls=30:allf=t,scale=256:144"}, 14},
		"moving bars":               {"testsrc2=s=640x360", small, 0},
		"other bars":                {"testsrc=s=640x360", small, 0},
		"red, green and blue":       {"rgbtestsrc=s=640x360", small, 0},
		"a rainbow":                 {"color=red:s=640x360", []string{"-vf", "geq=lum=128:cb='128+90*cos(2*PI*X/W)':cr='128+90*sin(2*PI*X/W)',scale=256:144"}, 0},
		"a rainbow the other way":   {"color=red:s=640x360", []string{"-vf", "geq=lum=128:cb='128+90*cos(2*PI*X/W)':cr='128-90*sin(2*PI*X/W)',scale=256:144"}, 0},
		"one colour":                {"color=yellow:s=256x144", nil, 0},
		"grey":                      {"color=gray:s=256x144", nil, 0},
		"fractals without a colour": {"mandelbrot=s=256x144", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			segment := encode(t, slices.Concat([]string{"-f", "lavfi", "-i", c.source}, c.args,
				[]string{"-t", "1", "-r", "30", "-c:v", "libx264", "-preset", "veryfast", "-b:v", "90k", "-pix_fmt", "yuv420p", "-f", "mpegts"})...)
			pictures := measure(t, segment, watch.Look{Video: time.Hour, Measure: detector.Pictures}).Measured.Pictures
			if len(pictures) == 0 || pictures[0].Bars < c.least || c.least == 0 && pictures[0].Bars > 0 {
				t.Errorf("bars in %+v strips, want %d", pictures, c.least)
			}
		})
	}
}

// sounds are expressions of the left and the right channel.
var sounds = map[string]struct {
	expression string
	args       []string
}{
	"a tone":              {"0.2*sin(440*2*PI*t)|0.2*sin(440*2*PI*t)", nil},
	"noise":               {"0.1*random(0)-0.05|0.1*random(1)-0.05", nil},
	"bass":                {"0.5*sin(60*2*PI*t)|0.5*sin(70*2*PI*t)", nil},
	"a louder side":       {"0.5*sin(440*2*PI*t)+0.01*random(0)|0.02*sin(700*2*PI*t)", nil},
	"a dead side":         {"0.5*sin(440*2*PI*t)|0", nil},
	"inverted":            {"0.3*sin(440*2*PI*t)+0.1*random(0)|-0.3*sin(440*2*PI*t)-0.1*random(0)", nil},
	"clipped":             {"clip((0.5+3*gt(mod(t\\,1)\\,0.5))*sin(440*2*PI*t)\\,-1\\,1)|clip((0.5+3*gt(mod(t\\,1)\\,0.7))*sin(300*2*PI*t)\\,-1\\,1)", nil},
	"one channel":         {"0.2*sin(440*2*PI*t)+0.05*random(0)", nil},
	"6 channels":          {"0.1*random(0)|0.1*random(1)|0.1*random(2)|0.9*sin(50*2*PI*t)|0.2*random(3)|0.2*random(4)", []string{"-channel_layout", "5.1"}},
	"44.1 kHz":            {"0.2*sin(440*2*PI*t)+0.1*random(0)|0.3*sin(3000*2*PI*t)", []string{"-ar", "44100"}},
	"24 kHz":              {"0.2*sin(440*2*PI*t)+0.1*random(0)|0.3*sin(3000*2*PI*t)", []string{"-ar", "24000"}},
	"16 kHz, one channel": {"0.2*sin(440*2*PI*t)+0.1*random(0)", []string{"-ar", "16000"}},
	"silence":             {"0|0", nil},
}

func soundOf(t *testing.T, expression string, seconds float64, args ...string) []byte {
	t.Helper()
	return encode(t, slices.Concat([]string{"-f", "lavfi", "-i", fmt.Sprintf("aevalsrc='%s':s=48000:d=%g", expression, seconds), "-c:a", "aac", "-b:a", "128k"}, args, []string{"-f", "adts"})...)
}

var integrated = regexp.MustCompile(`Integrated loudness:\s+I:\s+(-?[0-9.]+) LUFS`)

func TestSoundIsMeasuredLikeFFmpegMeasuresIt(t *testing.T) {
	for name, c := range sounds {
		t.Run(name, func(t *testing.T) {
			segment := soundOf(t, c.expression, 5, c.args...)
			_, log := decodeRaw(t, segment, "-af", "ebur128", "-f", "null", "-")
			found := integrated.FindStringSubmatch(log[strings.LastIndex(log, "Summary:"):])
			if found == nil {
				t.Fatalf("no loudness in %s", log)
			}
			loudness, _ := strconv.ParseFloat(found[1], 64)
			raw, _ := decodeRaw(t, segment, "-f", "f32le", "-")
			for how, look := range map[string]watch.Look{"whole": {}, "screened": calmest} {
				look.Measure = detector.Sound
				got := measure(t, segment, look)
				m := got.Measured.Sound
				if m == nil || got.Measured.Tone != nil {
					t.Fatalf("%s: measured %+v", how, got.Measured)
				}
				want := soundOracle(raw, m.Channels, rateOf(c.args))
				fullScale := 0.021
				if got.Audio.Screened { // the first 2 s and the fifth second are measured
					want.Loud, fullScale = want.Loud*3/5, 0.1
				}
				if loudness < -69 {
					loudness, want.Loud = detector.MinLoudness, 0
				}
				if math.Abs(m.Loudness-loudness) > 0.2 || (m.Loud-want.Loud).Abs() > 350*time.Millisecond {
					t.Errorf("%s: %v LUFS for %v, ffmpeg says %v for %v", how, m.Loudness, m.Loud, loudness, want.Loud)
				}
				if math.Abs(m.FullScale-want.FullScale) > fullScale || math.Abs(m.Left-want.Left) > 0.2 || math.Abs(m.Right-want.Right) > 0.2 || math.Abs(m.Correlation-want.Correlation) > 0.02 {
					t.Errorf("%s: measured %+v, want %+v", how, *m, want)
				}
			}
		})
	}
}

func rateOf(args []string) int {
	if i := slices.Index(args, "-ar"); i >= 0 {
		rate, _ := strconv.Atoi(args[i+1])
		return rate
	}
	return 48000
}

// soundOracle measures decoded samples that are all loud.
func soundOracle(raw []byte, channels, rate int) detector.SoundMeasure {
	m := detector.SoundMeasure{Left: detector.MinLoudness, Right: detector.MinLoudness}
	var power [2]float64
	var cross float64
	full, windows, isFull := 0., 0., false
	samples := len(raw) / 4 / channels
	sample := func(i, channel int) float64 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*(i*channels+channel):])))
	}
	for i := range samples {
		for c := range channels {
			isFull = isFull || math.Abs(sample(i, c)) >= 0.999
		}
		if (i+1)%(rate/10) == 0 {
			windows++
			if isFull {
				full++
			}
			isFull = false
		}
		if channels == 2 {
			l, r := sample(i, 0), sample(i, 1)
			power[0], power[1], cross = power[0]+l*l, power[1]+r*r, cross+l*r
		}
	}
	m.FullScale, m.Loud = full/windows, time.Duration(windows)*100*time.Millisecond
	if channels == 2 {
		m.Left = max(10*math.Log10(power[0]/float64(samples)), detector.MinLoudness)
		m.Right = max(10*math.Log10(power[1]/float64(samples)), detector.MinLoudness)
		if power[0] > 0 && power[1] > 0 {
			m.Correlation = cross / math.Sqrt(power[0]*power[1])
		}
	}
	return m
}

// Sound below the gate does not count (BS.1770 has -70 LUFS; the gate here is that of the detectors).
func TestPausesDoNotLowerTheLoudness(t *testing.T) {
	for _, length := range []float64{2, 5} {
		of := func(expression string) *detector.SoundMeasure {
			return measure(t, soundOf(t, expression, length), watch.Look{Measure: detector.Sound}).Measured.Sound
		}
		steady, paused := of("0.2*sin(440*2*PI*t)"), of("0.2*sin(440*2*PI*t)*lt(mod(t\\,1)\\,0.4)")
		// A block of each second has the beginning or the end of a pause.
		if math.Abs(paused.Loudness-steady.Loudness) > 1 || paused.Loud > steady.Loud*6/10 {
			t.Errorf("%g s: %v LUFS for %v, steady %v for %v", length, paused.Loudness, paused.Loud, steady.Loudness, steady.Loud)
		}
	}
}

func TestADecoderOfWholeNumbersCannotTellFullScale(t *testing.T) {
	segment := scene{volume: 30, codec: []string{"-c:a", "mp2"}}.make(t)
	m := measure(t, segment, watch.Look{Measure: detector.Sound}).Measured.Sound
	if m == nil || m.FullScale != -1 || m.Loudness < -30 {
		t.Errorf("measured %+v", m)
	}
}

func TestAToneOfOneKilohertzIsFound(t *testing.T) {
	tone := func(hertz float64) string { return fmt.Sprintf("0.2*sin(%g*2*PI*t)", hertz) }
	both := func(expression string) string { return expression + "|" + expression }
	for name, c := range map[string]struct {
		expression  string
		args        []string
		least, most float64
	}{
		"1 kHz":                     {both(tone(1000)), nil, 0.95, 1},
		"1 kHz of 44.1 kHz":         {both(tone(1000)), []string{"-ar", "44100"}, 0.95, 1},
		"1 kHz of 22.05 kHz":        {both(tone(1000)), []string{"-ar", "22050"}, 0.95, 1},
		"1 kHz of 8 kHz, one side":  {tone(1000) + "|0", []string{"-ar", "8000"}, 0.9, 1},
		"1 kHz inverted":            {tone(1000) + "|-" + tone(1000), nil, 0.95, 1},
		"1 kHz of one channel":      {tone(1000), nil, 0.95, 1},
		"1 kHz at 64 kbit/s, quiet": {both("0.02*" + tone(1000)), []string{"-b:a", "64k"}, 0.95, 1},
		"1 kHz with soft noise":     {both(tone(1000) + "+0.02*(random(0)-0.5)"), nil, 0.95, 1},
		"1 kHz with loud noise":     {both(tone(1000) + "+0.4*(random(0)-0.5)"), nil, 0, 0.05},
		"an ident with gaps":        {both(tone(1000) + "*gt(mod(t\\,3)\\,0.25)"), nil, 0.8, 0.97},
		"1030 Hz":                   {both(tone(1030)), nil, 0, 0},
		"970 Hz":                    {both(tone(970)), nil, 0, 0},
		"5 kHz, an alias":           {both(tone(5000)), nil, 0, 0},
		"7 kHz, an alias":           {both(tone(7000)), nil, 0, 0},
		"with an octave":            {both(tone(1000) + "+" + tone(2000)), nil, 0, 0.05},
		"two tones":                 {tone(1000) + "|" + tone(1200), nil, 0, 0.05},
		"vibrato":                   {both("0.2*sin(1000*2*PI*t+20*sin(5*2*PI*t))"), nil, 0, 0.4},
		"noise":                     {both("0.1*random(0)"), nil, 0, 0},
		"silence":                   {both("0"), nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for length, look := range map[float64]watch.Look{2: {Audio: time.Hour}, 3: {}, 5: {Audio: time.Hour}} {
				look.Measure = detector.Tone
				m := measure(t, soundOf(t, c.expression, length, c.args...), look).Measured.Tone
				if m == nil || m.Blocks < int(min(length, 3)/0.0853)-3 || m.Share < c.least || m.Share > c.most {
					t.Errorf("%g s: measured %+v, want %v to %v", length, m, c.least, c.most)
				}
			}
		})
	}
}

func TestNothingIsMeasuredThatIsNotAskedFor(t *testing.T) {
	segment := scene{codec: keyFramesEvery("30")}.make(t)
	for bit := detector.Pictures; bit <= detector.Damage; bit <<= 1 {
		m := measure(t, segment, watch.Look{Measure: bit}).Measured
		taken := detector.Measurement(0)
		for has, of := range map[detector.Measurement]bool{
			detector.Pictures: len(m.Pictures) > 0, detector.Movement: len(m.Movement) > 0, detector.Sound: m.Sound != nil,
			detector.Tone: m.Tone != nil, detector.Captions: m.Captions != nil, detector.Damage: m.Damage != nil,
		} {
			if of {
				taken |= has
			}
		}
		if taken != bit {
			t.Errorf("asked for %06b: %06b", bit, taken)
		}
	}
	if m := measure(t, segment, watch.Look{}).Measured; len(m.Pictures)+len(m.Movement) > 0 || m.Sound != nil || m.Damage != nil {
		t.Errorf("asked for nothing: %+v", m)
	}
}

// A black key frame and a second of silence leave both tracks in doubt.
func TestACloserLookReplacesWhatTheFirstOneMeasured(t *testing.T) {
	segment := scene{codec: keyFramesEvery("30"), black: during(0.9, 1.1), silent: during(1, 2)}.make(t)
	got := measure(t, segment, watch.Look{Video: time.Hour, Audio: time.Hour, Measure: everything})
	m := got.Measured
	if got.Video.Screened || got.Audio.Screened || len(m.Pictures) != 3 || len(m.Movement) != 89 || m.Sound == nil || m.Sound.Loud < seconds(1.9) || m.Tone == nil || m.Captions == nil || m.Damage == nil {
		t.Errorf("video %+v, audio %+v: %d pictures, %d changes, %+v %+v %v %+v", got.Video, got.Audio, len(m.Pictures), len(m.Movement), m.Sound, m.Tone, m.Captions, m.Damage)
	}
	if !slices.Equal(got.Intervals[detector.Blackout], measure(t, segment, watch.Look{}).Intervals[detector.Blackout]) {
		t.Errorf("found %v", got.Intervals)
	}
}

func TestWhatTheCommandDecidesIsNotMeasured(t *testing.T) {
	segment := scene{codec: keyFramesEvery("30")}.make(t)
	for name, s := range map[string][]byte{
		"the format changes": slices.Concat(segment, scene{size: "320x180", offset: 3}.make(t)),
		"usual":              segment,
	} {
		c := realTool(t)
		c.Decoder = newStream(newPool(t, nil))
		got := look(t, c, watch.Look{Measure: everything}, s)
		if usual := name == "usual"; (got.Measured.Taken == everything) != usual || (len(got.Measured.Pictures) > 0) != usual || !got.Video.Decoded() {
			t.Errorf("%s: measured %b", name, got.Measured.Taken)
		}
	}
}

func TestATrackThatIsMissingIsNotMeasured(t *testing.T) {
	sound := measure(t, encodeSound(t, 2), watch.Look{Measure: everything}).Measured
	if len(sound.Pictures) > 0 || sound.Captions != nil || sound.Damage != nil || sound.Sound == nil {
		t.Errorf("sound alone: %+v", sound)
	}
	picture := measure(t, encodeVideo(t, "testsrc2=s=256x144:r=30:d=2"), watch.Look{Measure: everything}).Measured
	if len(picture.Pictures) == 0 || picture.Captions == nil || picture.Sound != nil || picture.Tone != nil {
		t.Errorf("a picture alone: %+v", picture)
	}
}

// Pictures are at least 0.1 s apart, and at most 256.
func TestPicturesAreLimited(t *testing.T) {
	segment := encodeVideo(t, "testsrc2=s=64x36:r=30:d=30", "-g", "1")
	for _, look := range []watch.Look{{}, calmest} {
		look.Measure = detector.Pictures
		m := measure(t, segment, look).Measured
		if len(m.Pictures) != 256 {
			t.Fatalf("%d pictures", len(m.Pictures))
		}
		for i := range m.Pictures[1:] {
			if gap := m.Pictures[i+1].At - m.Pictures[i].At; gap < 99*time.Millisecond || gap > 102*time.Millisecond {
				t.Errorf("picture %d comes %v after the one before", i+1, gap)
			}
		}
	}
}

// lose removes count packets of the picture from a part of an MPEG-TS on: each of every.
func lose(ts []byte, part float64, count, every int) (rest []byte) {
	all := packets(ts)
	lost, seen := 0, 0
	for i, p := range all {
		if i >= int(part*float64(len(all))) && pid(p) == pidVideo && lost < count {
			if seen++; seen%every == 0 {
				lost++
				continue
			}
		}
		rest = append(rest, p...)
	}
	return rest
}

// Key frames come every second.
func TestDamageLastsToTheNextKeyFrame(t *testing.T) {
	film := func(seconds float64, args ...string) []byte {
		return scene{seconds: seconds, codec: slices.Concat(keyFramesEvery("30"), []string{"-bf", "0", "-b:v", "400k", "-an"}, args)}.make(t)
	}
	flipped := bytes.Clone(film(5))
	for at := len(flipped) / 2; at < len(flipped)/2+20*packetSize; at += 1001 {
		if at%packetSize > 60 {
			flipped[at] ^= 0x10
		}
	}
	variable := encodeVideo(t, "testsrc2=s=256x144:r=30:d=5", "-vf", "select='not(mod(n,3))+gt(mod(n,30),12)'", "-vsync", "vfr")
	for name, c := range map[string]struct {
		segment                   []byte
		damaged, packets, missing bool
	}{
		"intact, 5 s":               {film(5), false, false, false},
		"intact, 2 s":               {film(2), false, false, false},
		"intact, of reordered ones": {film(5, "-bf", "3"), false, false, false},
		"HEVC, intact":              {scene{seconds: 5, codec: slices.Concat(hevc, []string{"-an", "-g", "30"})}.make(t), false, false, false},
		"VP9, intact":               {scene{seconds: 5, codec: vp9, mux: fragmentedMP4}.make(t), false, false, false},
		"of a variable rate":        {variable, false, false, false},
		"one packet is lost":        {lose(film(5), 0.45, 1, 1), true, true, false},
		"some packets are lost":     {lose(film(5), 0.45, 5, 3), true, true, false},
		"pictures are lost":         {lose(film(5), 0.45, 60, 1), true, true, true},
		"some bits are wrong":       {flipped, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := measure(t, c.segment, watch.Look{Measure: detector.Damage})
			d := got.Measured.Damage
			if d == nil || (len(d.Intervals) > 0) != c.damaged || c.packets != (d.Packets > 0) || c.missing && d.Missing == 0 || !c.damaged && d.Missing > 0 || c.damaged && !c.packets && d.Frames == 0 {
				t.Fatalf("%+v", d)
			}
			if !c.damaged {
				return
			}
			from, to := d.Intervals[0].From-got.Video.From, d.Intervals[len(d.Intervals)-1].To-got.Video.From
			if from < seconds(1.9) || from > seconds(3) || to-to.Round(time.Second) > printPrecision || to < from || to > seconds(4.001) {
				t.Errorf("damaged from %v to %v: %+v", from, to, d)
			}
			if screened := measure(t, c.segment, watch.Look{Video: time.Hour, Measure: detector.Damage}); c.packets && (screened.Video.Screened || len(screened.Measured.Damage.Intervals) != len(d.Intervals)) {
				t.Errorf("screened: %+v", screened.Measured.Damage)
			}
		})
	}
}
