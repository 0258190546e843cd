package ffmpeg

import "bytes"

// tagSize is the length of the ID3 tag that b begins with, in bytes; 0: none.
// Each packed audio segment has one (RFC 8216, 3.4).
func tagSize(b []byte) int {
	const header = 10 // of a tag and, if it has one, of its footer (ID3v2.4, 3.1)
	if len(b) < header || !bytes.HasPrefix(b, []byte("ID3")) || (b[6]|b[7]|b[8]|b[9])&0x80 != 0 {
		return 0
	}
	n := header + int(b[6])<<21 + int(b[7])<<14 + int(b[8])<<7 + int(b[9])
	if b[5]&0x10 != 0 {
		n += header
	}
	return n
}

// packedAudio tells the demuxer for frames of AAC or MP3 without a container.
// Where a frame says the next one begins, one has to, as far as b goes.
func packedAudio(b []byte) string {
	for format, length := range map[string]func([]byte) int{aac: adtsLength, mp3: mpegLength} {
		if n := length(b); n > 0 && (n > len(b)-frameHeader || length(b[n:]) > 0) {
			return format
		}
	}
	return ""
}

// frameHeader is how many bytes tell the length of a frame, of either kind.
const frameHeader = 6

// adtsLength is the length of the ADTS frame that b begins with (ISO/IEC
// 13818-7, 6.2); 0: it is none.
func adtsLength(b []byte) int {
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

// mpegLength is the length of the MPEG audio frame that b begins with, of any
// version and layer (ISO/IEC 11172-3, 2.4.1.3, and 13818-3); 0: it is none.
func mpegLength(b []byte) int {
	// Eleven bits of sync; the twelfth is 0 in version 2.5 only.
	if len(b) < frameHeader || b[0] != 0xff || b[1]&0xe0 != 0xe0 {
		return 0
	}
	version, layer, rate, hertz := b[1]>>3&3, 4-b[1]>>1&3, int(b[2]>>4), int(b[2]>>2&3)
	if version == 1 || layer == 4 || rate == 0 || rate == 15 || hertz == 3 {
		return 0 // reserved, or a rate that is left open
	}
	half, padding := version != 3, int(b[2]>>1&1)
	kilobits := bitRates[layer-1][rate]
	if half {
		kilobits = halfBitRates[min(layer, 2)-1][rate]
	}
	samples := 1152
	if layer == 1 {
		samples = 384
	}
	if layer == 3 && half {
		samples = 576
	}
	hz := []int{44100, 48000, 32000}[hertz]
	if half {
		hz /= 2
	}
	if version == 0 {
		hz /= 2
	}
	if layer == 1 { // it counts in slots of four bytes
		return (samples/32*1000*kilobits/hz + padding) * 4
	}
	return samples/8*1000*kilobits/hz + padding
}

// The bit rates of each layer, in kbit/s, at whole and at lower sampling rates;
// there, layers II and III have the same.
var (
	bitRates = [3][15]int{
		{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
		{0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
		{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
	}
	halfBitRates = [2][15]int{
		{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
		{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
	}
)
