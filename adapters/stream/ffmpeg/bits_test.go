package ffmpeg_test

import (
	"bytes"
	"math/bits"
	"testing"
)

// bitString is bytes as bits, one a byte, to rewrite the headers of codecs in.
type bitString []byte

func bitsOf(b []byte) (s bitString) {
	for _, c := range b {
		s = append(s, number(uint64(c), 8)...)
	}
	return s
}

// number is n in so many bits.
func number(n uint64, width int) (s bitString) {
	for i := width - 1; i >= 0; i-- {
		s = append(s, byte(n>>i&1))
	}
	return s
}

// golomb is n as H.264 and HEVC write numbers (ITU-T H.264, 9.1).
func golomb(n uint64) bitString {
	width := bits.Len64(n + 1)
	return append(make(bitString, width-1), number(n+1, width)...)
}

// afterGolombs is where so many of them end that begin at from.
func (s bitString) afterGolombs(from, count int) int {
	for range count {
		zeros := bytes.IndexByte(s[from:], 1)
		from += 2*zeros + 1
	}
	return from
}

func (s bitString) bytes() []byte {
	b := make([]byte, (len(s)+7)/8)
	for i, bit := range s {
		b[i/8] |= bit << (7 - i%8)
	}
	return b
}

// nalUnits splits a stream with start codes (ITU-T H.264, annex B).
func nalUnits(stream []byte) (units [][]byte) {
	for part := range bytes.SplitSeq(stream, []byte{0, 0, 1}) {
		if unit := bytes.TrimRight(part, "\x00"); len(unit) > 0 {
			units = append(units, unit)
		}
	}
	return units
}

func joined(units [][]byte) (stream []byte) {
	for _, unit := range units {
		stream = append(append(stream, 0, 0, 0, 1), unit...)
	}
	return stream
}

// resized is a stream of H.264 (baseline) or HEVC (main) whose every sequence
// parameter set says another size. Of H.264 it also says 16 reference frames.
func resized(t *testing.T, stream []byte, hevc bool, width, height uint64) []byte {
	t.Helper()
	units, found := nalUnits(stream), false
	for i, unit := range units {
		raw := bytes.ReplaceAll(unit, []byte{0, 0, 3}, []byte{0, 0})
		var s, sized bitString
		switch {
		case hevc && unit[0]>>1&0x3f == 33:
			s = bitsOf(raw[2:])
			sizes := s.afterGolombs(8+96, 2)
			sized = append(append(append(sized, s[:sizes]...), golomb(width)...), golomb(height)...)
			s = s[s.afterGolombs(sizes, 2):]
			sized = append(bitsOf(raw[:2]), append(sized, s...)...)
		case !hevc && unit[0]&0x1f == 7:
			s = bitsOf(raw[1:])
			orders := 3 // identifier, frame numbers, kind of order
			if s[s.afterGolombs(24, 2)] == 1 {
				orders++ // kind 0 has its length
			}
			references := s.afterGolombs(24, orders)
			gaps := s.afterGolombs(references, 1)
			sized = append(append(sized, s[:references]...), golomb(16)...)
			sized = append(append(append(sized, s[gaps]), golomb(width/16-1)...), golomb(height/16-1)...)
			s = s[s.afterGolombs(gaps+1, 2):]
			sized = append(bitsOf(raw[:1]), append(sized, s...)...)
		default:
			continue
		}
		found = true
		units[i] = escaped(sized.bytes())
	}
	if !found {
		t.Fatal("no sequence parameter set")
	}
	return joined(units)
}

// escaped keeps start codes out of a unit (ITU-T H.264, 7.4.1).
func escaped(unit []byte) (b []byte) {
	zeros := 0
	for _, c := range unit {
		if zeros == 2 && c <= 3 {
			b, zeros = append(b, 3), 0
		}
		if zeros++; c != 0 {
			zeros = 0
		}
		b = append(b, c)
	}
	return b
}

// resizedVP9 changes the size of every key frame (VP9 bitstream, 6.2) of
// profile 0.
func resizedVP9(t *testing.T, file []byte, width, height uint64) []byte {
	t.Helper()
	file = bytes.Clone(file)
	sync := []byte{0x49, 0x83, 0x42}
	at, found := 0, false
	for {
		i := bytes.Index(file[at:], sync)
		if i < 0 || at+i+8 > len(file) {
			break
		}
		at += i + len(sync)
		s := bitsOf(file[at : at+5])
		copy(s[4:], append(number(width-1, 16), number(height-1, 16)...))
		copy(file[at:], s.bytes())
		found = true
	}
	if !found {
		t.Fatal("no key frame")
	}
	return file
}
