package collector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/capture"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// record is one capture: what was fetched and taken so far for one event.
type record struct {
	c         *Collector
	key       string // of its jobs
	condition string
	phase     evidence.Phase
	instant   time.Time
	id        evidence.ID
	eventID   string
	tracks    []*track
	pictures  []takenPicture
	files     []*file  // in the order in which they are uploaded
	notes     []string // why something is missing
	unclear   bool
	extra     bool // one more segment was asked for
	complete  bool // no job follows

	reported  bool      // the gateway has the event
	noted     bool      // the gateway has all notes
	logged    bool      // that something is missing
	lastErr   error     // of an upload
	keepUntil time.Time // when the files are lost if the gateway does not take them
}

// takenPicture is a picture that was taken, or that could not be.
type takenPicture struct {
	variant evidence.Variant
	luma    *float64 // nil: it could not be taken
}

func newRecord(c *Collector, j capture.Job) *record {
	return &record{c: c, key: j.Key, condition: j.Condition, phase: j.Phase, instant: j.Instant, id: evidence.ID(c.cfg.NewID())}
}

func (r *record) setEvent(id string) {
	if id != "" {
		r.eventID = id
	}
}

// note keeps why something is missing, once.
func (r *record) note(format string, args ...any) {
	text := strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, fmt.Sprintf(format, args...))
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
		r.noted = false
	}
}

// noteText returns the notes within the limit of a record.
func (r *record) noteText() string {
	text := strings.Join(r.notes, "; ")
	return strings.ToValidUTF8(text[:min(len(text), evidence.MaxNote)], "")
}

// maxFailures is how many segments in a row may fail before a job asks for no more.
const maxFailures = 3

// gather gets the segments of the tracks that it does not have yet: those that analysis
// fetched, and the others if the job says so.
func (r *record) gather(ctx context.Context, j capture.Job) {
	for i, want := range j.Tracks {
		if i == len(r.tracks) {
			file, err := r.c.ports.TempFile()
			if err != nil {
				r.noteMedia(j, err)
				return
			}
			r.tracks = append(r.tracks, &track{file: file})
		}
		t := r.tracks[i]
		t.video, t.audio, t.listed = want.Video, want.Audio, want.Segments
		for _, s := range want.Segments {
			content := r.c.kept.content(s)
			if content == nil || t.has(s) {
				continue
			}
			if err := t.add(s, bytes.NewReader(content)); err != nil {
				r.noteSegment(j, s, err)
				break
			}
		}
		if j.Fetch {
			r.fetch(ctx, j, t)
		}
	}
}

// noteMedia notes that there is no place for media. After a collection it notes nothing,
// because the next step tries again.
func (r *record) noteMedia(j capture.Job, err error) {
	if j.Step == capture.Collect {
		return
	}
	r.note("media: %v", err)
	r.unclear = r.unclear || r.video() == nil
}

// noteSegment notes that a segment cannot be had.
func (r *record) noteSegment(j capture.Job, s watch.Segment, err error) {
	if errors.Is(err, ErrBudget) {
		r.noteMedia(j, ErrBudget)
		return
	}
	r.note("segment %d: %v", s.Sequence, err)
}

// fetch gets the segments of a track that it does not have yet from the server.
func (r *record) fetch(ctx context.Context, j capture.Job, t *track) {
	failures := 0 // in a row
	for _, s := range t.listed {
		err := t.fetch(ctx, r.c.ports.Segments, s)
		if err == nil {
			failures = 0
			continue
		}
		r.noteSegment(j, s, err)
		failures++
		if ctx.Err() != nil || failures == maxFailures || errors.Is(err, ErrBudget) {
			return
		}
	}
}

