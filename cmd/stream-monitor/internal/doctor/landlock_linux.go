package doctor

import "golang.org/x/sys/unix"

// LandlockVersion returns the version of Landlock that the kernel has; 0: it has none.
func LandlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}
