//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// ability is what this machine lets a test do.
type capabilities struct {
	mountDisks  bool // mount a small disk
	libfaketime bool // lie to a program about the time
	missing     []string
}

// everything is what plans are drawn with when nothing is known of a machine.
var allCapabilities = capabilities{mountDisks: true, libfaketime: true}

// insideVariable says that this process has a namespace of its own already.
const namespaceVariable = "STREAM_MONITOR_FAULTS_INSIDE"

// explore finds out what can be done here.
func detectCapabilities(dir string) capabilities {
	var c capabilities
	if err := tryMount(dir); err != nil {
		c.missing = append(c.missing, fmt.Sprintf("no small disk can be mounted (%v): no disk is filled", err))
	} else {
		c.mountDisks = true
	}
	if libfaketime() == "" {
		c.missing = append(c.missing, "libfaketime is not installed (Debian: apt-get install faketime): PostgreSQL's clock is not stepped")
	} else {
		c.libfaketime = true
	}
	return c
}

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

// mountDisk mounts a disk of so many MiB.
func mountDisk(at string, size int) error {
	return unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("size=%dm,mode=0755", size))
}

// moveInside runs this program again where it may mount disks, unless it may do
// so here: in a namespace of its own, where it stays who it is. done tells that
// it did run, and code is how it ended.
func runInNamespace(args []string) (code int, done bool) {
	if os.Geteuid() == 0 || os.Getenv(namespaceVariable) != "" {
		return 0, false
	}
	cmd := exec.Command("/proc/self/exe", args...) // it hears of signals itself
	cmd.Env = append(os.Environ(), namespaceVariable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = namespace()
	if err := cmd.Start(); err != nil {
		return 0, false // it runs here, and says what it has to do without
	}
	err := cmd.Wait()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return exitOK, true
	case errors.As(err, &ended) && ended.ExitCode() >= 0:
		return ended.ExitCode(), true
	}
	return exitFailed, true
}

// namespace is where disks may be mounted.
func namespace() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
	}
}

// libfaketime is where it is; empty: it is not installed.
func libfaketime() string {
	for _, pattern := range []string{
		"/usr/lib/*/faketime/libfaketimeMT.so.1", // Debian, Ubuntu
		"/usr/lib*/faketime/libfaketimeMT.so.1",
	} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}
