package icy

import "time"

// Cut returns the segments of a stream that arrives in steps of some bytes, and their lengths.
func Cut(stream []byte, step int) (segments [][]byte, lengths []time.Duration, err error) {
	var c cutter
	for len(stream) > 0 && err == nil {
		n := min(step, len(stream))
		var whole []cut
		whole, err = c.add(stream[:n])
		for _, one := range whole {
			segments, lengths = append(segments, one.bytes), append(lengths, one.length)
		}
		stream = stream[n:]
	}
	return segments, lengths, err
}
