//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// namespaceVariable marks a process that runs in a namespace of its own.
const namespaceVariable = "STREAM_MONITOR_FAULTS_INSIDE"

// tryMount returns an error if this machine does not allow to mount a small disk.
func tryMount(dir string) error {
	at := filepath.Join(dir, "disk")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	if err := mountDisk(at, 1); err != nil {
		return err
	}
	return unix.Unmount(at, unix.MNT_DETACH)
}

// mountDisk mounts a disk of size MiB.
func mountDisk(at string, size int) error {
	return unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("size=%dm,mode=0755", size))
}

// runInNamespace runs this program again in a user namespace where it may mount
// disks. It does nothing for root. done reports whether the program ran, and
// code is its exit code.
func runInNamespace(args []string) (code int, done bool) {
	if os.Geteuid() == 0 || os.Getenv(namespaceVariable) != "" {
		return 0, false
	}
	cmd := exec.Command("/proc/self/exe", args...) // the terminal signals the whole process group
	cmd.Env = append(os.Environ(), namespaceVariable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{ // keeps the user's own id and adds the right to mount
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
	}
	if err := cmd.Start(); err != nil {
		return 0, false // without a namespace no disk is filled, and that is printed
	}
	_ = cmd.Wait() // its exit code says it all; -1: a signal ended it
	if code = cmd.ProcessState.ExitCode(); code < 0 {
		code = exitFailed
	}
	return code, true
}
