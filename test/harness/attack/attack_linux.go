// Package attack is what a tool does that a stream has taken over.
package attack

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Everything returns the names of all attacks.
func Everything() []string { return names(onThreads, onMachine(""), uncounted, connected) }

// Remaining returns the names of the attacks that succeed in a tool with the network: memory that no limit counts,
// and what it needs.
func Remaining() []string { return names(uncounted, connected) }

// RemainingInScripts returns the names of those that succeed in a script without the network.
func RemainingInScripts() []string { return names(uncounted) }

func names(lists ...[]attack) (all []string) {
	for _, a := range slices.Concat(lists...) {
		all = append(all, a.name)
	}
	slices.Sort(all)
	return all
}

// Try tries every attack, on every thread of the processes and on the data directory of a service. It returns the sorted
// names of those that have succeeded. Error: half of the processes have no thread that can be seen; some may have ended.
func Try(dir string, processes []int) (succeeded []string, err error) {
	try := func(all []attack, thread int) {
		for _, a := range all {
			if a.do(thread) == nil && !slices.Contains(succeeded, a.name) {
				succeeded = append(succeeded, a.name)
			}
		}
	}
	seen := 0
	for _, process := range processes {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", process))
		seen += min(len(threads), 1)
		for _, thread := range threads {
			id, _ := strconv.Atoi(filepath.Base(thread))
			try(onThreads, id)
		}
	}
	if seen < len(processes)/2+1 {
		return nil, fmt.Errorf("only %d of %d processes have threads", seen, len(processes))
	}
	try(onMachine(dir), 0)
	try(slices.Concat(uncounted, connected), 0)
	slices.Sort(succeeded)
	return succeeded, nil
}

// attack is something that a tool that was taken over tries against a thread of the service, or that is
// of no use for a tool. It harms nobody when it succeeds: it sets what is set, and sends what is ignored.
type attack struct {
	name string
	do   func(thread int) error
}

func call(number uintptr, args ...uintptr) (uintptr, error) {
	args = append(args, 0, 0, 0, 0, 0, 0)
	result, _, errno := unix.Syscall6(number, args[0], args[1], args[2], args[3], args[4], args[5])
	if errno != 0 {
		return 0, errno
	}
	return result, nil
}

func only(_ uintptr, err error) error { return err }

