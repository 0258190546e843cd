package subprocess

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rule allows the rights on a file, and on what is beneath it.
type rule struct {
	file   string
	rights uint64
}

// newRuleset makes a set of rules, of which each launch makes a domain of its own. A file that cannot be found is left out.
// No tool inherits the descriptor, by which it could add rules; the garbage collector closes it after the last launch.
// Error: the kernel refuses a rule.
func newRuleset(handled unix.LandlockRulesetAttr, rules []rule) (*os.File, error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&handled)), unsafe.Sizeof(handled), 0) //nolint:gosec // no package wraps this call
	if errno != 0 {
		return nil, &stepError{stepRestrict, "landlock", errno}
	}
	set := os.NewFile(fd, "landlock")
	for _, rule := range rules {
		rule.rights &= handled.Handled_access_fs
		if errno := addRule(fd, rule); errno != 0 {
			return nil, &stepError{stepRestrict, "landlock: " + rule.file, errno}
		}
	}
	return set, nil
}

// addRule adds a rule to a set.
func addRule(set uintptr, rule rule) syscall.Errno {
	fd, err := unix.Open(rule.file, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0 // this user cannot reach it either
	}
	defer func() { _ = unix.Close(fd) }()
	var is unix.Stat_t
	if err := unix.Fstat(fd, &is); err != nil {
		return 0
	}
	if is.Mode&unix.S_IFMT != unix.S_IFDIR {
		rule.rights &= fileRights
	}
	beneath := unix.LandlockPathBeneathAttr{Allowed_access: rule.rights, Parent_fd: int32(fd)} //nolint:gosec // a descriptor

	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, set, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0) //nolint:gosec // no package wraps this call
	return errno
}
