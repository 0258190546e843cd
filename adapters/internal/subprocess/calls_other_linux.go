//go:build !amd64

package subprocess

import (
	"runtime"

	"golang.org/x/sys/unix"
)

var auditArch = map[string]uint32{"arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
