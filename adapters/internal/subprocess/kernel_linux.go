package subprocess

import (
	"errors"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernelMeans are the means to confine and limit tools that the kernel grants this process. Old
// kernels lack some. A sandbox around this process, such as a container's, may refuse others.
type kernelMeans struct {
	privileges bool // no_new_privs and capset(2)
	landlock   int  // version; 0: none
	seccomp    bool
	trace      bool // ptrace(2), by which a tool stops before its first instruction
}

// kernel tries the means once, on a thread that ends with the attempt. A tool must start without
// those that fail: to watch a stream matters more.
var kernel = sync.OnceValue(func() (k kernelMeans) {
	done := make(chan struct{})
	onOwnThread(func() {
		defer close(done)
		k = tryMeans()
	})
	<-done
	return k
})

// tryMeans applies all means to this thread, in the order of a launch: ptrace(2) may need a
// capability that the thread gives up before it.
func tryMeans() (k kernelMeans) {
	k.privileges = dropPrivileges() == nil
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if rules := (landlockRules{}); errno == 0 && rules.create(int(version), true) == nil && rules.restrict() == nil {
		k.landlock = int(version)
	}
	k.seccomp = (&Confinement{}).filterCalls() == nil
	_, err := syscall.ForkExec("", nil, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Ptrace: true}})
	k.trace = errors.Is(err, syscall.ENOENT) // it came as far as the name of the program
	return k
}

// Landlock returns the version of Landlock that confines tools; 0: none does.
func Landlock() int { return kernel().landlock }

// Missing names the means that this kernel, or a sandbox around this process, does not grant, each
// with what tools can do without it.
func Missing() (missing []string) {
	k := kernel()
	for _, means := range []struct {
		granted bool
		without string
	}{
		{k.privileges, "no_new_privs: tools keep the capabilities of this process"},
		{k.landlock > 0, "Landlock: tools read and write what this user may, keys.json included"},
		{k.seccomp, "seccomp: ffmpeg can use the network, and all tools unix sockets"},
		{k.trace, "ptrace: tools get their limits just after their start, not before it"},
	} {
		if !means.granted {
			missing = append(missing, means.without)
		}
	}
	return missing
}

// landlockRules is a set of rules of Landlock, before it is applied.
type landlockRules struct {
	set     int
	handles uint64 // rights of files that are refused unless a rule allows them
}

// create makes a set without rules, with all that this version of Landlock can refuse.
func (l *landlockRules) create(version int, network bool) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: allRights}
	for since, right := range map[int]uint64{2: unix.LANDLOCK_ACCESS_FS_REFER, 3: unix.LANDLOCK_ACCESS_FS_TRUNCATE, 5: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV} {
		if version >= since {
			attr.Handled_access_fs |= right
		}
	}
	if version >= 4 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP
		if !network {
			attr.Handled_access_net |= unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0) //nolint:gosec // the kernel reads the structure during the call
	if errno != 0 {
		return errno
	}
	l.set, l.handles = int(set), attr.Handled_access_fs
	return nil
}

// restrict applies the rules to this thread for good, and closes the set.
func (l *landlockRules) restrict() error {
	defer l.close()
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(l.set), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func (l *landlockRules) close() { _ = unix.Close(l.set) }
