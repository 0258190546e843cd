package ffmpeg

import (
	"cmp"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
)

// Config is what an Analyser may be told. The zero value of each field, and a
// negative one, means its default.
type Config struct {
	Path      string        // of the executable, or its name in PATH; default "ffmpeg"; version 5.1 or newer; a script in its place has to exec it
	Timeout   time.Duration // of one segment, from the first byte asked for to the end of the process; default DefaultTimeout
	MaxInput  int64         // bytes of one segment; default DefaultMaxInput
	MaxOutput int           // bytes ffmpeg may print on either output; default DefaultMaxOutput, some six minutes of frames

	// MaxMemory is how many bytes ffmpeg may have resident; default
	// DefaultMaxMemory. Linux only. Of these MaxProgram are taken to be the program
	// itself; the rest is what it may ask for. Debian's ffmpeg 5.1, with the code of
	// 215 libraries, has:
	//
	//	 59 MB  H.264 144p
	//	113 MB  H.264 1080p with 16 reference frames
	//	100 MB  HEVC 1080p with 10 bits
	//	 81 MB  AV1 1080p
	//	145 MB  H.264 2160p
	//	236 MB  HEVC 2160p with 10 bits, which is more than the default allows
	//
	// The smallest rendition is the one that is watched.
	MaxMemory int64

	// MaxCPU is the time, user and system, that ffmpeg may compute for one segment,
	// rounded up to seconds; default DefaultMaxCPU. Linux only. A segment of 4 s
	// takes 0.1 s at 144p and 0.6 s at 1080p.
	MaxCPU time.Duration
}

// The defaults of Config.
const (
	DefaultTimeout   = 20 * time.Second
	DefaultMaxInput  = 64 << 20
	DefaultMaxOutput = 1 << 20
	DefaultMaxMemory = 256 << 20
	DefaultMaxCPU    = 15 * time.Second
)

// Limits that have no reason to be set.
const (
	// MaxProgram is the part of MaxMemory for what RLIMIT_DATA does not count:
	// pages of the program and its libraries, 44 MB of Debian's ffmpeg, and the
	// first thread's stack, 8 MB at most.
	MaxProgram = 64 << 20

	// MaxFiles is how many files may be open at once. Three pipes are; a library is
	// while it is loaded.
	MaxFiles = 64
)

// leastMemory is what is left for asking even when MaxMemory is tiny: with less
// ffmpeg cannot say what is the matter.
const leastMemory = 16 << 20

func (c Config) withDefaults() Config {
	c.Path = cmp.Or(c.Path, "ffmpeg")
	c.Timeout = cmp.Or(max(c.Timeout, 0), DefaultTimeout)
	c.MaxInput = cmp.Or(max(c.MaxInput, 0), DefaultMaxInput)
	c.MaxOutput = cmp.Or(max(c.MaxOutput, 0), DefaultMaxOutput)
	c.MaxMemory = cmp.Or(max(c.MaxMemory, 0), DefaultMaxMemory)
	c.MaxCPU = cmp.Or(max(c.MaxCPU, 0), DefaultMaxCPU)
	return c
}

// memory is what ffmpeg may ask for, in bytes.
func (c Config) memory() int64 { return max(c.MaxMemory-MaxProgram, leastMemory) }

// bytesPerPixel is how much of that there has to be for a picture to be begun
// with: six pictures of 4:2:0 with 10 bits. By default 4096x2304 is not too
// large, 5120x2160 is. Of one that takes half of the memory ffmpeg may fail to
// get the other half without saying so, and its track would seem to be broken.
const bytesPerPixel = 20

func (c Config) pixels() int64 { return c.memory() / bytesPerPixel }

func (c Config) limits() subprocess.Limits {
	return subprocess.Limits{
		DataBytes:    c.memory(),
		CPUTime:      c.MaxCPU,
		OpenFiles:    MaxFiles,
		NoFileWrites: true,
	}
}
