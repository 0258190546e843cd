package subprocess

import "time"

// Limits bound what a tool may use, itself and each of its children separately.
// A zero field is no limit. Only Linux supports limits.
//
// They are set before the first instruction of the tool.
type Limits struct {
	// DataBytes limits heap, thread stacks and all other private writable
	// memory (RLIMIT_DATA). A tool that asks for more gets an allocation error.
	// The first thread's stack is not included; its limit is that of this
	// process, usually 8 MiB, because the kernel restores it at exec.
	//
	// Resident memory is at most that plus the tool's program and libraries.
	// RLIMIT_AS cannot be set as low, because it counts whole libraries:
	// Debian's ffmpeg needs 270 MB of it to decode 144p, where 55 MB are
	// resident. Linux does not enforce RLIMIT_RSS.
	DataBytes int64

	// CPUTime limits user and system time, rounded up to seconds. The tool gets
	// SIGXCPU when it is used up, and SIGKILL a second of CPU time later.
	// Result.CPUTime may differ from the kernel's count by 0.2 s.
	CPUTime time.Duration

	// OpenFiles limits open files, pipes and sockets included.
	OpenFiles int

	// FileBytes limits the size of each file that is written. There are no core dumps.
	FileBytes int64

	// NoFileWrites forbids writing to files, core dumps included. The tool can
	// still write to pipes.
	NoFileWrites bool
}