// onThreads are the attacks on a thread. Signal 0 says whether another one could be sent.
var onThreads = []attack{
	{"kill", func(t int) error { return unix.Kill(t, 0) }},
	{"tkill", func(t int) error { return only(call(unix.SYS_TKILL, uintptr(t), 0)) }},
	{"tgkill", func(t int) error { return only(call(unix.SYS_TGKILL, uintptr(leaderOf(t)), uintptr(t), 0)) }},
	{"rt_sigqueueinfo", func(t int) error { return only(call(unix.SYS_RT_SIGQUEUEINFO, uintptr(t), 0, queued())) }},
	{"rt_tgsigqueueinfo", func(t int) error {
		return only(call(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(leaderOf(t)), uintptr(t), 0, queued()))
	}},
	{"pidfd_send_signal", func(t int) error {
		fd, err := call(unix.SYS_PIDFD_OPEN, uintptr(t), unix.O_EXCL) // PIDFD_THREAD
		if err != nil {
			return err
		}
		return only(call(unix.SYS_PIDFD_SEND_SIGNAL, fd, 0))
	}},
	{"F_SETOWN", func(t int) error {
		return signalByInput(func(file uintptr) error { return only(call(unix.SYS_FCNTL, file, unix.F_SETOWN, uintptr(t))) })
	}},
	{"F_SETOWN_EX", func(t int) error {
		owner := struct{ kind, id int32 }{0, int32(t)} // F_OWNER_TID
		return signalByInput(func(file uintptr) error {
			return only(call(unix.SYS_FCNTL, file, unix.F_SETOWN_EX, uintptr(unsafe.Pointer(&owner))))
		})
	}},
	{"FIOSETOWN", func(t int) error {
		owner := int32(t)
		return signalByInput(func(file uintptr) error {
			return only(call(unix.SYS_IOCTL, file, 0x8901, uintptr(unsafe.Pointer(&owner))))
		})
	}},
	{"prlimit64", func(t int) error {
		var now unix.Rlimit
		if err := unix.Prlimit(t, unix.RLIMIT_CPU, nil, &now); err != nil {
			return err
		}
		return unix.Prlimit(t, unix.RLIMIT_CPU, &now, nil)
	}},
	{"setpriority", func(t int) error { return setPriorityAgain(unix.PRIO_PROCESS, t) }},
	{"setpriority of several", func(int) error { return setPriorityAgain(unix.PRIO_PGRP, 0) }},
	{"ioprio_set", func(t int) error { return only(call(unix.SYS_IOPRIO_SET, 1, uintptr(t), 0)) }},
	{"sched_setaffinity", func(t int) error {
		var now unix.CPUSet
		if err := unix.SchedGetaffinity(t, &now); err != nil {
			return err
		}
		return unix.SchedSetaffinity(t, &now)
	}},
	{"sched_setscheduler", func(t int) error {
		var priority int32
		return only(call(unix.SYS_SCHED_SETSCHEDULER, uintptr(t), 0, uintptr(unsafe.Pointer(&priority))))
	}},
	{"ptrace", unix.PtraceSeize}, // until this process ends
	{"environ", func(t int) error { _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", t)); return err }},
	{"root", func(t int) error { _, err := os.ReadDir(fmt.Sprintf("/proc/%d/root/", t)); return err }},
	{"mem", func(t int) error {
		memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", t))
		if err == nil {
			_ = memory.Close()
		}
		return err
	}},
	{"process_vm_readv", func(t int) error { return only(call(unix.SYS_PROCESS_VM_READV, uintptr(t), 0, 0, 0, 0)) }},
	{"process_vm_writev", func(t int) error { return only(call(unix.SYS_PROCESS_VM_WRITEV, uintptr(t), 0, 0, 0, 0)) }},
}

// onMachine are the attacks on the files of the service, on its network, and on limits. Each tries several ways.
func onMachine(dir string) []attack {
	keys := filepath.Join(dir, "keys.json")
	name, _ := unix.BytePtrFromString(keys)
	path, folder := uintptr(unsafe.Pointer(name)), int64(unix.AT_FDCWD)
	attribute, _ := unix.BytePtrFromString("user.x")
	nameOf := uintptr(unsafe.Pointer(attribute))
	onFile := func(do func(fd int) error) error {
		fd, err := unix.Open(keys, unix.O_RDONLY, 0)
		if err != nil {
			fd = 0 // a file that it has
		}
		return do(fd)
	}
	without := func(err error) error {
		if errors.Is(err, unix.ENODATA) {
			return nil // it was removed before
		}
		return err
	}
	socket := func(family, kind, protocol int) error {
		fd, err := unix.Socket(family, kind, protocol)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}
	listen := func(protocol int) func(int) error {
		return func(int) error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, protocol)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(fd) }()
			return unix.Listen(fd, 1)
		}
	}
	return []attack{
		{"read", func(int) error { _, err := os.ReadFile(keys); return err }},
		{"list", func(int) error { _, err := os.ReadDir(dir); return err }},
		{"rename", func(int) error { return os.Rename(keys, keys) }},
		{"create", func(int) error { return createIn(dir) }},
		{"create in /tmp", func(int) error { return createIn("/tmp") }},
		{"bind", func(int) error {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err == nil {
				_ = listener.Close()
			}
			return err
		}},
		{"fchmodat", func(int) error { return unix.Fchmodat(unix.AT_FDCWD, keys, 0o600, 0) }},
		{"fchmodat2", func(int) error { return only(call(unix.SYS_FCHMODAT2, uintptr(folder), path, 0o600)) }},
		{"truncate", func(int) error { return unix.Truncate(keys, 6) }},
		{"fchownat", func(int) error { return unix.Fchownat(unix.AT_FDCWD, keys, os.Getuid(), -1, 0) }},
		{"utimensat", func(int) error { return unix.UtimesNanoAt(unix.AT_FDCWD, keys, []unix.Timespec{{Sec: 1}, {Sec: 1}}, 0) }},
		{"setxattr", func(int) error { return unix.Setxattr(keys, "user.x", []byte("x"), 0) }},
		{"lsetxattr", func(int) error { return unix.Lsetxattr(keys, "user.x", []byte("x"), 0) }},
		{"fsetxattr", func(int) error {
			return onFile(func(fd int) error { return unix.Fsetxattr(fd, "user.x", []byte("x"), 0) })
		}},
		{"setxattrat", func(int) error {
			value := struct{ at, size uint64 }{uint64(path), 1}
			return only(call(unix.SYS_SETXATTRAT, uintptr(folder), path, 0, nameOf, uintptr(unsafe.Pointer(&value)), unsafe.Sizeof(value)))
		}},
		{"removexattr", func(int) error { return without(unix.Removexattr(keys, "user.x")) }},
		{"lremovexattr", func(int) error { return without(unix.Lremovexattr(keys, "user.x")) }},
		{"fremovexattr", func(int) error { return without(onFile(func(fd int) error { return unix.Fremovexattr(fd, "user.x") })) }},
		{"removexattrat", func(int) error { return without(only(call(unix.SYS_REMOVEXATTRAT, uintptr(folder), path, 0, nameOf))) }},
		{"file_setattr", func(int) error {
			var is [24]byte // struct file_attr
			if _, err := call(unix.SYS_FILE_GETATTR, uintptr(folder), path, uintptr(unsafe.Pointer(&is)), unsafe.Sizeof(is), 0); err != nil {
				return err
			}
			return only(call(unix.SYS_FILE_SETATTR, uintptr(folder), path, uintptr(unsafe.Pointer(&is)), unsafe.Sizeof(is), 0))
		}},
		{"shmget", func(int) error { return forget(call(unix.SYS_SHMGET, unix.IPC_PRIVATE, 4096, 0o600))(unix.SYS_SHMCTL) }},
		{"semget", func(int) error { return forget(call(unix.SYS_SEMGET, unix.IPC_PRIVATE, 1, 0o600))(unix.SYS_SEMCTL) }},
		{"msgget", func(int) error { return forget(call(unix.SYS_MSGGET, unix.IPC_PRIVATE, 0o600))(unix.SYS_MSGCTL) }},
		{"listen without bind", listen(0)},
		{"listen by MPTCP", listen(unix.IPPROTO_MPTCP)},
		{"an MPTCP socket", func(int) error { return socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP) }},
		{"a unix socket", func(int) error { return socket(unix.AF_UNIX, unix.SOCK_STREAM, 0) }},
		{"a netlink socket", func(int) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, 0) }},
		{"a vsock socket", func(int) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }},
		{"F_SETSIG", func(int) error { return only(call(unix.SYS_FCNTL, 0, unix.F_SETSIG, 0)) }},
		{"io_uring_setup", func(int) error {
			fd, err := call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(new([120]byte)))) // struct io_uring_params
			if err == nil {
				_ = unix.Close(int(fd))
			}
			return err
		}},
		{"add_key", func(int) error {
			_, err := unix.AddKey("user", "x", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			return err
		}},
		{"request_key", func(int) error {
			_, err := unix.RequestKey("user", "x", "", unix.KEY_SPEC_PROCESS_KEYRING)
			return err
		}},
		{"keyctl", func(int) error { return only(call(unix.SYS_KEYCTL, 0, ^uintptr(3), 1)) }},
		{"a stack that is none", func(int) error { return mapMemory(unix.MAP_PRIVATE | unix.MAP_GROWSDOWN) }},
		{"a user namespace", func(int) error { return only(call(unix.SYS_UNSHARE, 0)) }},
	}
}

