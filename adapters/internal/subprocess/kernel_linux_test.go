package subprocess_test

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// refusal is a system call that a sandbox refuses, with that first argument or with any.
type refusal struct {
	call  uint32
	first uint32 // 0: any
	errno unix.Errno
}

// outputInSandbox runs a command that gets errors from these system calls, as in a container
// whose seccomp profile does not know them.
func outputInSandbox(cmd *exec.Cmd, refused ...refusal) (said []byte, err error) {
	var filter []unix.SockFilter
	for _, r := range refused {
		next := uint8(3) // instructions to skip
		if r.first == 0 {
			next = 1
		}
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the call's number
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: next, K: r.call})
		if r.first != 0 {
			filter = append(filter,
				unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16}, // its first argument
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: r.first})
		}
		filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(r.errno)})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return
		}
		if err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
			return
		}
		said, err = cmd.Output() // it inherits the filter of this thread
	}()
	<-done
	return said, err
}

// A stream must be watched in every sandbox, and whoever runs it must learn what is not confined.
func TestAToolRunsWithoutWhatASandboxRefuses(t *testing.T) {
	var privileges []string
	if os.Geteuid() == 0 { // another user has no capabilities to give up
		privileges = []string{"no_new_privs"}
	}
	all := []refusal{
		{call: unix.SYS_PRCTL, first: unix.PR_SET_NO_NEW_PRIVS, errno: unix.EINVAL},
		{call: unix.SYS_LANDLOCK_CREATE_RULESET, errno: unix.ENOSYS},
		{call: unix.SYS_PRCTL, first: unix.PR_SET_SECCOMP, errno: unix.EINVAL},
	}
	for name, c := range map[string]struct {
		refused []refusal
		missing []string
	}{
		"nothing is refused":         {nil, nil},
		"no new privileges":          {all[:1], []string{"no_new_privs"}},
		"capabilities":               {[]refusal{{call: unix.SYS_CAPSET, errno: unix.EPERM}}, privileges},
		"a kernel without Landlock":  {all[1:2], []string{"Landlock"}},
		"Landlock is switched off":   {[]refusal{{call: unix.SYS_LANDLOCK_CREATE_RULESET, errno: unix.EOPNOTSUPP}}, []string{"Landlock"}},
		"Landlock cannot be applied": {[]refusal{{call: unix.SYS_LANDLOCK_RESTRICT_SELF, errno: unix.EPERM}}, []string{"Landlock"}},
		"Landlock takes no rules":    {[]refusal{{call: unix.SYS_LANDLOCK_ADD_RULE, errno: unix.EPERM}}, []string{"Landlock"}},
		"a kernel without seccomp":   {all[2:], []string{"seccomp"}},
		"seccomp":                    {[]refusal{{call: unix.SYS_PRCTL, first: unix.PR_SET_SECCOMP, errno: unix.EPERM}}, []string{"seccomp"}},
		"everything":                 {all, []string{"no_new_privs", "Landlock", "seccomp"}},
	} {
		t.Run(name, func(t *testing.T) {
			said, err := outputInSandbox(parentThat(t, "confines"), c.refused...)
			lines := strings.Split(strings.TrimSpace(string(said)), "\n")
			if err != nil || len(lines) < 2 || lines[0] != "50" || lines[1] != "<nil>" {
				t.Fatalf("said %q, %v", said, err)
			}
			var missing []string
			for _, line := range lines[2:] {
				name, _, _ := strings.Cut(line, ":")
				missing = append(missing, name)
			}
			if !slices.Equal(missing, c.missing) {
				t.Errorf("missing is %q, want %q", lines[2:], c.missing)
			}
		})
	}
}

// BenchmarkLaunch measures the CPU time of a launch: that of this process and of the children. Each launch
// follows one of the same program by os/exec, so that other load changes both.
func BenchmarkLaunch(b *testing.B) {
	for name, c := range map[string]subprocess.Command{
		"plain":           {Path: "/bin/true"},
		"without network": {Path: "/bin/true", Confinement: &subprocess.Confinement{}},
		"with network":    {Path: "/bin/true", Confinement: &subprocess.Confinement{Network: true}},
	} {
		b.Run(name, func(b *testing.B) {
			var launches, executions time.Duration
			for b.Loop() {
				executions += cpuTimeOf(b, func() error { return exec.CommandContext(b.Context(), c.Path).Run() })
				launches += cpuTimeOf(b, func() error { _, err := subprocess.Run(b.Context(), c); return err })
			}
			b.ReportMetric(launches.Seconds()*1000/float64(b.N), "ms-CPU/launch")
			b.ReportMetric(executions.Seconds()*1000/float64(b.N), "ms-CPU/exec")
		})
	}
}

// cpuTimeOf returns the CPU time that this process and its children use to do something.
func cpuTimeOf(b *testing.B, do func() error) (used time.Duration) {
	b.Helper()
	sum := func() (all time.Duration) {
		for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
			var usage unix.Rusage
			must.Do(b, unix.Getrusage(who, &usage))
			all += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		}
		return all
	}
	before := sum()
	must.Do(b, do())
	return sum() - before
}
