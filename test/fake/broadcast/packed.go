package broadcast

import (
	"bytes"
	"encoding/binary"
	"time"
)

// withID3Timestamp prepends the timestamp of the first sample to a segment of packed
// audio, as an ID3 PRIV frame (RFC 8216, 3.4).
func withID3Timestamp(b []byte, at time.Duration) []byte {
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
	_ = binary.Write(&out, binary.BigEndian, uint64((ticks%wrap+wrap)%wrap)) // cannot fail
	out.Write(b)
	return out.Bytes()
}

// synchsafe encodes 28 bits as seven in each byte.
func synchsafe(n int) []byte {
	return []byte{byte(n >> 21 & 0x7f), byte(n >> 14 & 0x7f), byte(n >> 7 & 0x7f), byte(n & 0x7f)}
}
