package watch

import "time"

// Measure has the brightness and the loudness of about a second of a segment.
type Measure struct {
	At    time.Duration `json:"at"`              // of the first frame measured, from the first timestamp of the segment
	Luma  *float64      `json:"luma,omitempty"`  // mean, 0 (black) to MaxLuma (white), full range whatever the stream's; nil: no picture
	Level *float64      `json:"level,omitempty"` // RMS in dBFS over all channels, MinLevel to 0; nil: no sound
}

// Limits of a Measure.
const (
	MaxLuma  = 255
	MinLevel = -120 // dBFS; also stands for digital silence
)
