package bitstream

import (
	"bytes"
	"math/bits"
	"slices"
)

// WithCaptions writes captions before each picture of a stream of H.264 or HEVC without B-frames, which
// has a delimiter before each picture, as MPEG-TS has. captions returns those of a picture, counted from 0:
// triplets of CEA-608 or CEA-708 (ATSC A/53, part 4), at most 31; none: nothing is written.
func WithCaptions(stream []byte, hevc bool, captions func(picture int) []byte) (out []byte) {
	delimiter, nal := []byte{0, 0, 1, 9}, []byte{0, 0, 0, 1, 6}
	if hevc {
		delimiter, nal = []byte{0, 0, 1, 0x46, 1}, []byte{0, 0, 0, 1, 0x4e, 1}
	}
	for n, unit := range bytes.Split(stream, delimiter) {
		if n == 0 {
			out = append(out, unit...)
			continue
		}
		out = slices.Concat(out, delimiter, unit[:1], message(nal, captions(n-1)), unit[1:])
	}
	return out
}

// message returns the SEI message with the captions of a picture.
func message(nal, triplets []byte) []byte {
	if len(triplets) == 0 {
		return nil
	}
	body := slices.Concat([]byte{0xb5, 0, 0x31, 'G', 'A', '9', '4', 3, 0x40 | byte(len(triplets)/3), 0xff}, triplets, []byte{0xff})
	return slices.Concat(nal, []byte{4, byte(len(body))}, body, []byte{0x80})
}

// CaptionText returns the pair of bytes of CEA-608 with which a picture goes on with a text. Each 100th
// picture begins a new row, which three pictures need.
func CaptionText(picture int) [2]byte {
	const letters = "WE SPEAK OF SHIPS AND RAIN "
	if picture%100 < 3 { // roll up two rows, address the lowest, begin a new one
		return [][2]byte{{0x14, 0x25}, {0x14, 0x70}, {0x14, 0x2d}}[picture%100]
	}
	return [2]byte{letters[2*picture%26], letters[(2*picture+1)%26]}
}

// FirstField returns the triplets of a pair of CEA-608 in the first field; zeros are padding.
func FirstField(pair [2]byte) []byte {
	return []byte{0xfc, odd(pair[0]), odd(pair[1]), 0xfd, 0x80, 0x80}
}

// SecondField returns the triplets of a pair of CEA-608 in the second field.
func SecondField(pair [2]byte) []byte {
	return []byte{0xfc, 0x80, 0x80, 0xfd, odd(pair[0]), odd(pair[1])}
}

// odd adds a parity bit.
func odd(b byte) byte { return b | byte(1-bits.OnesCount8(b)%2)<<7 }
