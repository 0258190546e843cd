package broadcast

import "encoding/binary"

// clockRate is the ticks per second of MPEG-TS timestamps, which wrap after 33 bits.
const (
	clockRate = 90_000
	wrap      = 1 << 33
	tsPacket  = 188
)

// shiftTimestamps adds shift to every timestamp of an MPEG-TS segment, in place.
func shiftTimestamps(b []byte, shift int64) {
	for ; len(b) >= tsPacket; b = b[tsPacket:] {
		p := b[:tsPacket]
		starts := p[1]&0x40 != 0
		at := 4
		if p[3]&0x20 != 0 { // an adaptation field
			if length := int(p[4]); length >= 7 && p[5]&0x10 != 0 {
				shiftPCR(p[6:12], shift)
			}
			at += 1 + int(p[4])
		}
		if !starts || p[3]&0x10 == 0 || at+19 > tsPacket {
			continue
		}
		pes := p[at:]
		if pes[0] != 0 || pes[1] != 0 || pes[2] != 1 { // a table, not a stream
			continue
		}
		if pes[7]&0x80 != 0 {
			shiftTimestamp(pes[9:14], shift)
		}
		if pes[7]&0x40 != 0 {
			shiftTimestamp(pes[14:19], shift)
		}
	}
}

// shiftTimestamp adds to a PTS or DTS (ISO/IEC 13818-1, 2.4.3.7).
func shiftTimestamp(b []byte, shift int64) {
	at := int64(b[0]>>1&7)<<30 | int64(binary.BigEndian.Uint16(b[1:])>>1)<<15 | int64(binary.BigEndian.Uint16(b[3:])>>1)
	at = ((at+shift)%wrap + wrap) % wrap
	b[0] = b[0]&0xf1 | byte(at>>29)&0x0e
	binary.BigEndian.PutUint16(b[1:], uint16(at>>15)<<1|1)
	binary.BigEndian.PutUint16(b[3:], uint16(at)<<1|1)
}

// shiftPCR adds to a PCR (ISO/IEC 13818-1, 2.4.3.5).
func shiftPCR(b []byte, shift int64) {
	at := int64(binary.BigEndian.Uint32(b))<<1 | int64(b[4]>>7)
	at = ((at+shift)%wrap + wrap) % wrap
	binary.BigEndian.PutUint32(b, uint32(at>>1))
	b[4] = b[4]&0x7f | byte(at<<7)
}
