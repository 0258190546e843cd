package ffmpeg

import (
	"cmp"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
)

// Config sets the limits of an Analyser. A field that is zero or negative has its
// default.
type Config struct {
	// Path is the executable, or its name in PATH; default "ffmpeg". Version 5.1 or
	// newer is needed. A wrapper script has to exec it.
	Path string

	// Files are further files and folders that ffmpeg may read, such as those of a wrapper
	// script; nil: it is not confined. Linux only.
	Files []string

	// Decoder decodes most segments in place of the command; nil: none does.
	Decoder *decoder.Stream

	Timeout   time.Duration // of one segment, from the first byte read until the process has ended; default DefaultTimeout
	MaxInput  int64         // bytes of one segment; default DefaultMaxInput
	MaxOutput int           // bytes of each of stdout and stderr; default DefaultMaxOutput, about six minutes of frames

	// MaxMemory is ffmpeg's limit of resident memory in bytes; default
	// DefaultMaxMemory. Linux only. MaxProgram of it is reserved for the program
	// itself; the program may allocate the rest. Debian's ffmpeg 5.1 with its 215
	// libraries uses:
	//
	//	 59 MB  H.264 144p
	//	113 MB  H.264 1080p with 16 reference frames
	//	100 MB  HEVC 1080p with 10 bits
	//	 81 MB  AV1 1080p
	//	145 MB  H.264 2160p
	//	236 MB  HEVC 2160p with 10 bits: more than the default allows
	//
	// The smallest rendition is the one that is watched.
	MaxMemory int64

	// MaxCPU is the CPU time, user and system, that ffmpeg may use for one segment,
	// rounded up to seconds; default DefaultMaxCPU. Linux only. A segment of 4 s
	// takes 0.1 s at 144p and 0.6 s at 1080p.
	MaxCPU time.Duration
}

// Defaults of Config.
const (
	DefaultTimeout   = 20 * time.Second
	DefaultMaxInput  = 64 << 20
	DefaultMaxOutput = 1 << 20
	DefaultMaxMemory = 256 << 20
	DefaultMaxCPU    = 15 * time.Second
)

// Limits that cannot be configured.
const (
	// MaxProgram is the part of MaxMemory that RLIMIT_DATA does not count. Debian's
	// ffmpeg with its libraries has 44 MB of it, and the first stack at most 8 MB.
	MaxProgram = 64 << 20

	// MaxFiles limits how many files are open at once: three pipes, and each library
	// while it is loaded.
	MaxFiles = 64
)

// minAllocation is the memory that ffmpeg may allocate however small MaxMemory is:
// with less it cannot print an error.
const minAllocation = 16 << 20

func (c Config) withDefaults() Config {
	c.Path = cmp.Or(c.Path, "ffmpeg")
	c.Timeout = cmp.Or(max(c.Timeout, 0), DefaultTimeout)
	c.MaxInput = cmp.Or(max(c.MaxInput, 0), DefaultMaxInput)
	c.MaxOutput = cmp.Or(max(c.MaxOutput, 0), DefaultMaxOutput)
	c.MaxMemory = cmp.Or(max(c.MaxMemory, 0), DefaultMaxMemory)
	c.MaxCPU = cmp.Or(max(c.MaxCPU, 0), DefaultMaxCPU)
	return c
}

// maxAllocation is how much memory ffmpeg may allocate, in bytes.
func (c Config) maxAllocation() int64 { return max(c.MaxMemory-MaxProgram, minAllocation) }

// bytesPerPixel is the memory that must be available for each pixel of a picture:
// enough for six pictures of 4:2:0 with 10 bits. By default 4096x2304 is accepted
// and 5120x2160 is not. If a single picture took half of the memory, ffmpeg might
// fail to allocate a second one without saying so, and the track would seem broken.
const bytesPerPixel = 20

func (c Config) maxPixels() int64 { return c.maxAllocation() / bytesPerPixel }

func (c Config) limits() subprocess.Limits {
	return subprocess.Limits{
		DataBytes:    c.maxAllocation(),
		CPUTime:      c.MaxCPU,
		OpenFiles:    MaxFiles,
		NoFileWrites: true,
	}
}