// takePictures takes the pictures of a job that were not tried before. For the first one of
// a capture, one more segment may be fetched.
func (r *record) takePictures(ctx context.Context, j capture.Job) {
	video := r.video()
	if video == nil {
		return
	}
	var extra *extraSegment
	for _, p := range j.Pictures {
		if slices.ContainsFunc(r.pictures, func(taken takenPicture) bool { return taken.variant == p.Variant }) {
			continue
		}
		var at time.Time // of the picture, as far as it is listed
		if wanted, offset, ok := covering(video.listed, p, j.Instant); ok {
			at = video.listed[wanted].ProgramTime.Add(offset)
			if !r.extra {
				r.extra = true
				extra = r.fetchExtra(ctx, j, video, video.listed[wanted], at)
				defer extra.close()
			}
		}
		watched, offset, ok := video.picture(p, j.Instant)
		better, betterOffset, isBetter := extra.picture(at)
		switch {
		case isBetter:
			r.takePicture(ctx, p, better, betterOffset, func() (Media, time.Duration, bool) { return watched, offset, ok })
		case ok:
			r.takePicture(ctx, p, watched, offset, nil)
		case j.Step != capture.Collect:
			r.pictures = append(r.pictures, takenPicture{variant: p.Variant})
			r.note("%s: no segment of that time is known", p.Variant)
		}
	}
	r.unclear = r.unclear || r.isUnclear()
}

// takePicture takes a picture of m, or of the media that instead returns.
func (r *record) takePicture(ctx context.Context, p capture.Picture, m Media, offset time.Duration, instead func() (Media, time.Duration, bool)) {
	raw, err := r.c.ports.Tools.Picture(ctx, m, offset)
	if err != nil && instead != nil {
		if watched, watchedOffset, ok := instead(); ok {
			r.note("better rendition: %v", err)
			m, offset = watched, watchedOffset
			raw, err = r.c.ports.Tools.Picture(ctx, m, offset)
		}
	}
	taken := takenPicture{variant: p.Variant}
	var f evidence.File
	if err == nil {
		f, err = pictureFile(p, m.Segment.ProgramTime.Add(offset), raw)
	}
	if err != nil {
		r.note("%s: %v", p.Variant, err)
	} else {
		taken.luma = f.Measure
		r.addFile(f, bytes.NewReader(raw), int64(len(raw)), nil)
	}
	r.pictures = append(r.pictures, taken)
}

// video returns the track with the picture, or nil.
func (r *record) video() *track {
	for _, t := range r.tracks {
		if t.video {
			return t
		}
	}
	return nil
}

// maxBlackLuma is the mean luma of a picture, 0 to 255, from which it does not look black.
const maxBlackLuma = 40

// isUnclear reports whether the pictures do not show the condition clearly.
func (r *record) isUnclear() bool {
	for _, p := range r.pictures {
		switch {
		case p.luma == nil:
			return true
		case r.condition == "black" && p.variant == evidence.Onset && *p.luma > maxBlackLuma:
			return true
		}
	}
	return false
}

// pictureFile describes a JPEG. Its measure is the mean luma.
func pictureFile(p capture.Picture, at time.Time, raw []byte) (evidence.File, error) {
	config, err := jpeg.DecodeConfig(bytes.NewReader(raw))
	switch {
	case err != nil:
		return evidence.File{}, fmt.Errorf("read the picture: %w", err)
	case config.Width > maxWidth || config.Height > maxHeight: // before it is decoded
		return evidence.File{}, fmt.Errorf("the picture has %dx%d pixels; at most %dx%d are accepted", config.Width, config.Height, maxWidth, maxHeight)
	}
	luma, err := meanLuma(raw)
	if err != nil {
		return evidence.File{}, err
	}
	return evidence.File{Variant: p.Variant, Width: config.Width, Height: config.Height, TakenAt: at.UTC(), Measure: &luma}, nil
}

// Limits of a picture, in pixels.
const maxWidth, maxHeight = 640, 720

// meanLuma returns the mean brightness of a JPEG, 0 to 255.
func meanLuma(raw []byte) (float64, error) {
	img, err := jpeg.Decode(bytes.NewReader(raw))
	if err != nil {
		return 0, fmt.Errorf("decode the picture: %w", err)
	}
	colours, ok := img.(*image.YCbCr)
	if !ok {
		return 0, errors.New("the picture is not in colour")
	}
	sum, size := 0, colours.Rect.Size()
	for y := range size.Y {
		for _, luma := range colours.Y[y*colours.YStride:][:size.X] {
			sum += int(luma)
		}
	}
	return math.Round(float64(sum)/float64(size.X*size.Y)*10) / 10, nil
}
