package hls

import "time"

// What a playlist may be at most, besides manifest.MaxSize bytes. One that is
// more is malformed. A window of an hour with YouTube's shortest segments
// (1.03 s) and 1.5 KB URLs is 3,500 segments, 10,500 lines and 5.5 MB.
const (
	MaxLines      = 40_000         // blank ones included
	MaxLine       = 16 << 10       // bytes of one line, without its end
	MaxURL        = 8 << 10        // bytes of a URL once it is absolute; YouTube's have up to 1.5 KB
	MaxSegments   = 10_000         // in a media playlist, without those that EXT-X-SKIP counts
	MaxVariants   = 200            // EXT-X-STREAM-INF and EXT-X-I-FRAME-STREAM-INF in a master
	MaxMedia      = 200            // EXT-X-MEDIA in a master, of any type
	MaxAttributes = 64             // in one attribute list
	MaxDuration   = 24 * time.Hour // of a segment, and of EXT-X-TARGETDURATION
	MaxRangeEnd   = 1 << 50        // where a byte range ends, in bytes
	MaxSequence   = 1<<63 - 1      // the sequence number of a segment

	// MaxRenditions is how many renditions a master can come to: every variant
	// is one, and every EXT-X-MEDIA of sound that has a URI of its own.
	MaxRenditions = MaxVariants + MaxMedia

	// KeptSegments is how many of the newest entries are looked at further and
	// reported: an hour of 5 s segments. Only the last is analysed (section 6.1).
	// KeptURLs is how many bytes their URLs may have together, those of keys and
	// maps counted for each segment; older segments are left out. With it a
	// reading keeps 4 MB at most, whatever a playlist's own URL adds to short
	// references; an hour of YouTube's has 1.1 MB.
	KeptSegments = 720
	KeptURLs     = 4 << 20

	// DecodeTime is how long decoding may take. It is checked while scanning;
	// the library cannot be interrupted, but gets no more than KeptSegments
	// segments or MaxVariants variants, which it decodes in milliseconds.
	DecodeTime = 2 * time.Second
)
