package corpus

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// encode writes an item's segments and their playlist in work/segments.
func (l *Library) encode(ctx context.Context, i Item, work string) error {
	clip := filepath.Join(work, "clip.ts")
	if err := l.run(ctx, append(i.encodingArgs(), clip)...); err != nil {
		return err
	}
	dir := filepath.Join(work, "segments")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
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
	codec := i.codec()
	args := []string{
		"-filter_threads", "1", "-filter_complex_threads", "1",
		"-filter_complex", i.Picture.filterGraph() + "[v];" + i.Sound.filterGraph() + "[a]",
		"-map", "[v]", "-map", "[a]", "-t", fmt.Sprint(i.Length),
	}
	args = append(args, codec.args...)
	return append(args, "-c:a", "aac", "-aac_coder", "fast", "-b:a", "96k", "-f", "mpegts")
}

func (i Item) codec() Codec {
	if i.Codec.args == nil {
		return h264
	}
	return i.Codec
}

// packagingArgs returns the arguments that cut a clip into segments at key frames, without
// encoding it again.
func packagingArgs(i Item, clip, dir string) []string {
	return []string{
		"-i", clip, "-map", "0", "-c", "copy", "-f", "hls",
		"-hls_time", strconv.Itoa(int(i.Target().Seconds())), "-hls_list_size", "0",
		"-hls_segment_filename", filepath.Join(dir, "%03d.ts"), filepath.Join(dir, playlistName),
	}
}
