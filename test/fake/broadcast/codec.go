package broadcast

// Video is a video codec; empty means no video.
type Video string

// The video codecs. Every second begins with a key frame that no later frame
// refers back across.
const (
	NoVideo      Video = ""
	H264         Video = "h264"          // High profile, with B-frames
	H264Baseline Video = "h264-baseline" // Baseline profile, as simple encoders send it
	HEVC         Video = "hevc"
	VP9          Video = "vp9"
	AV1          Video = "av1"
)

// Audio is an audio codec; empty means no audio.
type Audio string

// The audio codecs.
const (
	NoAudio Audio = ""
	AAC     Audio = "aac"    // AAC-LC
	HEAAC   Audio = "he-aac" // only declared as such (heaac.go); MP4 only
	Opus    Audio = "opus"   // MP4 only
	MP3     Audio = "mp3"
)

// video is the encoding of a video codec.
type video struct {
	width, height int
	codecs        string // RFC 6381
	encoder       []string
}

var videos = map[Video]video{
	H264: {256, 144, "avc1.64000b", []string{
		"libx264", "-preset", "veryfast", "-profile:v", "high", "-level", "1.1", "-crf", "28", "-sc_threshold", "0",
	}},
	H264Baseline: {320, 180, "avc1.42c00c", []string{
		"libx264", "-preset", "veryfast", "-profile:v", "baseline", "-level", "1.2", "-crf", "28", "-sc_threshold", "0",
	}},
	HEVC: {256, 144, "hvc1.1.6.L30.90", []string{
		"libx265", "-preset", "ultrafast", "-tag:v", "hvc1", "-x265-params", "scenecut=0:open-gop=0:log-level=error",
	}},
	VP9: {256, 144, "vp09.00.10.08", []string{"libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "150k"}},
	AV1: {256, 144, "av01.0.00M.08", []string{"libaom-av1", "-usage", "realtime", "-cpu-used", "8", "-b:v", "150k"}},
}

// audio is the encoding of an audio codec.
type audio struct {
	rate    int // encoded samples a second
	codecs  string
	encoder []string
}

var audios = map[Audio]audio{
	AAC:   {48_000, "mp4a.40.2", []string{"aac", "-b:a", "64k"}},
	HEAAC: {24_000, "mp4a.40.5", []string{"aac", "-b:a", "32k"}},
	Opus:  {48_000, "opus", []string{"libopus", "-b:a", "48k"}},
	MP3:   {48_000, "mp4a.40.34", []string{"libmp3lame", "-b:a", "64k"}},
}
