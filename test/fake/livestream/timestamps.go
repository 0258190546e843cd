package livestream

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"
)

// MPEG-TS (ISO/IEC 13818-1): packets, and timestamps of 33 bits.
const (
	tsPacket = 188
	wrap     = 1 << 33
)

// ticksOf converts a time to ticks of the 90 kHz clock.
func ticksOf(d time.Duration) int64 { return int64(d/time.Millisecond) * (ticks / 1000) }

// stampTS adds shift to every timestamp of an MPEG-TS, in place.
func stampTS(b []byte, shift int64) {
	for ; len(b) >= tsPacket; b = b[tsPacket:] {
		p := b[:tsPacket]
		at := 4
		if p[3]&0x20 != 0 { // an adaptation field
			if length := int(p[4]); length >= 7 && p[5]&0x10 != 0 {
				stampPCR(p[6:12], shift)
			}
			at += 1 + int(p[4])
		}
		starts := p[1]&0x40 != 0
		if !starts || p[3]&0x10 == 0 || at+19 > tsPacket || !bytes.HasPrefix(p[at:], []byte{0, 0, 1}) {
			continue // no packet of a stream begins here
		}
		pes := p[at:]
		if pes[7]&0x80 != 0 {
			stampPTS(pes[9:14], shift)
		}
		if pes[7]&0x40 != 0 {
			stampPTS(pes[14:19], shift)
		}
	}
}

// stampPTS adds to a PTS or DTS (2.4.3.7).
func stampPTS(b []byte, shift int64) {
	at := int64(b[0]>>1&7)<<30 | int64(binary.BigEndian.Uint16(b[1:])>>1)<<15 | int64(binary.BigEndian.Uint16(b[3:])>>1)
	at = (at + shift) & (wrap - 1)
	b[0] = b[0]&0xf1 | byte(at>>29)&0x0e
	binary.BigEndian.PutUint16(b[1:], uint16(at>>15)<<1|1)
	binary.BigEndian.PutUint16(b[3:], uint16(at)<<1|1)
}

// stampPCR adds to a PCR (2.4.3.5).
func stampPCR(b []byte, shift int64) {
	at := int64(binary.BigEndian.Uint32(b))<<1 | int64(b[4]>>7)
	at = (at + shift) & (wrap - 1)
	binary.BigEndian.PutUint32(b, uint32(at>>1))
	b[4] = b[4]&0x7f | byte(at<<7)
}

// splitMP4 splits a file before its first fragment: the init section, and what follows.
func splitMP4(b []byte) (init, fragments []byte) {
	for at := 0; at+8 <= len(b); at += int(binary.BigEndian.Uint32(b[at:])) {
		if string(b[at+4:at+8]) == "moof" {
			return b[:at], b[at:]
		}
	}
	return b, nil
}

// stampMP4 sets the decode time of the tracks in the only fragment of an MP4 (tfdt, ISO/IEC
// 14496-12, 8.8.12), in place. times are in the timescales of the tracks.
func stampMP4(fragment []byte, times ...int64) {
	for rest := fragment; len(times) > 0; times = times[1:] {
		box := bytes.Index(rest, []byte("tfdt\x01")) // version 1: 64 bits
		if box < 0 {
			return
		}
		binary.BigEndian.PutUint64(rest[box+8:], uint64(times[0]))
		rest = rest[box+16:]
	}
}

// withID3Timestamp prepends the timestamp of the first sample to packed audio, as an ID3 PRIV
// frame (RFC 8216, 3.4).
func withID3Timestamp(b []byte, at int64) []byte {
	const owner = "com.apple.streaming.transportStreamTimestamp\x00"
	size := byte(len(owner) + 8) // both sizes are less than 128: one byte is enough
	tag := slices.Concat([]byte("ID3\x04\x00\x00\x00\x00\x00"), []byte{10 + size}, []byte("PRIV\x00\x00\x00"), []byte{size, 0, 0}, []byte(owner))
	return append(binary.BigEndian.AppendUint64(tag, uint64(at)&(wrap-1)), b...)
}
