package ffmpeg

import (
	"bytes"
	"context"
	"io"
	"iter"
	"math"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
	"github.com/stream-monitor/stream-monitor/application/worker/collector"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// containers maps demuxers to what a Decoder calls them.
var containers = map[string]decoder.Container{mpegTS: decoder.MPEGTS, mp4: decoder.MP4, aac: decoder.ADTS, mp3: decoder.MP3}

// minTimeLeft is what remains of the time limit for the command, however long the
// Decoder has tried.
const minTimeLeft = time.Second

// hasOnlyBuiltIn reports whether the table has just the detectors that a Decoder knows.
func hasOnlyBuiltIn() bool {
	for _, d := range detector.Table {
		if d.Name != detector.Blackout && d.Name != detector.Silence || !filters[d.Name].builtIn {
			return false
		}
	}
	return true
}

// leftToCommand is a segment that the Decoder has left to the command.
type leftToCommand struct {
	body    io.Reader     // the whole segment
	timeout time.Duration // what remains of the time limit
}

// decode analyses a segment with the Decoder. left is not nil if that leaves it to the command.
func (a *Analyser) decode(ctx context.Context, s watch.Segment, look watch.Look, body io.Reader, setting Settings) (found watch.Analysis, left *leftToCommand, err error) {
	began, announced := time.Now(), collector.AnnouncedSize(body)
	limited, cancel := context.WithTimeoutCause(ctx, a.config.Timeout, errTooSlow)
	defer cancel()
	in := newInput(body, a.config.MaxInput, func() {})
	release := in.closeWith(limited)

	var media []byte
	demuxer, err := detectContainer(in, s)
	if err == nil {
		media, err = readAll(in, announced)
	}
	var result decoder.Result
	isDecoded := false
	if err == nil && len(media) <= decoder.MaxMedia {
		result, err = a.config.Decoder.Decode(limited, a.job(media, demuxer, look, setting))
		isDecoded = err == nil
		if limited.Err() == nil {
			err = nil // the command decides
		}
	}
	release()
	if in.remaining < 0 {
		return watch.Analysis{}, nil, watch.NewFailure(watch.FailureTooLarge, "a segment of more than %d bytes", a.config.MaxInput)
	}
	if err != nil {
		return watch.Analysis{}, nil, a.runError(ctx, limited, in, subprocess.Result{}, err)
	}
	if isDecoded {
		return fromResult(result, look), nil, nil
	}
	return watch.Analysis{}, &leftToCommand{
		body:    resumed{io.MultiReader(bytes.NewReader(media), in.buffer), body},
		timeout: max(a.config.Timeout-time.Since(began), minTimeLeft),
	}, nil
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

// job is a segment for a Decoder with the criteria of the detectors.
func (a *Analyser) job(media []byte, demuxer string, look watch.Look, setting Settings) decoder.Job {
	return decoder.Job{
		Media: media, Container: containers[demuxer], KeyFrames: look == watch.KeyFrames, MaxPixels: a.config.maxPixels(),
		BlackPixel: detector.BlackLumaPercent / 100.0, BlackPart: detector.BlackAreaPercent / 100.0,
		Silent: math.Pow(10, setting(detector.SilenceDB)/20), SilenceAfter: minSilence,
	}
}

// fromResult judges what a Decoder saw as parse judges what the command printed.
func fromResult(r decoder.Result, look watch.Look) watch.Analysis {
	a := assemble(printedRecords(r.Video), printedRecords(r.Audio), look)
	if a.Screen != nil {
		a.Screen.Damaged = r.Damaged
	}
	a.Video.Present = a.Video.Present || r.VideoAnnounced
	a.Audio.Present = a.Audio.Present || r.AudioAnnounced
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
