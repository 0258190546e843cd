package bitstream

// The packets of an MPEG-TS (ISO/IEC 13818-1), and the identifiers that ffmpeg gives to the packets of
// its tracks.
const (
	PacketSize = 188
	PIDVideo   = 0x100
	PIDAudio   = 0x101
)

// PID returns the identifier of a packet.
func PID(packet []byte) int { return int(packet[1]&0x1f)<<8 | int(packet[2]) }

// WithoutEach removes each nth packet of the picture from a segment, but not the first one.
func WithoutEach(segment []byte, n int) (rest []byte) {
	seen := 0
	for at := 0; at+PacketSize <= len(segment); at += PacketSize {
		packet := segment[at : at+PacketSize]
		if PID(packet) == PIDVideo {
			if seen++; seen%n == 0 {
				continue
			}
		}
		rest = append(rest, packet...)
	}
	return rest
}
