package corpus

// Codec is the encoding of a picture and the range of its luma.
type Codec struct {
	Name string   // as shown
	Bits int      // of a sample
	Full bool     // flagged as full range (0 to 255 at 8 bits); false: 16 to 235
	args []string // for ffmpeg
}

// The codecs of the corpus. All have B-frames, as television has, and a key
// frame each second, where the packager may cut. Both the pixel format and the flag
// state the range, because encoders differ in which one they use.
var (
	h264            = Codec{Name: "H.264", Bits: 8, args: x264("yuv420p")}
	h264full        = Codec{Name: "H.264, full range", Bits: 8, Full: true, args: x264("yuvj420p")}
	h264FlaggedFull = Codec{Name: "H.264, flagged full range", Bits: 8, Full: true, args: x264("yuv420p", "-color_range", "pc")}
	h264TenBit      = Codec{Name: "H.264, 10-bit", Bits: 10, args: x264("yuv420p10le")}
	hevcTenBit      = Codec{Name: "HEVC, 10-bit", Bits: 10, args: []string{
		"-c:v", "libx265", "-preset", "ultrafast", "-crf", "28", "-pix_fmt", "yuv420p10le",
		"-x265-params", "log-level=none:keyint=25:min-keyint=25:scenecut=0:open-gop=0:bframes=2:pools=none:frame-threads=1",
	}}
)

func x264(format string, more ...string) []string {
	return append([]string{
		"-c:v", "libx264", "-preset", "ultrafast", "-crf", "28", "-pix_fmt", format,
		"-g", "25", "-keyint_min", "25", "-sc_threshold", "0", "-bf", "2", "-threads", "1",
	}, more...)
}

// Bits returns how many bits a sample of the item's picture has.
func (i Item) Bits() int { return i.codec().Bits }

// DarkLuma returns the highest luma that counts as dark (pix_th, 10 % of the range
// that the stream says it has), in the item's own samples.
func (i Item) DarkLuma() int {
	scale := 1 << (i.codec().Bits - 8)
	if i.codec().Full {
		return (256*scale - 1) / 10
	}
	return 16*scale + (235-16)*scale/10
}
