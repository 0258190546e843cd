package corpus

import (
	"context"
	"fmt"
	"os"

	"github.com/stream-monitor/stream-monitor/test/harness/bitstream"
)

// captions has the parts of a clip with captions, in seconds, by their kind. "text", "sparse" (text in 2 of
// 10 s) and "empty" (padding alone) are in the first field of CEA-608, "field2" is text in the second. "708"
// is text in CEA-708.
type captions map[string][][2]float64

// captionRate is the frame rate of clips with captions.
const captionRate = 10

// withCaptions writes captions before each picture of a clip of H.264 or HEVC without B-frames.
func (l *Library) withCaptions(ctx context.Context, c captions, hevc bool, clip string) error {
	format := "h264"
	if hevc {
		format = "hevc"
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
	if err := os.WriteFile(pictures, bitstream.WithCaptions(stream, hevc, c.triplets), 0o644); err != nil {
		return err
	}
	if err := l.run(ctx, "-fflags", "+genpts", "-framerate", fmt.Sprint(captionRate), "-f", format, "-i", pictures, "-i", clip,
		"-map", "0:v", "-map", "1:a", "-c", "copy", "-f", "mpegts", captioned); err != nil {
		return err
	}
	return os.Rename(captioned, clip)
}

// triplets returns the captions of a picture.
func (c captions) triplets(picture int) (all []byte) {
	at := float64(picture) / captionRate
	for _, kind := range []string{"text", "sparse", "empty", "field2", "708"} {
		for _, part := range c[kind] {
			if at < part[0] || at >= part[1] {
				continue
			}
			text := bitstream.CaptionText(picture)
			if kind == "empty" || kind == "sparse" && picture%100 >= 2*captionRate {
				text = [2]byte{}
			}
			switch kind {
			case "708": // a packet with five letters for service 1
				all = append(all, 0xff, byte(picture%4)<<6|4, 0x25, 0xfe, 'S', 'H', 0xfe, 'I', 'P', 0xfe, 'S', 0)
			case "field2":
				if text[0] == 0x14 {
					text[0] = 0x15
				}
				all = append(all, bitstream.SecondField(text)...)
			default:
				all = append(all, bitstream.FirstField(text)...)
			}
		}
	}
	return all
}
