package corpus

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// encode writes an item's segments and their playlist in a directory.
func (l *Library) encode(ctx context.Context, i Item, dir string) error {
	clip := dir + ".clip"
	defer os.Remove(clip)
	if err := l.run(ctx, append(i.encodingArgs(), clip)...); err != nil {
		return err
	}
	if i.stream.captions != nil {
		if err := l.withCaptions(ctx, i.stream.captions, slices.Contains(i.Codec, "libx265"), clip); err != nil {
			return err
		}
	}
	if err := l.run(ctx, packagingArgs(i, clip, dir)...); err != nil {
		return err
	}
	if i.Missing == nil {
		return nil
	}
	c, err := load(dir, i)
	if err != nil {
		return err
	}
	return l.removeTrack(ctx, *i.Missing, c, dir)
}

// encodingArgs returns ffmpeg's arguments without the output file. One thread encodes, so
// that the result is the same everywhere.
func (i Item) encodingArgs() []string {
	codec, sound := i.Codec, i.Sound.filterGraph()
	if i.stream.opus {
		sound += ",asetnsamples=n=960:p=0" // as in filterGraph
	}
	args := []string{
		"-filter_threads", "1", "-filter_complex_threads", "1",
		"-filter_complex", i.Picture.filterGraph() + "[v];" + sound + "[a]",
		"-map", "[v]", "-map", "[a]", "-t", fmt.Sprint(i.Length),
	}
	if codec == nil {
		codec = h264
	}
	args = append(args, codec...)
	if i.stream.opus {
		args = append(args, "-c:a", "libopus", "-b:a", "64k")
	} else {
		args = append(args, "-c:a", "aac", "-aac_coder", "fast", "-b:a", "96k")
	}
	if i.stream.fragments && i.stream.captions == nil { // withCaptions needs the parameters of the codec in the stream
		return append(args, "-f", "nut")
	}
	return append(args, "-f", "mpegts")
}

// packagingArgs returns the arguments that cut a clip into segments at key frames, without
// encoding it again.
func packagingArgs(i Item, clip, dir string) []string {
	args := []string{"-i", clip}
	if i.stream.late > 0 {
		args = append(args, "-itsoffset", fmt.Sprint(i.stream.late.Seconds()), "-i", clip, "-map", "0:v", "-map", "1:a")
	} else {
		args = append(args, "-map", "0")
	}
	args = append(args, "-c", "copy", "-f", "hls", "-hls_time", strconv.Itoa(int(i.Segment.Seconds())), "-hls_list_size", "0")
	if i.stream.offset > 0 {
		args = append(args, "-output_ts_offset", fmt.Sprint(i.stream.offset.Seconds()))
	}
	if i.stream.fragments && i.stream.captions != nil {
		args = append(args, "-bsf:a", "aac_adtstoasc")
	}
	if i.stream.fragments {
		args = append(args, "-strict", "experimental", "-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", initName)
	}
	return append(args, "-hls_segment_filename", filepath.Join(dir, "%03d.ts"), filepath.Join(dir, playlistName))
}

// The codecs of the corpus. All have B-frames, as television has, and a key
// frame each second, where the packager may cut. Both the pixel format and the flag
// state the range, because encoders differ in which one they use.
var (
	h264            = x264("yuv420p")
	h264full        = x264("yuvj420p")
	h264FlaggedFull = x264("yuv420p", "-color_range", "pc")
	h264TenBit      = x264("yuv420p10le")
	hevcTenBit      = []string{
		"-c:v", "libx265", "-preset", "ultrafast", "-crf", "28", "-pix_fmt", "yuv420p10le",
		"-x265-params", "log-level=none:keyint=25:min-keyint=25:scenecut=0:open-gop=0:bframes=2:pools=none:frame-threads=1",
	}
)

func x264(format string, more ...string) []string {
	return append([]string{
		"-c:v", "libx264", "-preset", "ultrafast", "-crf", "28", "-pix_fmt", format,
		"-g", "25", "-keyint_min", "25", "-sc_threshold", "0", "-bf", "2", "-threads", "1",
	}, more...)
}
