package subprocess_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
)

// asAttacker makes the test binary a tool that was taken over. Its value is the folder with the data of the
// service. Its standard input names the processes of the service.
const asAttacker = "CHILD_TEST_ATTACKS"

func init() { //nolint:gochecknoinits // a tool that was taken over runs no tests
	if dir := os.Getenv(asAttacker); dir != "" {
		attackEverything(dir)
		os.Exit(0)
	}
}

// attack is something that a tool that was taken over tries against a thread of the service, or that is
// of no use for a tool. It harms nobody when it succeeds: it sets what is set.
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
	{"F_SETOWN_EX", signalByInput},
	{"prlimit64", func(t int) error {
		var now unix.Rlimit
		if err := unix.Prlimit(t, unix.RLIMIT_CPU, nil, &now); err != nil {
			return err
		}
		return unix.Prlimit(t, unix.RLIMIT_CPU, &now, nil)
	}},
	{"setpriority", func(t int) error { return unix.Setpriority(unix.PRIO_PROCESS, t, 0) }},
	{"setpriority of several", func(int) error { return unix.Setpriority(unix.PRIO_PGRP, 0, 0) }},
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
	{"process_vm_readv", func(t int) error { return only(call(unix.SYS_PROCESS_VM_READV, uintptr(t), 0, 0, 0, 0)) }},
	{"process_vm_writev", func(t int) error { return only(call(unix.SYS_PROCESS_VM_WRITEV, uintptr(t), 0, 0, 0, 0)) }},
}

// onMachine are the attacks on the files of the service, on its network, and on limits. Each tries several ways.
func onMachine(dir string) []attack {
	keys := filepath.Join(dir, "keys.json")
	name, _ := unix.BytePtrFromString(keys)
	path, folder := uintptr(unsafe.Pointer(name)), int64(unix.AT_FDCWD)
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
		{"fchmodat", func(int) error { return unix.Fchmodat(unix.AT_FDCWD, keys, 0o600, 0) }},
		{"fchmodat2", func(int) error { return only(call(unix.SYS_FCHMODAT2, uintptr(folder), path, 0o600)) }},
		{"truncate", func(int) error { return unix.Truncate(keys, 6) }},
		{"fchownat", func(int) error { return unix.Fchownat(unix.AT_FDCWD, keys, os.Getuid(), -1, 0) }},
		{"utimensat", func(int) error { return unix.UtimesNanoAt(unix.AT_FDCWD, keys, []unix.Timespec{{Sec: 1}, {Sec: 1}}, 0) }},
		{"shmget", func(int) error { return forget(call(unix.SYS_SHMGET, unix.IPC_PRIVATE, 4096, 0o600))(unix.SYS_SHMCTL) }},
		{"semget", func(int) error { return forget(call(unix.SYS_SEMGET, unix.IPC_PRIVATE, 1, 0o600))(unix.SYS_SEMCTL) }},
		{"msgget", func(int) error { return forget(call(unix.SYS_MSGGET, unix.IPC_PRIVATE, 0o600))(unix.SYS_MSGCTL) }},
		{"listen without bind", listen(0)},
		{"listen by MPTCP", listen(unix.IPPROTO_MPTCP)},
		{"an MPTCP socket", func(int) error { return socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP) }},
		{"a unix socket", func(int) error { return socket(unix.AF_UNIX, unix.SOCK_STREAM, 0) }},
		{"a netlink socket", func(int) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, 0) }},
		{"keyctl", func(int) error { return only(call(unix.SYS_KEYCTL, 0, ^uintptr(3), 1)) }},
		{"a stack that is none", func(int) error { return mapMemory(unix.MAP_PRIVATE | unix.MAP_GROWSDOWN) }},
		{"a user namespace", func(int) error { return only(call(unix.SYS_UNSHARE, 0)) }},
	}
}

// uncounted are ways to memory that no limit counts, which a tool without the network does not have.
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
	{"a TCP socket", func(int) error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); return err }},
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

