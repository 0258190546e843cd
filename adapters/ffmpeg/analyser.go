package ffmpeg

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/child"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Config is what an Analyser may be told. The zero value of each field means
// its default.
type Config struct {
	Path      string        // of the executable, or its name in PATH; default "ffmpeg"; version 5.1 or newer
	Timeout   time.Duration // of one segment, from the first byte asked for to the end of the process; default 20 s
	MaxInput  int64         // bytes of one segment; default 64 MiB
	MaxOutput int           // bytes ffmpeg may print on either output; default 1 MiB, some six minutes of frames
}

// The defaults of Config.
const (
	DefaultTimeout   = 20 * time.Second
	DefaultMaxInput  = 64 << 20
	DefaultMaxOutput = 1 << 20
)

// Analyser decodes segments with ffmpeg. It keeps no state and may be used
// concurrently.
type Analyser struct{ config Config }

// New makes an Analyser. It does not look for ffmpeg yet: a missing one shows
// as a failure of each analysis, and ends when somebody installs it.
func New(c Config) *Analyser {
	c.Path = cmp.Or(c.Path, "ffmpeg")
	c.Timeout = cmp.Or(max(c.Timeout, 0), DefaultTimeout)
	c.MaxInput = cmp.Or(max(c.MaxInput, 0), DefaultMaxInput)
	c.MaxOutput = cmp.Or(max(c.MaxOutput, 0), DefaultMaxOutput)
	return &Analyser{c}
}

// Why an analysis was ended from our side.
var (
	errTooSlow  = errors.New("took too long")
	errTooLarge = errors.New("too large")
)

// Analyse decodes the segment whose bytes body yields, its initialisation
// section first, and tells where it is black and where it is silent. See
// worker.Analyser; beyond it:
//
//   - Began and Segment of the answer are the caller's to fill in;
//   - the bytes tell the container, and s.Container only when they do not;
//   - black shorter than 0.1 s (section 6.3) is left out, unless it touches an
//     end of the track and so may be longer; silence is reported from 0.1 s, and
//     the 0.5 s of section 6.4 are the caller's;
//   - errors are the caller's context's; body's own; or a *watch.Failure:
//     undecodable; tool, when ffmpeg is missing, was killed, lacks a part we need
//     or did not finish; too_large beyond MaxInput; network, when the time limit
//     passed while body was waited for;
//   - a body that can be closed is closed when the time limit passes, so that a
//     Read in progress ends. Any other must give up by itself.
func (a *Analyser) Analyse(ctx context.Context, s watch.Segment, body io.Reader, silenceDB float64) (watch.Analysis, error) {
	limited, cancel := context.WithTimeoutCause(ctx, a.config.Timeout, errTooSlow)
	defer cancel()
	running, abort := context.WithCancelCause(limited)
	defer abort(nil)
	in := newInput(body, a.config.MaxInput, func() { abort(errTooLarge) })
	release := in.closeWith(running)

	format, err := container(in.head(), s.Container)
	var res child.Result
	if err == nil && in.err == nil {
		res, err = child.Run(running, child.Command{
			Path:      a.config.Path,
			Args:      arguments(format, silenceDB),
			Env:       environment(),
			Stdin:     in,
			MaxOutput: a.config.MaxOutput,
		})
	}
	release()
	if err := a.judge(ctx, running, in, res, err); err != nil {
		return watch.Analysis{}, fmt.Errorf("analyse segment: %w", err)
	}
	video, audio, err := parse(res.Stdout, res.Stderr)
	if err != nil {
		return watch.Analysis{}, fmt.Errorf("analyse segment: %w", err)
	}
	return watch.Analysis{Video: video, Audio: audio}, nil
}

// judge tells whether ffmpeg saw the whole segment. What we did to it comes
// before what it said about that.
func (a *Analyser) judge(ctx, running context.Context, in *input, res child.Result, err error) error {
	cause := context.Cause(running)
	switch {
	case errors.Is(cause, errTooLarge):
		return watch.Failed(watch.FailureTooLarge, "a segment of more than %d bytes", a.config.MaxInput)
	case in.err == nil && res.ExitCode == 0 && err == nil:
		return a.fits(res)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case cause != nil && in.stalled:
		return watch.Failed(watch.FailureNetwork, "the segment was still arriving after %v", a.config.Timeout)
	case cause != nil:
		return watch.Failed(watch.FailureTool, "ffmpeg did not finish within %v", a.config.Timeout)
	case in.err != nil:
		return in.err
	case errors.Is(err, child.ErrMissing):
		return watch.Failed(watch.FailureTool, "%v: install ffmpeg, or say where it is with FFMPEG_PATH", err)
	case err != nil:
		return asFailure(err)
	case res.Signal != "":
		return watch.Failed(watch.FailureTool, "ffmpeg was ended from outside by a signal (%s), perhaps for want of memory", res.Signal)
	case bytes.Contains(res.Stderr, []byte("Exiting normally, received signal")): // it obeyed, as if the segment were shorter
		return watch.Failed(watch.FailureTool, "ffmpeg was asked from outside to stop halfway")
	}
	return a.fits(res)
}

// fits refuses output that was cut off: its last frames are missing, so the
// segment would seem to end early.
func (a *Analyser) fits(res child.Result) error {
	if res.Truncated {
		return watch.Failed(watch.FailureUndecodable, "ffmpeg had more than %d bytes to say about it", a.config.MaxOutput)
	}
	return nil
}

// asFailure keeps a failure, and makes one of what kept ffmpeg from starting.
func asFailure(err error) error {
	if f := (*watch.Failure)(nil); errors.As(err, &f) {
		return f
	}
	return watch.Failed(watch.FailureTool, "%v", err)
}
