package corpus

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// make makes an item's segments and their playlist in work/segments.
func (l *Library) make(ctx context.Context, i Item, work string) error {
	clip := filepath.Join(work, "clip.ts")
	if err := l.run(ctx, append(i.encoding(), clip)...); err != nil {
		return err
	}
	dir := filepath.Join(work, "segments")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := l.run(ctx, packaging(i, clip, dir)...); err != nil {
		return err
	}
	if i.Lost == nil {
		return nil
	}
	c, err := load(dir, i)
	if err != nil {
		return err
	}
	return l.removeTrack(ctx, *i.Lost, c, dir)
}

// encoding is how an item is encoded, without the name of the file. One thread
// does it, so that it comes out alike everywhere.
func (i Item) encoding() []string {
	codec := i.codec()
	args := []string{
		"-filter_threads", "1", "-filter_complex_threads", "1",
		"-filter_complex", i.Picture.graph() + "[v];" + i.Sound.graph() + "[a]",
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

// packaging cuts a clip into segments as a packager does: at the key frames,
// without touching what is encoded.
func packaging(i Item, clip, dir string) []string {
	return []string{
		"-i", clip, "-map", "0", "-c", "copy", "-f", "hls",
		"-hls_time", strconv.Itoa(int(i.Target().Seconds())), "-hls_list_size", "0",
		"-hls_segment_filename", filepath.Join(dir, "%03d.ts"), filepath.Join(dir, list),
	}
}
