package livestream

// Rendition is one quality of a stream. A rendition with neither size nor
// NoAudio has audio alone; one with NoAudio and Captions alone has captions as text (WebVTT).
type Rendition struct {
	Itag          int // YouTube's number of the format: 91 is 144p, 93 is 360p
	Width, Height int // pixels, even; zero: no video track
	NoAudio       bool
	Stereo        bool // the sound has two channels instead of one
	Captions      bool // its pictures have captions (CEA-608), of MPEG-TS with both tracks; or see above
	Bandwidth     int  // bits per second, as the master playlist announces it
}

// The renditions of a default stream, and those of a demuxed one.
var (
	Muxed144p = Rendition{Itag: 91, Width: 256, Height: 144, Bandwidth: 290_288}
	Muxed360p = Rendition{Itag: 93, Width: 640, Height: 360, Bandwidth: 1_010_000}
	Video144p = Rendition{Itag: 269, Width: 256, Height: 144, NoAudio: true, Bandwidth: 159_000}
	AudioOnly = Rendition{Itag: 234, Bandwidth: 131_000}

	CaptionText = Rendition{Itag: 386, NoAudio: true, Captions: true}
)

// isText reports whether the rendition has captions as text, and nothing else.
func (r Rendition) isText() bool { return r.Captions && !r.HasVideo() && !r.HasAudio() }

// HasVideo reports whether the rendition has a video track.
func (r Rendition) HasVideo() bool { return r.Height > 0 }

// HasAudio reports whether the rendition has an audio track.
func (r Rendition) HasAudio() bool { return !r.NoAudio }
