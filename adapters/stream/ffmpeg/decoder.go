package ffmpeg

import (
	"bytes"
	"context"
	"io"
	"iter"
	"math"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// containers maps demuxers to what a Decoder calls them.
var containers = map[string]decoder.Container{mpegTS: decoder.MPEGTS, mp4: decoder.MP4, aac: decoder.ADTS, mp3: decoder.MP3, ogg: decoder.Ogg}

// minTimeLeft is what remains of the time limit for the command, however long the
// Decoder has tried.
const minTimeLeft = time.Second

// Measurements of each track.
const (
	ofPicture = detector.Pictures | detector.Movement | detector.Captions | detector.Damage
	ofSound   = detector.Sound | detector.Tone
)

// decode lets the Decoder look at a segment, and then at every frame of the tracks that are in doubt.
// Errors: those of the Decoder.
func (a *Analyser) decode(ctx context.Context, s watch.Segment, look watch.Look, job decoder.Job) (watch.Analysis, error) {
	result, err := a.config.Decoder.Decode(ctx, job)
	if err != nil {
		return watch.Analysis{}, err
	}
	found := fromResult(result, job)
	video, audio := found.inDoubt(s, look)
	if !video && !audio {
		return found.Analysis, nil
	}
	closer := job
	closer.Video, closer.Audio, closer.Measure = decoder.Nothing, decoder.Nothing, 0
	if video {
		job.Video, closer.Video = decoder.Whole, decoder.Whole
		closer.Measure |= job.Measure & ofPicture
	}
	if audio {
		closer.Audio = decoder.Whole
		closer.Measure |= job.Measure & ofSound
	}
	more, err := a.config.Decoder.Decode(ctx, closer)
	if err != nil {
		return watch.Analysis{}, err
	}
	if video {
		result.Video, result.Pictures, result.Movement, result.Captions = more.Video, more.Pictures, more.Movement, more.Captions
	}
	if audio {
		result.Audio, result.Sound, result.Tone, result.AudioScreened = more.Audio, more.Sound, more.Tone, false
	}
	return fromResult(result, job).Analysis, nil
}

// readAll reads a segment, but no more than shows that it is too large for a Decoder.
func readAll(segment io.Reader, announced int) ([]byte, error) {
	var media bytes.Buffer
	media.Grow(announced + bytes.MinRead) // room for one more read, to see the end
	_, err := media.ReadFrom(io.LimitReader(segment, decoder.MaxMedia+1))
	return media.Bytes(), err
}

// resumed is a segment of which the first bytes have been read already.
type resumed struct {
	io.Reader

	body io.Reader
}

// Close closes the segment, which ends a Read in progress.
func (r resumed) Close() error {
	if c, ok := r.body.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// job is a segment for a Decoder with the criteria of the detectors. A track of which nothing may stay
// undecoded is decoded whole.
func (a *Analyser) job(media []byte, demuxer string, look watch.Look, setting Settings) decoder.Job {
	closely := func(limit time.Duration) decoder.Look {
		if limit > 0 {
			return decoder.Screen
		}
		return decoder.Whole
	}
	sound := closely(look.Audio)
	if look.KeyFrames {
		sound = decoder.Nothing
	}
	return decoder.Job{
		Media: media, Container: containers[demuxer], Video: closely(look.Video), Audio: sound, MaxPixels: a.config.maxPixels(),
		BlackPixel: detector.BlackLumaPercent / 100.0, BlackPart: detector.BlackAreaPercent / 100.0,
		Silent: math.Pow(10, setting(detector.SilenceDB)/20), SilenceAfter: minSilence,
		Measure: look.Measure & (ofPicture | ofSound),
	}
}

// fromResult judges what a Decoder saw as parse judges what the command printed.
func fromResult(r decoder.Result, j decoder.Job) seen {
	a := assemble(printedRecords(r.Video), printedRecords(r.Audio), j.Video == decoder.Screen, r.AudioScreened)
	a.damaged = r.Damaged
	a.Measured = measured(r, j, a.Video)
	shiftToZero(&a.Analysis)
	a.announce(r.VideoAnnounced, r.AudioAnnounced)
	return a
}

// printedRecords returns the records of a track as the command would have printed them.
// The tags of a frame are valid until the next one.
func printedRecords(records []decoder.Record) iter.Seq[printed] {
	return func(yield func(printed) bool) {
		// The number is never 0, because the format does not change.
		f := printed{frame: frame{number: 1, tags: make([]tag, 1)}}
		begun := false
		for _, r := range records {
			at := timestamp{r.At, true}
			if r.Kind > decoder.Measurement {
				continue // it is about damage
			}
			if r.Kind == decoder.Measurement {
				if !yield(printed{frame: frame{pts: at}, measured: true, value: r.Value}) {
					return
				}
				continue
			}
			t := &f.tags[0]
			// In one long frame, several intervals may begin or end.
			isNext := r.Kind == decoder.Frame || r.Kind == decoder.Begins && t.start.set || r.Kind == decoder.Ends && t.end.set
			if isNext && begun && !yield(f) {
				return
			}
			if isNext {
				*t = tag{}
			}
			switch r.Kind {
			case decoder.Frame:
				f.pts, begun = at, true
			case decoder.Begins:
				t.start = at
			case decoder.Ends:
				t.end = at
			case decoder.Measurement:
			}
		}
		if begun {
			yield(f)
		}
	}
}
