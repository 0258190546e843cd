package subprocess

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// kernelMeans are the means to confine tools that the kernel grants this process. Old
// kernels lack some. A sandbox around this process, such as a container's, may refuse others.
type kernelMeans struct {
	privileges bool // no_new_privs and capset(2)
	landlock   int  // version; 0: none
	seccomp    bool
	launcher   string // the path of tool-launcher
}

// kernel tries the means once. Error: tool-launcher cannot be run.
var kernel = sync.OnceValues(tryMeans)

// tryMeans lets tool-launcher execute itself with all means, and then without those that fail.
// A tool must start without them: to watch a stream matters more.
func tryMeans() (kernelMeans, error) {
	launcher, err := launcherPath()
	if err != nil {
		return kernelMeans{}, fmt.Errorf("tool-launcher, which starts all tools, was not found: %w", err)
	}
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		version = 0
	}
	means := kernelMeans{privileges: true, landlock: int(version), seccomp: auditArch != 0, launcher: launcher}
	for {
		err := tryWith(means)
		failed, is := errors.AsType[*stepError](err)
		switch {
		case err == nil:
			return means, nil
		case !is:
			return means, fmt.Errorf("tool-launcher, which starts all tools, cannot be run: %w", err)
		case failed.kind == stepPrivileges:
			means.privileges = false
		case failed.kind == stepFilter:
			means.seccomp = false
		default:
			means.landlock = 0
		}
	}
}

// tryWith lets tool-launcher execute itself.
func tryWith(means kernelMeans) error {
	var said strings.Builder
	cmd := exec.CommandContext(context.Background(), means.launcher, "--version")
	cmd.Stdout = &said
	nothing := func() {}
	c := Command{Confinement: &Confinement{}}
	confined, err := c.Confinement.prepare(means, means.launcher, nil)
	if err != nil {
		return err
	}
	l, err := execute(cmd, means.launcher, c.plan(means, confined), confined.rules, nothing)
	if err != nil {
		return err
	}
	if err := l.wait(nothing); err != nil {
		return err
	}
	if said.String() != launcherVersion {
		return fmt.Errorf("%s answers %.60q for its version", means.launcher, said.String())
	}
	return nil
}

// launcherVersion is what the tool-launcher that understands the plans of this version says.
const launcherVersion = "tool-launcher 2\n"

// CheckLauncher returns why no tool can be started, or nil.
func CheckLauncher() error {
	_, err := kernel()
	return err
}

// Landlock returns the version of Landlock that confines tools; 0: none does.
func Landlock() int {
	means, _ := kernel()
	return means.landlock
}

// Missing names the means that this kernel, or a sandbox around this process, does not grant, each
// with what tools can do without it.
func Missing() (missing []string) {
	k, err := kernel()
	if err != nil {
		return nil // no tool runs
	}
	for _, means := range []struct {
		granted bool
		without string
	}{
		{k.privileges, "no_new_privs: tools keep the capabilities of this process"},
		{k.landlock > 0, "Landlock: tools read and write what this user may, keys.json included"},
		{k.landlock == 0 || k.landlock >= landlockScopes, fmt.Sprintf("Landlock %d (Linux 6.12): yt-dlp, streamlink and deno signal other processes of this user", landlockScopes)},
		{k.seccomp, "seccomp: ffmpeg can use the network, and all tools unix sockets; they change the mode of files, the limits of other processes, and take memory that is not counted"},
	} {
		if !means.granted {
			missing = append(missing, means.without)
		}
	}
	return missing
}
