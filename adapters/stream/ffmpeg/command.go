package ffmpeg

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// After the detectors each frame's time and metadata are printed. ffmpeg prints
// only frames that have metadata, so each frame gets some. Every print is
// unbuffered (direct): log lines go to stderr too, and measurements to the same pipe
// as the frames.
const (
	printVideo = ",metadata=mode=add:key=v:value=1,metadata=mode=print:direct=1:file='pipe\\:1'"
	printAudio = ",ametadata=mode=add:key=a:value=1,ametadata=mode=print:direct=1:file='pipe\\:2'"
)

// Then some frames are measured, printed once more, and every frame is dropped. ffmpeg
// writes no track before it knows both, so it would keep all frames (a gigabyte at
// 1080p) if the other track could not be decoded.
//
// Of the picture, one frame a second is measured, scaled down to full-range 8-bit
// luma first: signalstats costs more than decoding. Of the sound, one frame in six is
// measured, about 21 ms of every 128 ms. If astats measured all of it, it would add a
// fifth to the CPU time at 144p.
const (
	measureVideo = ",select='isnan(prev_selected_t)+gte(t-prev_selected_t,1)'" +
		",scale=64:36:flags=area:out_range=pc,format=yuv420p,signalstats" +
		",metadata=mode=print:key=" + lumaKey + ":direct=1:file='pipe\\:1',select=0"
	measureAudio = ",aselect='not(mod(n,6))'" +
		",astats=metadata=1:reset=1:measure_perchannel=none:measure_overall=RMS_level" +
		",ametadata=mode=print:key=" + levelKey + ":direct=1:file='pipe\\:2',aselect=0"
)

// The metadata keys of measurements.
const (
	lumaKey  = "lavfi.signalstats.YAVG"
	levelKey = "lavfi.astats.Overall.RMS_level"
)

// arguments returns the arguments with which ffmpeg reads one segment from its
// stdin and runs the detectors. demuxer is ffmpeg's name of the container. ffmpeg
// refuses pictures with more than maxPixels pixels. With keyFrames, the decoder skips all other
// frames of the picture.
//
// The probe size stays at ffmpeg's default: smaller ones (down to 32 KB) save
// nothing measurable and may miss a track that starts late.
func arguments(setting Settings, demuxer string, maxPixels int64, keyFrames bool) []string {
	var skip []string
	video := filterChain(ofTrack(detector.Video), setting) + printVideo + measureVideo
	if keyFrames {
		skip, video = skipOthers, onlyKeyFrames+video
	}
	return append(slices.Concat(skip, inputArguments(demuxer, maxPixels)),
		"-map", "0:V:0?", "-map", "0:a:0?", // either may be missing; V is video without cover pictures
		"-vf", video,
		"-af", filterChain(ofTrack(detector.Audio), setting)+printAudio+measureAudio,
		"-f", "null", "-",
	)
}

// inputArguments returns the arguments with which ffmpeg reads one segment from its
// stdin to decode it.
func inputArguments(demuxer string, maxPixels int64) []string {
	return []string{
		"-hide_banner", "-nostdin", "-nostats", "-loglevel", "info",
		"-max_error_rate", "1", // newer versions stop when one track has too many errors
		"-filter_threads", "1", "-threads", "1", // one thread for each decoder (decision S9); it saves 5 ms of CPU
		"-max_pixels", strconv.FormatInt(maxPixels, 10),
		"-protocol_whitelist", "pipe", "-f", demuxer, "-i", "pipe:0",
	}
}

// filterChain returns the filters of one track as -vf and -af take them.
func filterChain(chain []trackFilter, setting Settings) string {
	var expressions []string
	for _, f := range chain {
		expressions = append(expressions, f.expression(setting))
	}
	return strings.Join(expressions, ",")
}

// environment returns the variables that ffmpeg gets, fewer than other tools: some
// would change what it prints.
func environment() []string {
	env := []string{"LC_ALL=C", "AV_LOG_FORCE_NOCOLOR=1"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
