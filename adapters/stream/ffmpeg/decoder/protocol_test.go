package decoder_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Offsets of the numbers of an answer, in bytes after its 16 bytes of head.
const (
	atPictures, atCaptions, atChannels = 16, 24, 28
	atLoudness, atFullScale, atShare   = 36, 52, 84
	atRecord                           = 92
	atPicture                          = atRecord + 20
	atChange                           = atPicture + decoder.PictureSize
)

// answer returns the body of an answer with one record, one picture and one change at a second each.
func answer() []byte {
	le := binary.LittleEndian
	var b []byte
	for _, n := range []uint32{3, 0, 1, 0, 1, 1, 2, 2, 10} {
		b = le.AppendUint32(b, n)
	}
	for _, v := range []float64{-23, 1.5, 0.25, -20, -21, 0.5, 0.75} {
		b = le.AppendUint64(b, math.Float64bits(v))
	}
	b = le.AppendUint64(b, 1_000_000)
	b = le.AppendUint32(b, uint32(decoder.Frame))
	b = le.AppendUint64(b, 0)
	b = le.AppendUint64(b, 1_000_000)
	for _, n := range []uint32{256, 144, 18} {
		b = le.AppendUint32(b, n)
	}
	b = append(b, bytes.Repeat([]byte{7}, detector.DigestWidth*detector.DigestHeight)...)
	b = append(b, bytes.Repeat([]byte{8}, detector.ChromaWidth*detector.ChromaHeight)...)
	b = append(b, bytes.Repeat([]byte{9}, detector.ChromaWidth*detector.ChromaHeight)...)
	b = le.AppendUint64(b, 1_000_000)
	for _, v := range []float64{1, 20, 10} {
		b = le.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

func read(body []byte) (decoder.Result, error) {
	le := binary.LittleEndian
	head := le.AppendUint32([]byte("SDA3"), 0)
	head = le.AppendUint32(head, 0)
	head = le.AppendUint32(head, uint32(len(body)))
	return decoder.ReadAnswer(bytes.NewReader(append(head, body...)))
}

func TestAnAnswerHasItsMeasurements(t *testing.T) {
	r, err := read(answer())
	if err != nil {
		t.Fatal(err)
	}
	p := r.Pictures[0]
	if p.At != time.Second || p.Width != 256 || p.Height != 144 || p.Bars != 18 || p.Luma[0] != 7 || slices.Max(p.U) != 8 || slices.Min(p.V) != 9 {
		t.Errorf("picture %+v", p)
	}
	if want := (detector.FrameChange{At: time.Second, Mean: 1, Block: 20, Ratio: 10}); r.Movement[0] != want {
		t.Errorf("change %+v", r.Movement[0])
	}
	if want := (detector.SoundMeasure{Channels: 2, Loudness: -23, Loud: 1500 * time.Millisecond, FullScale: 0.25, Left: -20, Right: -21, Correlation: 0.5}); *r.Sound != want {
		t.Errorf("sound %+v", *r.Sound)
	}
	if want := (detector.ToneMeasure{Share: 0.75, Blocks: 10}); *r.Tone != want || r.Captions != detector.CaptionText {
		t.Errorf("tone %+v, captions %s", *r.Tone, r.Captions)
	}
}

// A process whose answer is out of range is not trusted again.
func TestAnAnswerOutOfRangeIsRefused(t *testing.T) {
	le := binary.LittleEndian
	number := func(at int, n uint32) func([]byte) []byte {
		return func(b []byte) []byte { le.PutUint32(b[at:], n); return b }
	}
	value := func(at int, v float64) func([]byte) []byte {
		return func(b []byte) []byte { le.PutUint64(b[at:], math.Float64bits(v)); return b }
	}
	for name, change := range map[string]func([]byte) []byte{
		"too short":                   func(b []byte) []byte { return b[:len(b)-1] },
		"too long":                    func(b []byte) []byte { return append(b, 0) },
		"without a head":              func(b []byte) []byte { return b[:40] },
		"two pictures announced":      number(atPictures, 2),
		"too many pictures":           number(atPictures, 1<<31),
		"unknown captions":            number(atCaptions, 3),
		"nine channels":               number(atChannels, 9),
		"no loudness":                 value(atLoudness, math.NaN()),
		"loudness without limits":     value(atLoudness, math.Inf(1)),
		"endless blocks":              value(atLoudness+8, math.Inf(1)),
		"part of -1":                  value(atFullScale, -0.5),
		"more than all at full scale": value(atFullScale, 1.5),
		"a correlation of 2":          value(atShare-8, 2),
		"more than all is a tone":     value(atShare, 1.01),
		"a record of no kind":         number(atRecord+8, 7),
		"a record that is no number":  value(atRecord+12, math.NaN()),
		"a picture in a year":         value(atPicture, 1),
		"a picture without a width":   number(atPicture+8, 0),
		"a picture of a great height": number(atPicture+12, 1<<17),
		"19 strips of 18":             number(atPicture+16, 19),
		"a change in a year":          value(atChange, 1),
		"a change of no number":       value(atChange+8, math.NaN()),
		"a change below none":         value(atChange+16, -1),
		"a change beyond all":         value(atChange+24, 256),
	} {
		if _, err := read(change(answer())); !errors.Is(err, decoder.ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Some decoders return key frames in the reverse of their order.
func TestPicturesAreInTheOrderOfTheirTimes(t *testing.T) {
	b := answer()
	earlier := bytes.Clone(b[atPicture:atChange])
	binary.LittleEndian.PutUint64(earlier, 500_000)
	b = slices.Insert(b, atChange, earlier...)
	binary.LittleEndian.PutUint32(b[atPictures:], 2)
	if r, err := read(b); err != nil || r.Pictures[0].At != time.Second/2 {
		t.Errorf("%v: %v", err, r.Pictures)
	}
}
