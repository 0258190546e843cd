package collector

import (
	"context"
	"io"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/capture"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
)

// maxClip leaves room for the index of an MP4 in the limit of a clip.
const maxClip = 19 << 20

// clipMaker makes the clip of one capture.
type clipMaker struct {
	tools   Tools
	media   *capturedMedia
	files   *files
	defects *defects
	instant time.Time
}

// make makes a clip of the media around the instant. Only alerts have a clip. A clip
// that cannot be made costs a note.
func (c *clipMaker) make(ctx context.Context, j capture.Job) {
	if j.Phase != evidence.AlertPhase {
		return
	}
	media, takenAt := c.choose()
	if len(media) == 0 {
		c.defects.note("clip: no media are known")
		return
	}
	var clip *clipFile
	err := c.tools.Remux(ctx, media, func() (io.Writer, error) {
		clip.close()
		file, err := c.media.tempFile()
		if err != nil {
			clip = nil
			return nil, err
		}
		clip = &clipFile{file: file}
		return clip, nil
	}, evidence.Clip.MaxBytes())
	if err != nil {
		c.defects.note("clip: %v", err)
		clip.close()
		return
	}
	c.files.add(evidence.File{Variant: evidence.Clip, TakenAt: takenAt.UTC()}, clip.file, clip.size, clip.file)
}

// choose returns the picture and the sound of the clip: one medium with both, one
// with either, or one of each.
func (c *clipMaker) choose() (media []Media, takenAt time.Time) {
	room := int64(maxClip)
	if len(c.media.tracks) > 1 {
		room /= 2
	}
	tracks := c.media.tracks
	if len(tracks) > 1 && tracks[1].video {
		tracks = []*track{tracks[1], tracks[0]}
	}
	for _, t := range tracks {
		parts := t.around(c.instant, room)
		if len(parts) == 0 {
			continue
		}
		if len(parts) < len(t.parts) {
			c.defects.note("clip: it is shortened to %d MB", maxClip>>20)
		}
		if len(media) == 0 {
			takenAt = parts[0].segment.ProgramTime
		}
		media = append(media, t.media(parts))
	}
	return media[:min(len(media), 2)], takenAt
}

// clipFile appends to a temporary file.
type clipFile struct {
	file TempFile
	size int64
}

// Write implements io.Writer.
func (c *clipFile) Write(p []byte) (int, error) {
	n, err := c.file.WriteAt(p, c.size)
	c.size += int64(n)
	return n, err
}

func (c *clipFile) close() {
	if c != nil {
		_ = c.file.Close()
	}
}
