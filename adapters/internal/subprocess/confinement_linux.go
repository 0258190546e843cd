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
		if err := c.restrictSockets(); err != nil {
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
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)} //nolint:gosec // a descriptor is an int32 everywhere
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// auditArch is what seccomp(2) calls the architectures that are released.
var auditArch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// restrictSockets forbids all sockets, or with Network only those of the machine itself. They
// would reach servers such as a private PostgreSQL, which Landlock does not prevent. io_uring can
// make sockets, too. The filter cannot forbid programs: the launch itself executes one. Landlock
// does (Confinement.files).
func (c *Confinement) restrictSockets() error {
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
	allowed := unix.SockFilter{Code: equal, K: unix.AF_UNIX, Jt: 1}
	if !c.Network {
		allowed = unix.SockFilter{Code: atLeast, K: 0, Jt: 1}
	}
	filter := []unix.SockFilter{ // Jt and Jf say how many instructions to skip if it is so, or is not
		{Code: load, K: architecture},
		{Code: equal, K: arch, Jf: 7},
		{Code: load, K: number},
		{Code: atLeast, K: otherABI, Jt: 5},
		{Code: equal, K: unix.SYS_IO_URING_SETUP, Jt: 4},
		{Code: equal, K: unix.SYS_SOCKET, Jf: 4},
		{Code: load, K: firstArgument},
		allowed,
		{Code: give, K: unix.SECCOMP_RET_ALLOW},
		{Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)},
		{Code: give, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]} //nolint:gosec // eleven
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
