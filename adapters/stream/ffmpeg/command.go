package ffmpeg

import (
	"os"
	"strconv"
)

// The filters of sections 6.3 and 6.4. The shortest silence is shorter than
// the 0.5 s of section 6.4 so that silence which began just before the end of a
// segment shows; what is too short is the caller's to decide. Black has no such
// need: its beginning is tagged at once.
const (
	blackdetect   = "blackdetect=d=0.1:pix_th=0.10:pic_th=0.98"
	silencedetect = "silencedetect=d=0.1:n="
)

// After a detector, each frame's time and tags are printed. Only frames with a
// tag are, so each gets one. Then the frame is dropped: nobody needs it, and
// when the other track cannot be decoded ffmpeg would keep every frame until the
// end (at 1080p a gigabyte) because it cannot write one track before it knows
// both. What goes to stderr is written line by line (direct), between log lines.
const (
	printVideo = ",metadata=mode=add:key=v:value=1,metadata=mode=print:file='pipe\\:1',select=0"
	printAudio = ",ametadata=mode=add:key=a:value=1,ametadata=mode=print:direct=1:file='pipe\\:2',aselect=0"
)

// arguments has ffmpeg read one segment of the given format from its stdin, and
// decode no picture of more pixels.
//
// The size of the probe is left at ffmpeg's default: smaller ones (down to
// 32 KB) saved nothing measurable, and may miss a track that starts late.
func arguments(format string, silenceDB float64, pixels int64) []string {
	return []string{
		"-hide_banner", "-nostdin", "-nostats", "-loglevel", "info",
		"-max_error_rate", "1", // newer versions stop everything when one track has too many errors
		"-filter_threads", "1", "-threads", "1", // one thread a stream (decision S9), and 5 ms of CPU less
		"-max_pixels", strconv.FormatInt(pixels, 10),
		"-protocol_whitelist", "pipe", "-f", format, "-i", "pipe:0",
		"-map", "0:V:0?", "-map", "0:a:0?", // either may be missing; V is video without cover pictures
		"-vf", blackdetect + printVideo,
		"-af", silencedetect + strconv.FormatFloat(silenceDB, 'f', -1, 64) + "dB" + printAudio,
		"-f", "null", "-",
	}
}

// environment is what a program needs to start. Not ours: it has keys in it
// that a decoder of strangers' bytes must not have, and may have variables that
// change what ffmpeg prints. GATEWAY_PLACE is no secret: by it a gateway finds
// what is left of a worker that has died.
func environment() []string {
	env := []string{"LC_ALL=C", "AV_LOG_FORCE_NOCOLOR=1"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "GATEWAY_PLACE"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
