package subprocess

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

const fstatat = unix.SYS_FSTATAT

// This architecture has no older calls.
var oldRefusedCalls, oldAnalysingCalls []callRule