// uncounted are ways to memory that no limit counts, which a program without the network does not have.
var uncounted = []attack{
	{"shared memory", func(int) error { return mapMemory(unix.MAP_SHARED) }},
	{"memfd_create", func(int) error { _, err := unix.MemfdCreate("x", 0); return err }},
	{"mremap", func(int) error {
		memory, err := call(unix.SYS_MMAP, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uintptr(0), 0)
		if err != nil {
			return err
		}
		return only(call(unix.SYS_MREMAP, memory, 4096, 8192, unix.MREMAP_MAYMOVE))
	}},
	{"processes", func(int) error { return exec.Command("/bin/true").Run() }},
	{"a loaded program", func(int) error {
		loader := map[string]string{"amd64": "/lib64/ld-linux-x86-64.so.2", "arm64": "/lib/ld-linux-aarch64.so.1"}[runtime.GOARCH]
		return exec.Command(loader, "/bin/true").Run()
	}},
}

// connected are what a tool needs that connects to others.
var connected = []attack{
	{"a temporary file", func(int) error { return createIn(os.TempDir()) }},
	{"a TCP connection", func(int) error {
		conn, err := net.Dial("tcp", "127.0.0.1:1")
		if err == nil {
			return conn.Close()
		}
		if errors.Is(err, unix.ECONNREFUSED) {
			return nil // nothing listens there
		}
		return err
	}},
}

