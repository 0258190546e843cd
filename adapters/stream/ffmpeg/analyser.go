package ffmpeg

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Analyser decodes segments with ffmpeg. It keeps no state and may be used
// concurrently.
type Analyser struct{ config Config }

// New makes an Analyser. It does not look for ffmpeg yet: a missing one shows
// as a failure of each analysis, and ends when somebody installs it.
func New(c Config) *Analyser { return &Analyser{c.withDefaults()} }

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
//     undecodable; tool, when ffmpeg is missing, was killed, lacks a part we need,
//     did not finish, or wanted more than its limits allow; too_large beyond
//     MaxInput; network, when the time limit passed while body was waited for;
//   - a body that can be closed is closed when the time limit passes, so that a
//     Read in progress ends. Any other must give up by itself.
func (a *Analyser) Analyse(ctx context.Context, s watch.Segment, body io.Reader, silenceDB float64) (watch.Analysis, error) {
	res, err := a.decode(ctx, s, body, silenceDB)
	if err != nil {
		return watch.Analysis{}, fmt.Errorf("analyse segment: %w", err)
	}
	video, audio, err := parse(res.Stdout, res.Stderr)
	if err != nil {
		return watch.Analysis{}, fmt.Errorf("analyse segment: %w", err)
	}
	return watch.Analysis{Video: video, Audio: audio}, nil
}

// decode gives what ffmpeg printed about the whole segment. The error is what
// Analyse promises; what ffmpeg used is told in any case.
func (a *Analyser) decode(ctx context.Context, s watch.Segment, body io.Reader, silenceDB float64) (subprocess.Result, error) {
	limited, cancel := context.WithTimeoutCause(ctx, a.config.Timeout, errTooSlow)
	defer cancel()
	running, abort := context.WithCancelCause(limited)
	defer abort(nil)
	in := newInput(body, a.config.MaxInput, func() { abort(errTooLarge) })
	release := in.closeWith(running)

	format, err := container(in, s)
	var res subprocess.Result
	if err == nil && in.err == nil {
		res, err = subprocess.Run(running, subprocess.Command{
			Path:      a.config.Path,
			Args:      arguments(format, silenceDB, a.config.pixels()),
			Env:       environment(),
			Stdin:     in,
			MaxOutput: a.config.MaxOutput,
			Limits:    a.config.limits(),
		})
	}
	release()
	return res, a.judge(ctx, running, in, res, err)
}
