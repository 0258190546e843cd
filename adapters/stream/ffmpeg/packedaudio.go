package ffmpeg

import "bytes"

// id3Size returns the length in bytes of the ID3 tag that b begins with, or 0. Each
// packed audio segment has one (RFC 8216, 3.4).
func id3Size(b []byte) int {
	const header = 10 // bytes of the header, and of the footer if there is one (ID3v2.4, 3.1)
	if len(b) < header || !bytes.HasPrefix(b, []byte("ID3")) || (b[6]|b[7]|b[8]|b[9])&0x80 != 0 {
		return 0
	}
	n := header + int(b[6])<<21 + int(b[7])<<14 + int(b[8])<<7 + int(b[9])
	if b[5]&0x10 != 0 {
		n += header
	}
	return n
}

// sniffPackedAudio returns the demuxer for AAC or MP3 frames without a container,
// or "". Another frame must begin where the first one ends, as far as b reaches.
func sniffPackedAudio(b []byte) string {
	for demuxer, frameSize := range map[string]func([]byte) int{aac: adtsFrameSize, mp3: mpegFrameSize} {
		if n := frameSize(b); n > 0 && (n > len(b)-frameHeader || frameSize(b[n:]) > 0) {
			return demuxer
		}
	}
	return ""
}

// frameHeader is how many bytes of an ADTS or MPEG audio frame hold its length.
const frameHeader = 6

// adtsFrameSize returns the length in bytes of the ADTS frame that b begins with
// (ISO/IEC 13818-7, 6.2), or 0.
func adtsFrameSize(b []byte) int {
	// Twelve bits of sync, and two of a layer that is always 0.
	if len(b) < frameHeader || b[0] != 0xff || b[1]&0xf6 != 0xf0 {
		return 0
	}
	const rates, header = 13, 7
	n := int(b[3]&3)<<11 | int(b[4])<<3 | int(b[5])>>5
	if b[2]>>2&15 >= rates || n < header {
		return 0
	}
	return n
}

// mpegFrameSize returns the length in bytes of the MPEG audio frame that b begins
// with, or 0. It knows all versions and layers (ISO/IEC 11172-3, 2.4.1.3; 13818-3).
func mpegFrameSize(b []byte) int {
	// Eleven bits of sync; the twelfth is 0 in version 2.5 only.
	if len(b) < frameHeader || b[0] != 0xff || b[1]&0xe0 != 0xe0 {
		return 0
	}
	version, layer, rate, hertz := b[1]>>3&3, 4-b[1]>>1&3, int(b[2]>>4), int(b[2]>>2&3)
	if version == 1 || layer == 4 || rate == 0 || rate == 15 || hertz == 3 {
		return 0 // reserved values, or a free bit rate
	}
	lowRate, padding := version != 3, int(b[2]>>1&1)
	kilobits := bitRates[layer-1][rate]
	if lowRate {
		kilobits = lowBitRates[min(layer, 2)-1][rate]
	}
	samples := 1152
	if layer == 1 {
		samples = 384
	}
	if layer == 3 && lowRate {
		samples = 576
	}
	hz := []int{44100, 48000, 32000}[hertz]
	if lowRate {
		hz /= 2
	}
	if version == 0 {
		hz /= 2
	}
	if layer == 1 { // layer I counts in slots of four bytes
		return (samples/32*1000*kilobits/hz + padding) * 4
	}
	return samples/8*1000*kilobits/hz + padding
}

// Bit rates by layer in kbit/s: of MPEG-1, and of the low sampling rates of MPEG-2
// and 2.5, where layers II and III are the same.
var (
	bitRates = [3][15]int{
		{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
		{0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
		{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
	}
	lowBitRates = [2][15]int{
		{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
		{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
	}
)
