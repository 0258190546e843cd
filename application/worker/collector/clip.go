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

// makeClip makes a clip of the media around the instant. Only alerts have a clip. A clip
// that cannot be made costs a note.
func (r *record) makeClip(ctx context.Context, j capture.Job) {
	if j.Phase != evidence.AlertPhase {
		return
	}
	media, takenAt := r.clipMedia()
	if len(media) == 0 {
		r.note("clip: no media are known")
		return
	}
	var clip *clipFile
	err := r.c.ports.Tools.Remux(ctx, media, func() (io.Writer, error) {
		clip.close()
		file, err := r.c.ports.TempFile()
		if err != nil {
			clip = nil
			return nil, err
		}
		clip = &clipFile{file: file}
		return clip, nil
	}, evidence.Clip.MaxBytes())
	if err != nil {
		r.note("clip: %v", err)
		clip.close()
		return
	}
	r.addFile(evidence.File{Variant: evidence.Clip, TakenAt: takenAt.UTC()}, clip.file, clip.size, clip.file)
}

// clipMedia returns the picture and the sound of the clip: one medium with both, one
// with either, or one of each.
func (r *record) clipMedia() (media []Media, takenAt time.Time) {
	room := int64(maxClip)
	if len(r.tracks) > 1 {
		room /= 2
	}
	tracks := r.tracks
	if len(tracks) > 1 && tracks[1].video {
		tracks = []*track{tracks[1], tracks[0]}
	}
	for _, t := range tracks {
		parts := t.around(r.instant, room)
		if len(parts) == 0 {
			continue
		}
		if len(parts) < len(t.parts) {
			r.note("clip: it is shortened to %d MB", maxClip>>20)
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
