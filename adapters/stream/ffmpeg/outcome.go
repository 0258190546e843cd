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

// runError returns nil if ffmpeg analysed the whole segment, and otherwise why it
// did not. Our own reasons for ending it come before what it printed then.
func (a *Analyser) runError(ctx, running context.Context, in *input, res subprocess.Result, err error) error {
	cause := context.Cause(running)
	switch {
	case errors.Is(cause, errTooLarge):
		return watch.NewFailure(watch.FailureTooLarge, "a segment of more than %d bytes", a.config.MaxInput)
	case in.err == nil && res.ExitCode == 0 && err == nil:
		return a.limitError(res)
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
		return startFailure(err)
	case a.exceededCPU(res):
		return watch.NewFailure(watch.FailureTool, "ffmpeg wanted more than the %v of CPU time it may have for a segment: a smaller rendition takes less", a.config.MaxCPU)
	case slices.Contains([]string{"killed", "terminated", "interrupt", "hangup"}, res.Signal):
		return watch.NewFailure(watch.FailureTool, "ffmpeg was ended from outside by a signal (%s), perhaps for want of memory", res.Signal)
	case a.ranOutOfMemory(res):
		return a.limitError(res)
	case res.Signal != "":
		return watch.NewFailure(watch.FailureTool, "ffmpeg crashed (%s): another version may not", res.Signal)
	case bytes.Contains(res.Stderr, []byte("Exiting normally, received signal")): // it exits as if the segment were shorter
		return watch.NewFailure(watch.FailureTool, "ffmpeg was asked from outside to stop halfway")
	}
	return a.limitError(res)
}

// exceededCPU reports whether the limit of CPU time ended ffmpeg. At the limit the
// kernel sends SIGXCPU, on which ffmpeg may exit; a second later it kills ffmpeg.
func (a *Analyser) exceededCPU(res subprocess.Result) bool {
	return res.Signal == syscall.SIGXCPU.String() ||
		res.Signal == "killed" && res.CPUTime > a.config.MaxCPU ||
		bytes.Contains(res.Stderr, fmt.Appendf(nil, "Exiting normally, received signal %d.", int(syscall.SIGXCPU)))
}

// memoryErrors are the messages of ffmpeg and its libraries when an allocation
// fails. ffmpeg then goes on with the next packet: frames are missing, but the exit
// code may be 0.
var memoryErrors = []string{
	"Cannot allocate memory", // ENOMEM
	"get_buffer() failed",    // of a frame; the only message of some decoders
	"Error allocating",
	"Failed to allocate",
	"failed to allocate",
	"Could not allocate",
	"std::bad_alloc",
	"failed to map segment from shared object", // of the loader, before the program starts
}

// ranOutOfMemory reports whether an allocation failed.
func (a *Analyser) ranOutOfMemory(res subprocess.Result) bool {
	return slices.ContainsFunc(memoryErrors, func(text string) bool { return bytes.Contains(res.Stderr, []byte(text)) }) ||
		a.h264RanOutOfMemory(res.Stderr)
}

// h264Size matches the size of an H.264 track in the log.
var h264Size = regexp.MustCompile(`Video: h264 .*?, ([0-9]+)x([0-9]+)`)

// h264RanOutOfMemory reports whether missing memory may have caused the errors of
// an H.264 decoder, which a broken stream causes as well. It assumes so if 18
// pictures with 10 bits do not fit: 16 reference frames, one being decoded and one
// being output. By default these are pictures larger than 2560x1440.
func (a *Analyser) h264RanOutOfMemory(log []byte) bool {
	const pictures, bytesPerPixel = 18, 3
	if !bytes.Contains(log, []byte("decode_slice_header error")) {
		return false
	}
	size := h264Size.FindSubmatch(log)
	if size == nil {
		return false
	}
	width, _ := strconv.ParseInt(string(size[1]), 10, 32) // -max_pixels has refused larger ones
	height, _ := strconv.ParseInt(string(size[2]), 10, 32)
	return width*height*bytesPerPixel*pictures > a.config.maxAllocation()
}

// pictureTooLarge matches how ffmpeg and libdav1d refuse a picture for its size.
var pictureTooLarge = regexp.MustCompile(`exceeds specified max pixel count|Frame size [0-9]+x[0-9]+ exceeds limit`)

// limitError returns an error if a limit made ffmpeg lose frames, or cut off its
// output. Without it a track would seem to end early or to be undecodable, which
// counts as black and silent.
func (a *Analyser) limitError(res subprocess.Result) error {
	switch {
	// The log of every check comes here. Without a common beginning of its words, the
	// expression alone takes 0.2 ms.
	case bytes.Contains(res.Stderr, []byte("exceeds")) && pictureTooLarge.Match(res.Stderr):
		return watch.NewFailure(watch.FailureTool, "a picture of more than the %d pixels for which there is memory: a smaller rendition has fewer", a.config.maxPixels())
	case a.ranOutOfMemory(res):
		return watch.NewFailure(watch.FailureTool, "ffmpeg wanted more than the %d MiB of memory it may have: a smaller rendition takes less", a.config.MaxMemory>>20)
	case res.Truncated:
		return watch.NewFailure(watch.FailureUndecodable, "ffmpeg had more than %d bytes to say about it", a.config.MaxOutput)
	}
	return nil
}

// startFailure returns err as a Failure: ffmpeg could not be started.
func startFailure(err error) error {
	if f := (*watch.Failure)(nil); errors.As(err, &f) {
		return f
	}
	return watch.NewFailure(watch.FailureTool, "%v", err)
}
