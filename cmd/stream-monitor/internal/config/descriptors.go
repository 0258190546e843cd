package config

import "golang.org/x/sys/unix"

// Descriptors of a gateway that are not connections of its APIs.
const (
	baseDescriptors    = 512 // database, probes, tools and files
	monitorDescriptors = 8   // for each active monitor: its worker, its media, webhooks on their way
)

// OpenFiles returns the number of files that this process may open. The Go runtime has raised the
// soft limit to the hard one. A limit that cannot be read counts as none.
func OpenFiles() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 1 << 62
	}
	return limit.Cur
}

// MaxConnections returns how many connections the public and the internal port may each have (section
// 12.5), at most most. Half of the descriptors, which are openFiles, are always for connections. wanted
// is the number of descriptors with which both have most.
func MaxConnections(openFiles uint64, monitors, most int) (each int, wanted uint64) {
	reserve := uint64(baseDescriptors + monitorDescriptors*monitors)
	wanted = reserve + 2*uint64(most)
	left := openFiles - min(reserve, openFiles/2)
	return int(min(uint64(most), left/2)), wanted
}
