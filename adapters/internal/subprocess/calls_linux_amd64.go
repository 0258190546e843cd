package subprocess

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

const fstatat = unix.SYS_NEWFSTATAT

// Calls that other architectures do not have.
var (
	oldRefusedCalls   = always(unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT)
	oldAnalysingCalls = always(unix.SYS_OPEN, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_ACCESS, unix.SYS_READLINK, unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_DUP2,
		unix.SYS_EPOLL_WAIT, unix.SYS_ARCH_PRCTL, unix.SYS_TIME, unix.SYS_GETPGRP)
)
