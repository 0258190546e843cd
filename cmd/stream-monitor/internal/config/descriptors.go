package config

import "golang.org/x/sys/unix"

// Descriptors of a gateway that are not connections of its APIs.
const (
	baseDescriptors    = 512 // database, probes, tools and files
	monitorDescriptors = 8   // for each active monitor: its worker, its media, webhooks on their way

	manyFiles = 1 << 30
)

// OpenFiles returns the number of files that this process may open. The Go runtime has raised the
// soft limit to the hard one. More than 2³⁰, and a limit that cannot be read, count as 2³⁰.
func OpenFiles() int {
	limit := unix.Rlimit{Cur: manyFiles}
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	return int(min(limit.Cur, manyFiles))
}

// MaxConnections returns how many connections the public and the internal port may each have (section
// 12.5), at most most. At least half of openFiles is for connections. wanted is how many open files
// both need to have most.
func MaxConnections(openFiles, monitors, most int) (each, wanted int) {
	reserve := baseDescriptors + monitorDescriptors*monitors
	left := openFiles - min(reserve, openFiles/2)
	return min(most, left/2), reserve + 2*most
}
