package ffmpeg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"syscall"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// judge tells whether ffmpeg saw the whole segment. What we did to it comes
// before what it said about that.
func (a *Analyser) judge(ctx, running context.Context, in *input, res subprocess.Result, err error) error {
	cause := context.Cause(running)
	switch {
	case errors.Is(cause, errTooLarge):
		return watch.NewFailure(watch.FailureTooLarge, "a segment of more than %d bytes", a.config.MaxInput)
	case in.err == nil && res.ExitCode == 0 && err == nil:
		return a.fits(res)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case cause != nil && in.stalled:
		return watch.NewFailure(watch.FailureNetwork, "the segment was still arriving after %v", a.config.Timeout)
	case cause != nil:
		return watch.NewFailure(watch.FailureTool, "ffmpeg did not finish within %v", a.config.Timeout)
	case in.err != nil:
		return in.err
	case errors.Is(err, subprocess.ErrNotInstalled):
		return watch.NewFailure(watch.FailureTool, "%v: install ffmpeg, or say where it is with FFMPEG_PATH", err)
	case err != nil:
		return asFailure(err)
	case a.spentCPU(res):
		return watch.NewFailure(watch.FailureTool, "ffmpeg wanted more than the %v of CPU time it may have for a segment: a smaller rendition takes less", a.config.MaxCPU)
	case slices.Contains([]string{"killed", "terminated", "interrupt", "hangup"}, res.Signal):
		return watch.NewFailure(watch.FailureTool, "ffmpeg was ended from outside by a signal (%s), perhaps for want of memory", res.Signal)
	case a.starved(res):
		return a.fits(res)
	case res.Signal != "":
		return watch.NewFailure(watch.FailureTool, "ffmpeg crashed (%s): another version may not", res.Signal)
	case bytes.Contains(res.Stderr, []byte("Exiting normally, received signal")): // it obeyed, as if the segment were shorter
		return watch.NewFailure(watch.FailureTool, "ffmpeg was asked from outside to stop halfway")
	}
	return a.fits(res)
}

// spentCPU tells whether ffmpeg was stopped by its limit of CPU time. At first
// it is asked to end, which it does when it comes to it, and then it is killed,
// by when it has had more.
func (a *Analyser) spentCPU(res subprocess.Result) bool {
	const asked = syscall.SIGXCPU
	return res.Signal == asked.String() ||
		res.Signal == "killed" && res.CPUTime > a.config.MaxCPU ||
		bytes.Contains(res.Stderr, fmt.Appendf(nil, "Exiting normally, received signal %d.", int(asked)))
}

// shortages are how ffmpeg, and libraries that it uses, tell that they were
// given no memory. After them it goes on with the next packet: frames are
// missing, but the exit code may be 0.
var shortages = []string{
	"Cannot allocate memory", // the words for ENOMEM
	"get_buffer() failed",    // for a frame; some decoders say nothing else
	"Error allocating",
	"Failed to allocate",
	"failed to allocate",
	"Could not allocate",
	"std::bad_alloc",
}

func (a *Analyser) starved(res subprocess.Result) bool {
	return slices.ContainsFunc(shortages, func(text string) bool { return bytes.Contains(res.Stderr, []byte(text)) }) ||
		a.silentlyStarved(res.Stderr)
}

// h264 is the size of a track of it, in the log.
var h264 = regexp.MustCompile(`Video: h264 .*?, ([0-9]+)x([0-9]+)`)

// silentlyStarved tells whether too little memory may be behind the errors of an
// H.264 decoder, which are the same for a broken stream. It is put down to the
// memory when there is not enough for as many pictures as a decoder may keep (16
// references, one in the making, one on its way out) with 10 bits: by default,
// when they are larger than 2560x1440.
func (a *Analyser) silentlyStarved(log []byte) bool {
	const pictures, bytesPerPixel = 18, 3
	size := h264.FindSubmatch(log)
	if size == nil || !bytes.Contains(log, []byte("decode_slice_header error")) {
		return false
	}
	width, _ := strconv.ParseInt(string(size[1]), 10, 32) // an absurd one has been refused
	height, _ := strconv.ParseInt(string(size[2]), 10, 32)
	return width*height*bytesPerPixel*pictures > a.config.memory()
}

// giant is how ffmpeg and libdav1d refuse a picture for its size.
var giant = regexp.MustCompile(`exceeds specified max pixel count|Frame size [0-9]+x[0-9]+ exceeds limit`)

// fits refuses what was seen of a segment when ffmpeg had too little room for
// all of it, or its output was cut off: frames are missing, so a track would
// seem to end early, or not to be decodable, which counts as black and silent.
func (a *Analyser) fits(res subprocess.Result) error {
	switch {
	case giant.Match(res.Stderr):
		return watch.NewFailure(watch.FailureTool, "a picture of more than the %d pixels for which there is memory: a smaller rendition has fewer", a.config.pixels())
	case a.starved(res):
		return watch.NewFailure(watch.FailureTool, "ffmpeg wanted more than the %d MiB of memory it may have: a smaller rendition takes less", a.config.MaxMemory>>20)
	case res.Truncated:
		return watch.NewFailure(watch.FailureUndecodable, "ffmpeg had more than %d bytes to say about it", a.config.MaxOutput)
	}
	return nil
}

// asFailure keeps a failure, and makes one of what kept ffmpeg from starting.
func asFailure(err error) error {
	if f := (*watch.Failure)(nil); errors.As(err, &f) {
		return f
	}
	return watch.NewFailure(watch.FailureTool, "%v", err)
}
