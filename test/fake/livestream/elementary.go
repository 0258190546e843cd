package livestream

import (
	"bytes"
	"errors"
	"fmt"
)

// accessUnits splits an H.264 byte stream at its access unit delimiters.
func accessUnits(b []byte) ([][]byte, error) {
	delimiter := []byte{0, 0, 0, 1, 9}
	if !bytes.HasPrefix(b, delimiter) {
		return nil, errors.New("livestream: H.264 without access unit delimiters")
	}
	var units [][]byte
	for len(b) > 0 {
		n := bytes.Index(b[1:], delimiter)
		if n < 0 {
			n = len(b) - 1
		}
		units = append(units, b[:n+1])
		b = b[n+1:]
	}
	return units, nil
}

// adtsFrames splits an AAC stream in ADTS into its frames, headers included.
func adtsFrames(b []byte) ([][]byte, error) {
	var frames [][]byte
	for len(b) > 0 {
		if len(b) < 7 || b[0] != 0xff || b[1]&0xf0 != 0xf0 {
			return nil, fmt.Errorf("livestream: AAC frame %d is not ADTS", len(frames))
		}
		n := int(b[3]&3)<<11 | int(b[4])<<3 | int(b[5])>>5
		if n < 7 || n > len(b) {
			return nil, fmt.Errorf("livestream: AAC frame %d is cut off", len(frames))
		}
		frames = append(frames, b[:n])
		b = b[n:]
	}
	return frames, nil
}
