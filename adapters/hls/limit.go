package hls

import "time"

// What a playlist may be at most. One that is more is malformed, or too_large
// when it is its bytes. A window of an hour with YouTube's shortest segments
// (1.03 s) and 1.5 KB URLs is 3,500 segments, 10,500 lines and 5.5 MB.
const (
	MaxBytes      = 8 << 20        // of a playlist, after any content-encoding
	MaxLines      = 40_000         // blank ones included
	MaxLine       = 16 << 10       // bytes of one line, without its end
	MaxSegments   = 10_000         // in a media playlist
	MaxVariants   = 200            // EXT-X-STREAM-INF and EXT-X-I-FRAME-STREAM-INF in a master
	MaxMedia      = 200            // EXT-X-MEDIA in a master
	MaxAttributes = 64             // in one attribute list
	MaxDuration   = 24 * time.Hour // of a segment, and of EXT-X-TARGETDURATION
	MaxRangeEnd   = 1 << 50        // where a byte range ends, in bytes

	// KeptSegments is how many of the newest entries are looked at further and
	// reported: an hour of 5 s segments. Only the last is analysed (section 6.1).
	KeptSegments = 720

	// DecodeTime is how long decoding may take. It is checked while scanning;
	// the library cannot be interrupted, but gets no more than KeptSegments
	// segments or MaxVariants variants, which it decodes in milliseconds.
	DecodeTime = 2 * time.Second
)
