package livestream

// packet writes one packet and returns how many bytes of payload it holds. It stuffs a
// packet that payload does not fill.
func (w *tsWriter) packet(pid int, start bool, field, payload []byte) int {
	room := packetSize - 4
	hasField := field != nil
	if hasField {
		room -= 1 + len(field)
	}
	if len(payload) < room {
		if !hasField {
			hasField = true
			room--
			if len(payload) < room {
				field = []byte{0}
				room--
			}
		}
		for ; len(payload) < room; room-- {
			field = append(field, 0xff)
		}
	}
	p := w.header(pid, start, hasField)
	if hasField {
		p = append(p, byte(len(field)))
		p = append(p, field...)
	}
	w.out = append(append(w.out, p...), payload[:room]...)
	return room
}

// header returns the four bytes at the start of each packet.
func (w *tsWriter) header(pid int, start, hasField bool) []byte {
	h := []byte{0x47, byte(pid >> 8), byte(pid), 0x10 | w.counters[pid]}
	if start {
		h[1] |= 0x40
	}
	if hasField {
		h[3] |= 0x20
	}
	w.counters[pid] = (w.counters[pid] + 1) & 0x0f
	return h
}

// appendPTS appends a PTS, 33 bits.
func appendPTS(b []byte, at int64) []byte {
	return append(b,
		0x21|byte(at>>29)&0x0e,
		byte(at>>22),
		0x01|byte(at>>14)&0xfe,
		byte(at>>7),
		0x01|byte(at<<1),
	)
}

// appendPCR appends a PCR, 33 bits of 90 kHz and nine of zero.
func appendPCR(b []byte, at int64) []byte {
	return append(b, byte(at>>25), byte(at>>17), byte(at>>9), byte(at>>1), byte(at<<7)|0x7e, 0)
}

// crc32MPEG returns the CRC of a table (CRC-32/MPEG-2).
func crc32MPEG(b []byte) uint32 {
	crc := uint32(0xffffffff)
	for _, c := range b {
		crc ^= uint32(c) << 24
		for range 8 {
			if crc&0x80000000 != 0 {
				crc = crc<<1 ^ 0x04c11db7
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}
