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
	"time"

	"github.com/stream-monitor/stream-monitor/domain/capture"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// pictures are those of one capture.
type pictures struct {
	tools     Tools
	playlists Playlists
	media     *capturedMedia
	files     *files
	defects   *defects
	condition trouble.Name

	taken        []takenPicture
	extraFetched bool // one more segment was asked for
}

// takenPicture is a picture that was taken, or that could not be.
type takenPicture struct {
	variant evidence.Variant
	luma    *float64 // nil: it could not be taken
}

// take takes the pictures of a job that were not tried before. For the first one of
// a capture, one more segment may be fetched.
func (s *pictures) take(ctx context.Context, j capture.Job) {
	video := s.media.video()
	if video == nil {
		return
	}
	var extra *extraSegment
	for _, p := range j.Pictures {
		if slices.ContainsFunc(s.taken, func(taken takenPicture) bool { return taken.variant == p.Variant }) {
			continue
		}
		var at time.Time // of the picture, as far as it is listed
		if wanted, offset, ok := covering(video.listed, p, j.Instant); ok {
			at = video.listed[wanted].ProgramTime.Add(offset)
			if !s.extraFetched {
				s.extraFetched = true
				extra = s.fetchExtra(ctx, j, video, video.listed[wanted], at)
				defer extra.close()
			}
		}
		var sources []pictureSource
		if p.Segment != nil {
			if other := s.fetchOther(ctx, *p.Segment, p.Height); other != nil {
				defer other.close()
				sources = append(sources, pictureSource{other.media(other.parts), p.At.Sub(p.Segment.ProgramTime), p.Height})
			}
		}
		if m, offset, ok := extra.picture(at); ok {
			sources = append(sources, pictureSource{m, offset, extra.height})
		}
		if m, offset, ok := video.picture(p, j.Instant); ok {
			sources = append(sources, pictureSource{m, offset, video.height})
		}
		switch {
		case len(sources) > 0:
			s.takeOne(ctx, p, sources)
		case j.Step != capture.Collect:
			s.taken = append(s.taken, takenPicture{variant: p.Variant})
			s.defects.note("%s: no segment of that time is known", p.Variant)
		}
	}
	s.defects.unclear = s.defects.unclear || s.isUnclear()
}

// pictureSource is media from which a picture can be taken, and how far after their start.
type pictureSource struct {
	media  Media
	offset time.Duration
	height int // lines of its rendition; 0: unknown
}

// takeOne takes a picture from the first of the sources, or from the second if that fails. The
// first of two is of another rendition.
func (s *pictures) takeOne(ctx context.Context, p capture.Picture, sources []pictureSource) {
	from := sources[0]
	raw, err := s.tools.Picture(ctx, from.media, from.offset)
	if err != nil && len(sources) > 1 {
		s.defects.note("another rendition: %v", err)
		from = sources[1]
		raw, err = s.tools.Picture(ctx, from.media, from.offset)
	}
	taken := takenPicture{variant: p.Variant}
	var f evidence.File
	if err == nil {
		f, err = pictureFile(p, from, raw)
	}
	if err != nil {
		s.defects.note("%s: %v", p.Variant, err)
	} else {
		taken.luma = f.Measure
		s.files.add(f, bytes.NewReader(raw), int64(len(raw)), nil)
	}
	s.taken = append(s.taken, taken)
}

// isUnclear reports whether the pictures do not show the condition clearly.
func (s *pictures) isUnclear() bool {
	d, _ := detector.Of(s.condition)
	brightest := d.Clarity.Unclear
	for _, p := range s.taken {
		switch {
		case p.luma == nil:
			return true
		case p.variant == evidence.Onset && brightest > 0 && *p.luma > brightest:
			return true
		}
	}
	return false
}

// pictureFile describes a JPEG. Its measure is the mean luma.
func pictureFile(p capture.Picture, from pictureSource, raw []byte) (evidence.File, error) {
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
	return evidence.File{
		Variant: p.Variant, Width: config.Width, Height: config.Height, RenditionHeight: from.height,
		TakenAt: from.media.Segment.ProgramTime.Add(from.offset).UTC(), Measure: &luma,
	}, nil
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
