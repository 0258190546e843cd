package corpus

import (
	"bytes"
	"context"
	"fmt"
	"math/bits"
	"os"
	"slices"
)

// captions are the parts of a clip, in seconds, with captions of a kind: "text" in the first field of
// CEA-608, "sparse" with text in 2 of 10 s, "empty" with padding only, "field2" with text in the second
// field, "708" with text in CEA-708.
type captions map[string][][2]float64

// captionRate is the frame rate of clips with captions.
const captionRate = 10

// withCaptions writes captions before each picture of a clip of H.264 or HEVC without B-frames.
func (l *Library) withCaptions(ctx context.Context, c captions, hevc bool, clip string) error {
	format, delimiter, nal := "h264", []byte{0, 0, 1, 9}, []byte{0, 0, 0, 1, 6}
	if hevc {
		format, delimiter, nal = "hevc", []byte{0, 0, 1, 0x46, 1}, []byte{0, 0, 0, 1, 0x4e, 1}
	}
	pictures, captioned := clip+"."+format, clip+".captioned"
	defer os.Remove(pictures)
	if err := l.run(ctx, "-i", clip, "-map", "0:v", "-c", "copy", "-f", format, pictures); err != nil {
		return err
	}
	stream, err := os.ReadFile(pictures)
	if err != nil {
		return err
	}
	var out []byte
	for n, unit := range bytes.Split(stream, delimiter) { // the muxer begins each picture with a delimiter
		if n == 0 {
			out = append(out, unit...)
			continue
		}
		out = slices.Concat(out, delimiter, unit[:1], c.message(nal, n-1), unit[1:])
	}
	if err := os.WriteFile(pictures, out, 0o644); err != nil {
		return err
	}
	if err := l.run(ctx, "-fflags", "+genpts", "-framerate", fmt.Sprint(captionRate), "-f", format, "-i", pictures, "-i", clip,
		"-map", "0:v", "-map", "1:a", "-c", "copy", "-f", "mpegts", captioned); err != nil {
		return err
	}
	return os.Rename(captioned, clip)
}

// message returns the SEI message (ATSC A/53, part 4) of a picture.
func (c captions) message(nal []byte, picture int) []byte {
	at, pairs := float64(picture)/captionRate, []byte(nil)
	letters := []byte("WE SPEAK OF SHIPS AND RAIN ")
	for _, kind := range []string{"text", "sparse", "empty", "field2", "708"} {
		for _, part := range c[kind] {
			if at < part[0] || at >= part[1] {
				continue
			}
			text := []byte{letters[2*picture%26], letters[(2*picture+1)%26]}
			if picture%100 < 3 { // roll up two rows, address the lowest, begin a new one
				text = [][]byte{{0x14, 0x25}, {0x14, 0x70}, {0x14, 0x2d}}[picture%100]
			}
			if kind == "empty" || kind == "sparse" && picture%100 >= 2*captionRate {
				text = []byte{0, 0}
			}
			switch kind {
			case "708": // a packet with five letters for service 1
				pairs = append(pairs, 0xff, byte(picture%4)<<6|4, 0x25, 0xfe, 'S', 'H', 0xfe, 'I', 'P', 0xfe, 'S', 0)
			case "field2":
				if text[0] == 0x14 {
					text[0] = 0x15
				}
				pairs = append(pairs, 0xfc, 0x80, 0x80, 0xfd, odd(text[0]), odd(text[1]))
			default:
				pairs = append(pairs, 0xfc, odd(text[0]), odd(text[1]), 0xfd, 0x80, 0x80)
			}
		}
	}
	if pairs == nil {
		return nil
	}
	body := slices.Concat([]byte{0xb5, 0, 0x31, 'G', 'A', '9', '4', 3, 0x40 | byte(len(pairs)/3), 0xff}, pairs, []byte{0xff})
	return slices.Concat(nal, []byte{4, byte(len(body))}, body, []byte{0x80})
}

// odd adds a parity bit.
func odd(b byte) byte { return b | byte(1-bits.OnesCount8(b)%2)<<7 }