func createIn(folder string) error {
	file, err := os.CreateTemp(folder, "attack-")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

func mapMemory(flags uintptr) error {
	return only(call(unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANONYMOUS|flags, ^uintptr(0), 0))
}

// forget removes an object of System V IPC.
func forget(id uintptr, err error) func(control uintptr) error {
	return func(control uintptr) error {
		if err == nil {
			command := []uintptr{id, unix.IPC_RMID}
			if control == unix.SYS_SEMCTL {
				command = []uintptr{id, 0, unix.IPC_RMID}
			}
			_, _ = call(control, command...)
		}
		return err
	}
}

// queued returns a siginfo that says that it comes from sigqueue(3).
func queued() uintptr {
	info := new([128]byte)
	*(*int32)(unsafe.Pointer(&info[8])) = -1 // SI_QUEUE
	return uintptr(unsafe.Pointer(info))
}

func leaderOf(thread int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	_, after, _ := strings.Cut(string(status), "\nTgid:\t")
	leader, _ := strconv.Atoi(strings.SplitN(after, "\n", 2)[0])
	return leader
}

// Signal is sent by the kernel to a thread that a tool has made the owner of a file. By default it is ignored.
const Signal = unix.SIGWINCH

// signalByInput makes a thread the owner of a socket that can be read then, by which the kernel signals the thread.
func signalByInput(own func(file uintptr) error) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := own(uintptr(fd)); err != nil {
		return err
	}
	if _, err := call(unix.SYS_FCNTL, uintptr(fd), unix.F_SETSIG, uintptr(Signal)); err != nil {
		return nil // it would be SIGIO, which ends a process
	}
	if _, err := call(unix.SYS_FCNTL, uintptr(fd), unix.F_SETFL, unix.O_ASYNC); err != nil {
		return err
	}
	self, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	return unix.Sendto(fd, []byte("x"), 0, self)
}

// setPriorityAgain sets the priority that processes have, which a plain user who was started with nice may.
func setPriorityAgain(which, who int) error {
	priority, err := unix.Getpriority(which, who)
	if err != nil {
		return err
	}
	return unix.Setpriority(which, who, 20-priority) // getpriority(2): the kernel answers 20 minus the nice value
}
