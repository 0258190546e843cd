package ffmpeg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/application/worker/collector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Capturer makes the files of evidence from segments: pictures, sound levels and
// clips. It has the limits of an Analyser and implements collector.Tools. It keeps no
// state and is safe for concurrent use.
type Capturer struct{ analyser *Analyser }

var _ collector.Tools = (*Capturer)(nil)

// NewCapturer returns a Capturer with the limits of c.
func NewCapturer(c Config) *Capturer { return &Capturer{New(c)} }

// MaxPicture is the largest picture in bytes.
const MaxPicture = 512 << 10

// pictureFilters returns the filters that choose the first picture at or after a time.
// They scale it to square pixels, at most 640 wide and 720 high, both even.
func pictureFilters(at time.Duration) string {
	const factor = "min(1,min(640/(iw*sar),720/ih))"
	return fmt.Sprintf("select='gte(t,%.3f)',scale=w='max(2,2*trunc(iw*sar*%s/2))':h='max(2,2*trunc(ih*%[2]s/2))':out_range=pc,format=yuvj420p",
		at.Seconds(), factor)
}

// Picture returns a JPEG of the first picture at or after a time, which counts from the
// first timestamp of m. If m ends before that time, the picture is up to 0.4 s earlier, up to
// a second, or the first one. Errors: those of Analyse; *watch.Failure undecodable if
// there is no picture.
func (c *Capturer) Picture(ctx context.Context, m collector.Media, at time.Duration) ([]byte, error) {
	for _, earlier := range []time.Duration{0, 400 * time.Millisecond, time.Second, at} {
		at := max(at-earlier, 0)
		res, err := c.analyser.execute(ctx, []collector.Media{m}, func(demuxers []string) subprocess.Command {
			return subprocess.Command{MaxOutput: MaxPicture, Args: append(inputArguments(demuxers[0], c.analyser.config.maxPixels()),
				"-map", "0:V:0?", "-vf", pictureFilters(at), "-frames:v", "1", "-fps_mode", "passthrough", "-c:v", "mjpeg", "-q:v", "4", "-f", "mjpeg", "pipe:1")}
		})
		if err != nil {
			return nil, fmt.Errorf("take a picture: %w", err)
		}
		if len(res.Stdout) > 0 {
			return res.Stdout, nil
		}
	}
	return nil, watch.NewFailure(watch.FailureUndecodable, "the segment has no picture that can be decoded")
}

// Levels measures the sound of consecutive segments, about once a second. Its measures
// have no luma. Errors: those of Analyse; *watch.Failure undecodable if there is no
// sound.
func (c *Capturer) Levels(ctx context.Context, m collector.Media) ([]watch.Measure, error) {
	res, err := c.analyser.execute(ctx, []collector.Media{m}, func(demuxers []string) subprocess.Command {
		return subprocess.Command{MaxOutput: c.analyser.config.MaxOutput, Args: append(inputArguments(demuxers[0], c.analyser.config.maxPixels()),
			"-map", "0:a:0?", "-af", measureAudio[1:], "-f", "null", "-")}
	})
	if err != nil {
		return nil, fmt.Errorf("measure the sound level: %w", err)
	}
	var level []sample
	for f := range frames(res.Stderr, nil, levelKey) {
		if f.measured && f.pts.set {
			level = append(level, sample{f.pts.Duration, f.value})
		}
	}
	if len(level) == 0 {
		return nil, watch.NewFailure(watch.FailureUndecodable, "the segments have no sound that can be decoded")
	}
	return measures(nil, level), nil
}

// ErrClipTooLarge says that a clip has more bytes than were allowed.
var ErrClipTooLarge = errors.New("the clip is too large")

// Remux writes consecutive segments as a fragmented MP4 without encoding anything
// again. One medium holds both tracks, or the first the picture and the second the
// sound. Errors: those of Analyse and of begin; ErrClipTooLarge if there are more than
// limit bytes. begin returns an empty writer; it is called again for a second attempt.
func (c *Capturer) Remux(ctx context.Context, media []collector.Media, begin func() (io.Writer, error), limit int64) error {
	var err error
	// Sound in MPEG-TS is most often AAC, which MP4 holds in another form. The filter
	// that converts it refuses all other codecs.
	for _, convertAAC := range []bool{true, false} {
		var w io.Writer
		if w, err = begin(); err != nil {
			return err
		}
		limited := &limitedWriter{w: w, remaining: limit}
		if err = c.remux(ctx, media, limited, convertAAC); err == nil || limited.err != nil || limited.written > 0 || ctx.Err() != nil {
			break
		}
	}
	return err
}

func (c *Capturer) remux(ctx context.Context, media []collector.Media, w *limitedWriter, convertAAC bool) error {
	res, err := c.analyser.execute(ctx, media, func(demuxers []string) subprocess.Command {
		return subprocess.Command{Args: remuxArguments(demuxers, convertAAC), Stdout: w}
	})
	switch {
	case w.err != nil:
		return w.err
	case err != nil:
		return fmt.Errorf("make a clip: %w", err)
	case res.ExitCode != 0 || w.written == 0:
		return watch.NewFailure(watch.FailureUndecodable, "ffmpeg could not make a clip of the segments: %s", lastLine(res.Stderr))
	}
	return nil
}

// remuxArguments returns the arguments of a remux. The output is a pipe, so the index
// precedes each fragment. It is written with the first fragment, whose packets tell how
// to decode the sound.
func remuxArguments(demuxers []string, convertAAC bool) []string {
	args := []string{"-hide_banner", "-nostdin", "-nostats", "-loglevel", "info"}
	maps := []string{"-map", "0:V:0?", "-map", "0:a:0?"}
	if len(demuxers) > 1 {
		args = append(args, "-copyts") // otherwise each input would begin at zero
		maps = []string{"-map", "0:V:0", "-map", "1:a:0"}
	}
	pipes := []string{"pipe:0", "pipe:3"}
	for i, demuxer := range demuxers {
		args = append(args, "-protocol_whitelist", "pipe", "-f", demuxer, "-i", pipes[i])
	}
	args = append(append(args, maps...), "-c", "copy")
	if convertAAC {
		args = append(args, "-bsf:a", "aac_adtstoasc")
	}
	return append(args, "-avoid_negative_ts", "make_zero", "-movflags", "+frag_keyframe+delay_moov+default_base_moof",
		"-strict", "experimental", // some versions call FLAC in MP4 that
		"-f", "mp4", "pipe:1")
}

// limitedWriter passes on at most remaining bytes and keeps the first error.
type limitedWriter struct {
	w                  io.Writer
	remaining, written int64
	err                error
}

// Write implements io.Writer.
func (l *limitedWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > l.remaining {
		l.err = ErrClipTooLarge
		return 0, l.err
	}
	n, err := l.w.Write(p)
	l.written, l.remaining, l.err = l.written+int64(n), l.remaining-int64(n), err
	return n, err
}

// lastLine returns the last line of a log that is not empty.
func lastLine(log []byte) (last string) {
	for line := range lines(log) {
		if line != "" {
			last = line
		}
	}
	return excerptOf(last)
}

// excerptOf shortens a line to what fits into a note.
func excerptOf(line string) string { return line[:min(len(line), 200)] }