// signalByInput asks the kernel for a signal to a thread when a pipe can be read.
func signalByInput(thread int) error {
	var ends [2]int
	if err := unix.Pipe2(ends[:], 0); err != nil {
		return err
	}
	owner := struct{ kind, id int32 }{0, int32(thread)} // F_OWNER_TID
	if _, err := call(unix.SYS_FCNTL, uintptr(ends[0]), unix.F_SETOWN_EX, uintptr(unsafe.Pointer(&owner))); err != nil {
		return err
	}
	return only(call(unix.SYS_FCNTL, uintptr(ends[0]), unix.F_SETSIG, uintptr(unix.SIGURG)))
}

// attackEverything prints what has succeeded, each once.
func attackEverything(dir string) {
	var succeeded []string
	try := func(all []attack, thread int) {
		for _, a := range all {
			if a.do(thread) == nil && !slices.Contains(succeeded, a.name) {
				succeeded = append(succeeded, a.name)
				fmt.Println(a.name)
			}
		}
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		threads, _ := filepath.Glob("/proc/" + lines.Text() + "/task/*")
		if len(threads) == 0 {
			fmt.Println("no thread was found")
		}
		for _, thread := range threads {
			id, _ := strconv.Atoi(filepath.Base(thread))
			try(onThreads, id)
		}
	}
	try(onMachine(dir), 0)
	try(uncounted, 0)
	fmt.Println("end")
}

// attackNames are what an attacker without confinement prints.
func attackNames(lists ...[]attack) (names []string) {
	for _, a := range slices.Concat(lists...) {
		names = append(names, a.name)
	}
	return append(names, "end")
}

// asPlainUser runs a test of this binary as another user, who cannot read the folders of this one.
func asPlainUser(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "plain-user-") //nolint:usetesting // its parents are closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const nobody = 65534
	for name, from := range map[string]string{"test": "/proc/self/exe", "tool-launcher": os.Getenv("LAUNCHER_PATH")} {
		program, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), program, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "test"), "-test.run=^"+table+"$", "-test.v")
	cmd.Dir, cmd.Env = "/tmp", []string{"PATH=" + os.Getenv("PATH"), "LAUNCHER_PATH=" + filepath.Join(dir, "tool-launcher"), "TMPDIR=/tmp"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if said, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(said), "--- PASS") {
		t.Errorf("%v\n%s", err, said)
	}
}

// A tool that was taken over reaches no thread of the service, changes no file, and gets no memory that is not
// counted. The same program without confinement does all of it.
func TestAToolThatIsTakenOver(t *testing.T) {
	bystander, err := subprocess.Start(sh("exec sleep 60")) // of the same user, like a worker or a sibling
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bystander.Stop() })
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "keys.json"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	attackWith := func(c *subprocess.Confinement) []string {
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		res := mustRun(t, subprocess.Command{
			Path: program, Env: []string{asAttacker + "=" + dir, "LAUNCHER_PATH=none"}, Confinement: c,
			Stdin: strings.NewReader(fmt.Sprintf("%d\n%d\n", os.Getpid(), subprocess.PID(bystander))),
		})
		if len(res.Stderr) > 0 {
			t.Logf("%.2000s", res.Stderr)
		}
		return strings.Split(strings.TrimSpace(string(res.Stdout)), "\n")
	}
	for name, c := range map[string]struct {
		confinement *subprocess.Confinement
		want        []string
	}{
		"with the network":    {&subprocess.Confinement{Network: true}, attackNames(uncounted)}, // what remains
		"without the network": {&subprocess.Confinement{}, attackNames()},
		"not confined":        {nil, attackNames(onThreads, onMachine(dir), uncounted)},
	} {
		t.Run(name, func(t *testing.T) {
			got := attackWith(c.confinement)
			slices.Sort(got)
			if slices.Sort(c.want); !slices.Equal(got, c.want) {
				t.Errorf("it succeeds in\n%q, want\n%q", got, c.want)
			}
		})
	}
	if os.Getuid() == 0 { // else all of it runs as one
		t.Run("as a plain user", asPlainUser)
	}
}
