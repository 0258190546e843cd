package ffmpeg_test

import (
	"bytes"
	"math/bits"
	"testing"
)

// bitString holds one bit in each byte. Tests rewrite codec headers in it.
type bitString []byte

func bytesToBits(b []byte) (s bitString) {
	for _, c := range b {
		s = append(s, toBits(uint64(c), 8)...)
	}
	return s
}

// toBits returns n as a number of width bits.
func toBits(n uint64, width int) (s bitString) {
	for i := width - 1; i >= 0; i-- {
		s = append(s, byte(n>>i&1))
	}
	return s
}

// expGolomb returns the Exp-Golomb code of n (ITU-T H.264, 9.1).
func expGolomb(n uint64) bitString {
	width := bits.Len64(n + 1)
	return append(make(bitString, width-1), toBits(n+1, width)...)
}

// skipExpGolombs returns the offset after count Exp-Golomb codes that begin at from.
func (s bitString) skipExpGolombs(from, count int) int {
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

func joinNALUnits(units [][]byte) (stream []byte) {
	for _, unit := range units {
		stream = append(append(stream, 0, 0, 0, 1), unit...)
	}
	return stream
}

// resizeH26x changes the size in every sequence parameter set of an H.264 (baseline) or
// HEVC (main) stream. In H.264 it also sets 16 reference frames.
func resizeH26x(t *testing.T, stream []byte, hevc bool, width, height uint64) []byte {
	t.Helper()
	units, found := nalUnits(stream), false
	for i, unit := range units {
		raw := bytes.ReplaceAll(unit, []byte{0, 0, 3}, []byte{0, 0})
		var s, sized bitString
		switch {
		case hevc && unit[0]>>1&0x3f == 33:
			s = bytesToBits(raw[2:])
			sizes := s.skipExpGolombs(8+96, 2)
			sized = append(append(append(sized, s[:sizes]...), expGolomb(width)...), expGolomb(height)...)
			s = s[s.skipExpGolombs(sizes, 2):]
			sized = append(bytesToBits(raw[:2]), append(sized, s...)...)
		case !hevc && unit[0]&0x1f == 7:
			s = bytesToBits(raw[1:])
			codes := 3 // seq_parameter_set_id, log2_max_frame_num_minus4, pic_order_cnt_type
			if s[s.skipExpGolombs(24, 2)] == 1 {
				codes++ // log2_max_pic_order_cnt_lsb_minus4
			}
			references := s.skipExpGolombs(24, codes)
			gaps := s.skipExpGolombs(references, 1)
			sized = append(append(sized, s[:references]...), expGolomb(16)...)
			sized = append(append(append(sized, s[gaps]), expGolomb(width/16-1)...), expGolomb(height/16-1)...)
			s = s[s.skipExpGolombs(gaps+1, 2):]
			sized = append(bytesToBits(raw[:1]), append(sized, s...)...)
		default:
			continue
		}
		found = true
		units[i] = escapeNALUnit(sized.bytes())
	}
	if !found {
		t.Fatal("no sequence parameter set")
	}
	return joinNALUnits(units)
}

// escapeNALUnit adds emulation prevention bytes to a NAL unit (ITU-T H.264, 7.4.1).
func escapeNALUnit(unit []byte) (b []byte) {
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

// resizeVP9 changes the size of every key frame of profile 0 (VP9 bitstream, 6.2).
func resizeVP9(t *testing.T, file []byte, width, height uint64) []byte {
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
		s := bytesToBits(file[at : at+5])
		copy(s[4:], append(toBits(width-1, 16), toBits(height-1, 16)...))
		copy(file[at:], s.bytes())
		found = true
	}
	if !found {
		t.Fatal("no key frame")
	}
	return file
}
