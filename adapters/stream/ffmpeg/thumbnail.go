package ffmpeg

import (
	"context"
	"fmt"
	"io"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/application/worker/collector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

var _ worker.ThumbnailMaker = (*Capturer)(nil)

// maxThumbnail is the largest thumbnail in bytes.
const maxThumbnail = 32 << 10

// thumbnailFilters scale a picture to square pixels, at most 256 x 144. Sizes are even.
const thumbnailFilters = "scale=w='max(2,2*trunc(iw*sar*min(1,min(256/(iw*sar),144/ih))/2))'" +
	":h='max(2,2*trunc(ih*min(1,min(256/(iw*sar),144/ih))/2))':out_range=pc,format=yuvj420p"

// Thumbnail returns a JPEG of the first picture of a segment, at most 256 x 144 and 32 KiB.
// body may end within the segment. It has the limits of an analysis. Errors: those of
// Analyse; *watch.Failure undecodable if there is no picture.
func (c *Capturer) Thumbnail(ctx context.Context, s watch.Segment, body io.Reader) ([]byte, error) {
	m := collector.Media{Segment: s, Open: func() io.Reader { return body }}
	res, err := c.analyser.execute(ctx, []collector.Media{m}, func(demuxers []string) subprocess.Command {
		return subprocess.Command{MaxOutput: maxThumbnail, Args: append(inputArguments(demuxers[0], c.analyser.config.maxPixels()),
			"-map", "0:V:0", "-vf", thumbnailFilters, "-frames:v", "1", "-fps_mode", "passthrough", "-c:v", "mjpeg", "-q:v", "7", "-f", "mjpeg", "pipe:1")}
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("make a thumbnail: %w", err)
	case len(res.Stdout) == 0:
		return nil, watch.NewFailure(watch.FailureUndecodable, "the segment begins with no picture that can be decoded")
	}
	return res.Stdout, nil
}
