package watch

import "time"

// Look says how closely the analysis of a segment looks at the picture (decision S18).
// The sound is always decoded whole.
type Look string

// The looks.
const (
	EveryFrame Look = ""           // every frame is decoded; the intervals are exact
	KeyFrames  Look = "key_frames" // only key frames are decoded; the intervals of the picture are a suspicion
)

// Screen describes the key frames of a segment. The watcher decides by it whether every
// frame is worth decoding. If the look saw a bad key frame, the intervals
// of the analysis are not empty. Their times say nothing, as most frames were not seen.
type Screen struct {
	KeyFrames int           `json:"key_frames"`        // how many were decoded
	Gap       time.Duration `json:"gap,omitzero"`      // longest time between two of them
	Damaged   bool          `json:"damaged,omitempty"` // the container or a decoder reported damage
}
