package subprocess

import "time"

// Limits bound what a tool may use, itself and each of its children for itself.
// A zero field is no limit. On systems other than Linux there are none: they
// have no call that limits another process.
//
// They are imposed as soon as the tool has been started, not before, because
// nothing of ours runs between fork and exec. That is early enough for what
// comes through Stdin, of which not a byte is handed over until all of them
// stand. A script that starts the real tool has to exec it, or it may have
// started it before.
type Limits struct {
	// Data is in bytes, of heap, thread stacks and all else that is private and
	// can be written to (RLIMIT_DATA). A tool that asks for more is told that there
	// is none. The first thread's stack is not of it; that has the limit this
	// process was started with, 8 MiB nearly everywhere, because one set in the
	// moment of an exec is lost: the kernel puts back what it noted before.
	//
	// What is resident is at most that and what has been read of the tool's
	// program and libraries. The address space (RLIMIT_AS) bounds that as well,
	// but cannot be set as low: it counts whole libraries, read or not, and
	// ffmpeg with those of Debian needs 270 MB of it to decode 144p, where 55 MB
	// are resident. Resident memory itself (RLIMIT_RSS) Linux does not limit.
	DataBytes int64

	// CPU is user and system time, rounded up to seconds. When it is used up the
	// tool gets SIGXCPU, and SIGKILL a second of CPU later. Result.CPU counts more
	// finely, and may differ from the kernel's own count by a fifth of a second.
	CPUTime time.Duration

	// Files is how many may be open at once, pipes and sockets included.
	OpenFiles int

	// Sealed forbids to write to any file, a core dump included: what the tool
	// has to say it can say through pipes.
	NoFileWrites bool
}
