package subprocess_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/test/harness/attack"
	"github.com/stream-monitor/stream-monitor/test/harness/await"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// asAttacker makes the test binary a tool that was taken over. Its value is the folder with the data of the
// service, and then the processes of the service.
const asAttacker = "CHILD_TEST_ATTACKS"

// executing is what the attacker says when it has become another program.
const executing = ", and executes others"

func init() { //nolint:gochecknoinits // a tool that was taken over runs no tests
	words := strings.Fields(os.Getenv(asAttacker))
	if len(words) == 0 {
		return
	}
	var processes []int
	for _, word := range words[1:] {
		id, _ := strconv.Atoi(word)
		processes = append(processes, id)
	}
	succeeded, err := attack.Try(words[0], processes)
	status, statusErr := os.ReadFile("/proc/self/status")
	for _, line := range []string{"CapPrm:\t0000000000000000\n", "CapEff:\t0000000000000000\n", "NoNewPrivs:\t1\n"} {
		if !strings.Contains(string(status), line) {
			fmt.Printf("privileges: %s%v\n", status, statusErr)
			break
		}
	}
	fmt.Printf("%q %v", succeeded, err)
	_ = syscall.Exec("/bin/echo", []string{"echo", "-n", executing}, nil)
	os.Exit(0)
}

// prepareAttack makes what a tool that was taken over would look for. It returns the tool, which attacks
// this process, a process like a worker, and a tool like itself.
func prepareAttack(t *testing.T, confinement *subprocess.Confinement) subprocess.Command {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "keys.json"), []byte("secret"), 0o600))
	program := must.Get(os.Executable())(t)
	words := fmt.Sprintf("%s %d", dir, os.Getpid())
	for _, c := range []*subprocess.Confinement{nil, confinement} {
		command := sh("read _")
		command.Confinement = c // the rules of the attacker, to which each launch makes a domain
		victim := must.Get(subprocess.Start(command))(t)
		t.Cleanup(func() { victim.Stop() })
		words += fmt.Sprint(" ", subprocess.PID(victim))
	}
	return subprocess.Command{Path: program, Env: []string{asAttacker + "=" + words, "LAUNCHER_PATH=none"}, Confinement: confinement}
}

// asScript makes a script that starts a tool, as a wrapper around ffmpeg does.
func asScript(t *testing.T, tool subprocess.Command) subprocess.Command {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tool")
	must.Do(t, os.WriteFile(file, []byte("#!/bin/sh\nexec "+tool.Path), 0o700))
	tool.Confinement.Readable, tool.Path = append(tool.Confinement.Readable, tool.Path), file
	return tool
}

// A tool that was taken over reaches no thread of the service, reads and changes no file of it, and gets no memory
// that is not counted. The same program without confinement does all of it. It never has privileges.
func TestAToolThatIsTakenOver(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, attack.Signal)
	defer signal.Stop(signals)
	run := func(t *testing.T, c subprocess.Command) string { return string(mustRun(t, c).Stdout) }
	for _, c := range []struct {
		name        string
		confinement *subprocess.Confinement
		run         func(*testing.T, subprocess.Command) string
		want        []string
		executes    bool // it becomes another program
		signalled   bool // by the kernel, for a file of the attacker that became ready
	}{
		{"with the network", &subprocess.Confinement{Network: true}, run, attack.Remaining(), true, false},
		{"without the network", &subprocess.Confinement{}, run, nil, false, false},
		{"without the network, which reads programs", &subprocess.Confinement{Readable: []string{"/bin/echo"}}, run, nil, false, false},
		{"a script without the network", &subprocess.Confinement{}, func(t *testing.T, c subprocess.Command) string {
			return run(t, asScript(t, c))
		}, attack.RemainingInScripts(), true, false},
		{"that stays up", &subprocess.Confinement{}, func(t *testing.T, c subprocess.Command) string {
			p := must.Get(subprocess.Start(c))(t)
			defer p.Stop()
			said, _ := io.ReadAll(p)
			return string(said)
		}, nil, false, false},
		{"not confined", nil, run, attack.Everything(), true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := fmt.Sprintf("%q <nil>", c.want)
			if c.executes {
				want += executing
			}
			if said := c.run(t, prepareAttack(t, c.confinement)); said != want {
				t.Errorf("it succeeds in\n%s, want\n%s", said, want)
			}
			if c.signalled {
				select {
				case <-signals:
				case <-time.After(await.Limit):
					t.Error("no thread of this process was signalled")
				}
			} else if len(signals) > 0 {
				t.Error("a thread of this process was signalled")
			}
		})
	}
	if os.Getuid() == 0 { // else all of it runs as one
		t.Run("as a plain user", attack.AsPlainUser)
	}
}

// A tool starts with every version of Landlock, and does nothing more than what is said to be missing.
func TestAToolInOlderKernels(t *testing.T) {
	for version := range 7 {
		restore := subprocess.WithLandlock(version)
		missing := strings.Join(subprocess.Missing(), "\n")
		said := string(mustRun(t, prepareAttack(t, &subprocess.Confinement{Network: true})).Stdout)
		restore()
		for what, promise := range map[string]string{
			`"kill"`: "signal other processes", `"read"`: "read and write what this user may",
			`"bind"`: "no kernel", `"a unix socket"`: "no kernel",
		} {
			if does, told := strings.Contains(said, what), strings.Contains(missing, promise); does != told && (version > 0 || does && promise == "no kernel") {
				t.Errorf("with Landlock %d it succeeds in %s: %v, but it was said: %s", version, what, does, missing)
			}
		}
		expect.Text(t, "what it said", said, "a TCP connection")
	}
}

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
