// Package audioframe reads the headers of AAC and MPEG audio frames that follow each other without a container.
package audioframe

// HeaderSize is how many bytes of a frame say how long it is.
const HeaderSize = 6

// Frame is what the header of a frame says.
type Frame struct {
	Size    int // bytes, the header included; 0: there is no frame
	Samples int // of each channel
	Hertz   int // sampling rate
}

// Parse reads the header of the frame that b begins with.
type Parse func(b []byte) Frame

var adtsRates = []int{96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350}

// ADTS reads the header of an AAC frame (ISO/IEC 13818-7, 6.2). Of HE-AAC it says half the rate and half the
// samples, so the duration is right.
func ADTS(b []byte) Frame {
	// Twelve bits of sync, and two of a layer that is always 0.
	if len(b) < HeaderSize || b[0] != 0xff || b[1]&0xf6 != 0xf0 {
		return Frame{}
	}
	const header = 7
	rate, n := int(b[2]>>2&15), int(b[3]&3)<<11|int(b[4])<<3|int(b[5])>>5
	if rate >= len(adtsRates) || n < header {
		return Frame{}
	}
	blocks := 1
	if len(b) > HeaderSize {
		blocks += int(b[6] & 3)
	}
	return Frame{n, 1024 * blocks, adtsRates[rate]}
}

// MPEG reads the header of a frame of MPEG audio, of any version and layer (ISO/IEC 11172-3, 2.4.1.3; 13818-3).
func MPEG(b []byte) Frame {
	// Eleven bits of sync; the twelfth is 0 in version 2.5 only.
	if len(b) < HeaderSize || b[0] != 0xff || b[1]&0xe0 != 0xe0 {
		return Frame{}
	}
	version, layer, rate, hertz := b[1]>>3&3, 4-b[1]>>1&3, int(b[2]>>4), int(b[2]>>2&3)
	if version == 1 || layer == 4 || rate == 0 || rate == 15 || hertz == 3 {
		return Frame{} // reserved values, or a free bit rate
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
		return Frame{(samples/32*1000*kilobits/hz + padding) * 4, samples, hz}
	}
	return Frame{samples/8*1000*kilobits/hz + padding, samples, hz}
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
