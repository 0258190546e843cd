package ffmpeg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
	"github.com/stream-monitor/stream-monitor/application/worker/collector"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Analyser decodes segments with ffmpeg and runs the detectors on them. It
// implements worker.Analyser, keeps no state and is safe for concurrent use.
type Analyser struct{ config Config }

// New returns an Analyser with the limits of c. It does not look for ffmpeg: while
// it is missing, every analysis fails.
func New(c Config) *Analyser { return &Analyser{c.withDefaults()} }

// Reasons for which the Analyser ends ffmpeg.
var (
	errTooSlow  = errors.New("took too long")
	errTooLarge = errors.New("too large")
)

// Analyse decodes a segment and returns its tracks and the intervals that each
// detector found. body yields its init section and then its media. setting returns
// a field of the registration's config object. Beyond worker.Analyser:
//
//   - of a track that look lets stay undecoded, key frames or some of the sound are decoded, and every
//     frame if these leave a doubt: if anything is dark, damaged or missing, or bad media that matter
//     may hide; look.KeyFrames leaves no doubt;
//   - key frames are not enough if the segment has more than decoder.MaxMedia bytes;
//   - only the Decoder of the Config measures what look.Measure asks for: Measured.Taken is 0 if the
//     command decided;
//   - the caller sets Began and Segment of the answer;
//   - the first bytes decide the container; s.Container is used if they do not;
//   - black shorter than 0.1 s (section 6.3) is dropped unless it touches an end of
//     the track; silence is reported from 0.1 s, and the caller applies the 0.5 s of
//     section 6.4;
//   - a body that implements io.Closer is closed when the time limit passes, which
//     ends a Read in progress; any other body must return by itself.
//
// A Decoder of the Config tries first. It decides nothing that the command would decide
// otherwise: if it fails, or if the segment is unusual, the command runs.
//
// Analyse returns when the command has ended. Its error is that of ctx, that of
// body, or a *watch.Failure of kind
//
//	undecodable   the segment cannot be decoded, or makes ffmpeg print too much
//	tool          ffmpeg is missing, was killed, lacks a feature, or exceeded a limit
//	too_large     the segment has more than MaxInput bytes
//	network       the time limit passed while body was being read
func (a *Analyser) Analyse(ctx context.Context, s watch.Segment, look watch.Look, body io.Reader, setting func(field string) float64) (watch.Analysis, error) {
	found, err := a.analyse(ctx, s, look, body, setting)
	if err != nil {
		return watch.Analysis{}, fmt.Errorf("analyse segment: %w", err)
	}
	return found, nil
}

// analyse reads a segment, and lets the Decoder or the command look at it. Its error is that of
// Analyse.
func (a *Analyser) analyse(ctx context.Context, s watch.Segment, look watch.Look, body io.Reader, setting Settings) (watch.Analysis, error) {
	if look.Text {
		captions, err := readText(body)
		return watch.Analysis{Measured: detector.Measured{Captions: &captions, Taken: detector.Captions}}, err
	}
	canDecode, canScreen := a.config.Decoder != nil, look.Video > 0
	if !canDecode && !canScreen {
		return a.runCommand(ctx, s, body, setting)
	}
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
	isWhole := len(media) <= decoder.MaxMedia
	var found watch.Analysis
	isDecoded := false
	if err == nil && isWhole && canDecode {
		found, err = a.decode(limited, s, look, a.job(media, demuxer, look, setting))
		isDecoded = err == nil
		if limited.Err() == nil {
			err = nil // the command decides
		}
	}
	release()
	switch {
	case in.remaining < 0:
		return watch.Analysis{}, watch.NewFailure(watch.FailureTooLarge, "a segment of more than %d bytes", a.config.MaxInput)
	case err != nil:
		return watch.Analysis{}, a.runError(ctx, limited, in, subprocess.Result{}, err)
	case isDecoded:
		return found, nil
	}
	later := *a
	later.config.Timeout = max(a.config.Timeout-time.Since(began), minTimeLeft)
	if isWhole && canScreen {
		return later.screenByCommand(ctx, s, look, media, setting)
	}
	return later.runCommand(ctx, s, resumed{io.MultiReader(bytes.NewReader(media), in.buffer), body}, setting)
}

// screenByCommand looks at the key frames of a segment with the command, and at every frame if these
// leave a doubt. Its error is that of Analyse.
func (a *Analyser) screenByCommand(ctx context.Context, s watch.Segment, look watch.Look, media []byte, setting Settings) (watch.Analysis, error) {
	res, err := a.run(ctx, s, true, bytes.NewReader(media), setting)
	if err != nil {
		return watch.Analysis{}, err
	}
	found, err := parse(res.Stdout, res.Stderr, true)
	if video, _ := found.inDoubt(s, look); err == nil && !video {
		return found.Analysis, nil
	}
	return a.runCommand(ctx, s, bytes.NewReader(media), setting)
}

// runCommand decodes every frame of a segment with the command. Its error is that of Analyse.
func (a *Analyser) runCommand(ctx context.Context, s watch.Segment, body io.Reader, setting Settings) (watch.Analysis, error) {
	res, err := a.run(ctx, s, false, body, setting)
	if err != nil {
		return watch.Analysis{}, err
	}
	found, err := parse(res.Stdout, res.Stderr, false)
	return found.Analysis, err
}

// run returns the output of ffmpeg for the whole segment. Its error is that of
// Analyse; the result says what ffmpeg used, error or not.
func (a *Analyser) run(ctx context.Context, s watch.Segment, keyFrames bool, body io.Reader, setting Settings) (subprocess.Result, error) {
	return a.execute(ctx, []collector.Media{{Segment: s, Open: func() io.Reader { return body }}}, func(demuxers []string) subprocess.Command {
		return subprocess.Command{Args: arguments(setting, demuxers[0], a.config.maxPixels(), keyFrames), MaxOutput: a.config.MaxOutput}
	})
}

// execute runs ffmpeg on one or two media within the limits. The first is its stdin,
// the second its file descriptor 3. command gets the demuxer of each. Its error is that
// of Analyse; the result says what ffmpeg used, error or not.
func (a *Analyser) execute(ctx context.Context, media []collector.Media, command func(demuxers []string) subprocess.Command) (subprocess.Result, error) {
	limited, cancel := context.WithTimeoutCause(ctx, a.config.Timeout, errTooSlow)
	defer cancel()
	running, abort := context.WithCancelCause(limited)
	defer abort(nil)

	var inputs []*input
	var readers []io.Reader
	var found []string
	var releases []func()
	var err error
	for _, m := range media {
		in := newInput(m.Open(), a.config.MaxInput, func() { abort(errTooLarge) })
		releases = append(releases, in.closeWith(running))
		inputs, readers = append(inputs, in), append(readers, in)
		demuxer, detectErr := detectContainer(in, m.Segment)
		if detectErr == nil {
			detectErr = in.err
		}
		if err == nil {
			err = detectErr
		}
		found = append(found, demuxer)
	}
	var res subprocess.Result
	if err == nil {
		c := command(found)
		c.Path, c.Env, c.Limits = a.config.Path, environment(), a.config.limits()
		c.Confinement = subprocess.NewConfinement(a.config.Files, false)
		c.Stdin, c.Inputs = readers[0], readers[1:]
		res, err = subprocess.Run(running, c)
	}
	for _, release := range releases {
		release()
	}
	in := inputs[0]
	for _, other := range inputs[1:] {
		if in.err == nil {
			in = other
		}
	}
	return res, a.runError(ctx, running, in, res, err)
}
