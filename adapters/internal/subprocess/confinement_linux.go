package subprocess

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// isOwn reports whether a file belongs to this user.
func isOwn(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid()
}

// dropPrivileges takes all capabilities from this thread, and from what it starts, for good.
func dropPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has, none [2]unix.CapUserData
	if err := unix.Capget(&header, &has[0]); err == nil && has == none {
		return nil // a sandbox may forbid to set them
	}
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	return nil
}

// apply confines this thread for good, and what it starts, by the means that the kernel grants.
func (c *Confinement) apply(path string, env []string) error {
	if c == nil {
		return nil
	}
	if version := kernel().landlock; version > 0 {
		if err := c.restrictFiles(version, path, env); err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
	}
	if kernel().seccomp {
		if err := c.filterCalls(); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	}
	return nil
}

// Rights by the version of Landlock.
const (
	readRights  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fileRights  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	allRights   = 1<<13 - 1 // of version 1
	writeRights = allRights | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER
)

// restrictFiles applies Landlock.
func (c *Confinement) restrictFiles(version int, path string, env []string) error {
	rules := landlockRules{}
	if err := rules.create(version, c.Network); err != nil {
		return err
	}
	allow := func(rights uint64, files ...string) (err error) {
		for _, file := range files {
			if fileErr := allowBeneath(rules.set, file, rights&rules.handles); fileErr != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", file, fileErr))
			}
		}
		return err
	}
	readable, executable := c.files(path, env)
	err := errors.Join(
		allow(readRights, readable...),
		allow(readRights|unix.LANDLOCK_ACCESS_FS_EXECUTE, executable...),
		allow(readRights|unix.LANDLOCK_ACCESS_FS_WRITE_FILE, devices...),
	)
	if dir, scratchErr := scratch(); c.Network && scratchErr == nil {
		err = errors.Join(err, allow(writeRights, dir))
	}
	if err != nil {
		rules.close()
		return err
	}
	return rules.restrict()
}

// allowBeneath allows rights on a file, or on all that is in a folder. It does nothing if there
// is no such file, or if it is the root folder.
func allowBeneath(ruleset int, file string, rights uint64) error {
	if !filepath.IsAbs(file) || filepath.Clean(file) == "/" {
		return nil
	}
	fd, err := unix.Open(file, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // this user cannot reach it either
	}
	defer func() { _ = unix.Close(fd) }()
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	if info.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}                                                                   //nolint:gosec // a descriptor is an int32 everywhere
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0) //nolint:gosec // the kernel reads the structure during the call
	if errno != 0 {
		return errno
	}
	return nil
}

// auditArch is what seccomp(2) calls the architectures that are released.
var auditArch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// refusedCall is a system call that a confined tool must not make.
type refusedCall struct {
	number   uint32
	argument uint32 // its index; it decides if compare is not 0
	compare  uint16 // unix.BPF_JEQ: equal to value; unix.BPF_JSET: a bit in common with value
	value    uint32
}

// refusedCalls returns the calls that Landlock does not prevent. All sockets, or with Network those
// of the machine itself, would reach servers such as a private PostgreSQL; io_uring can make them,
// too. The thread that has started the tool is in the same domain of Landlock: a tool could kill
// this process by a signal to it.
//
// Programs are not among them, since the launch itself executes one (see Confinement.files).
func (c *Confinement) refusedCalls() []refusedCall {
	self := uint32(unix.Getpid()) //nolint:gosec // a PID has 22 bits
	sockets := refusedCall{number: unix.SYS_SOCKET}
	if c.Network {
		sockets = refusedCall{unix.SYS_SOCKET, 0, unix.BPF_JEQ, unix.AF_UNIX}
	}
	return []refusedCall{
		sockets,
		{number: unix.SYS_IO_URING_SETUP},
		{number: unix.SYS_TKILL},
		{unix.SYS_TGKILL, 0, unix.BPF_JEQ, self},
		{unix.SYS_RT_TGSIGQUEUEINFO, 0, unix.BPF_JEQ, self},
		{unix.SYS_PIDFD_OPEN, 1, unix.BPF_JSET, unix.O_EXCL}, // PIDFD_THREAD
	}
}

// filterCalls installs a filter that answers refused calls with EACCES, for this thread and what it
// starts. Error: the kernel or this processor has no such filters.
func (c *Confinement) filterCalls() error {
	arch, is := auditArch[runtime.GOARCH]
	if !is {
		return fmt.Errorf("%w on %s", errors.ErrUnsupported, runtime.GOARCH)
	}
	const (
		number, architecture, firstArgument = 0, 4, 16 // offsets in struct seccomp_data
		load                                = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal                               = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		atLeast                             = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		give                                = unix.BPF_RET | unix.BPF_K
		otherABI                            = 0x40000000 // x32 on amd64
	)
	refuse := unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)}
	filter := []unix.SockFilter{ // Jt and Jf say how many instructions to skip if it is so, or is not
		{Code: load, K: architecture},
		{Code: equal, K: arch, Jt: 1},
		refuse,
		{Code: load, K: number},
		{Code: atLeast, K: otherABI, Jf: 1},
		refuse,
	}
	for _, r := range c.refusedCalls() {
		if r.compare == 0 {
			filter = append(filter, unix.SockFilter{Code: equal, K: r.number, Jf: 1}, refuse)
			continue
		}
		filter = append(filter,
			unix.SockFilter{Code: equal, K: r.number, Jf: 4},
			unix.SockFilter{Code: load, K: firstArgument + 8*r.argument},
			unix.SockFilter{Code: unix.BPF_JMP | r.compare | unix.BPF_K, K: r.value, Jf: 1},
			refuse,
			unix.SockFilter{Code: load, K: number})
	}
	filter = append(filter, unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}                                   //nolint:gosec // some dozen
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0) //nolint:gosec // as for Landlock
}
