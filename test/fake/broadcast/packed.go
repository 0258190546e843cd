package broadcast

import (
	"bytes"
	"encoding/binary"
	"time"
)

// stamped is a segment of packed audio with the timestamp of its first sample
// before it, as an ID3 private frame (RFC 8216, 3.4).
func stamped(b []byte, at time.Duration) []byte {
	const owner = "com.apple.streaming.transportStreamTimestamp\x00"
	size := len(owner) + 8
	var out bytes.Buffer
	out.WriteString("ID3\x04\x00\x00")
	out.Write(synchsafe(10 + size))
	out.WriteString("PRIV")
	out.Write(synchsafe(size))
	out.Write([]byte{0, 0})
	out.WriteString(owner)
	ticks := int64(at) / 1000 * clockRate / int64(time.Second/1000)
	_ = binary.Write(&out, binary.BigEndian, uint64((ticks%wrap+wrap)%wrap)) // into memory
	out.Write(b)
	return out.Bytes()
}

// synchsafe is a number of 28 bits, seven to a byte.
func synchsafe(n int) []byte {
	return []byte{byte(n >> 21 & 0x7f), byte(n >> 14 & 0x7f), byte(n >> 7 & 0x7f), byte(n & 0x7f)}
}
