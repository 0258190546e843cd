package subprocess_test

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// The shell that started the service may have left open files, whose descriptors every child inherits.
func TestAToolInheritsNoDescriptor(t *testing.T) {
	for _, number := range []int{3, 4, 77} {
		if _, err := unix.FcntlInt(uintptr(number), unix.F_GETFD, 0); err == nil {
			continue // this process uses it
		}
		null := must.Get(unix.Open("/dev/null", unix.O_RDONLY, 0))(t)
		if null != number {
			must.Do(t, unix.Dup3(null, number, 0))
			_ = unix.Close(null)
		}
		defer func() { _ = unix.Close(number) }()
	}
	for _, confinement := range []*subprocess.Confinement{nil, {Network: true}} { // the second one has rules of Landlock, to which it could add some
		c := sh(`for f in 3 4 5 6 7 8 77; do [ -e /proc/$$/fd/$f ] && echo $f; done; true`)
		c.Confinement = confinement
		if res := mustRun(t, c); len(res.Stdout) > 0 {
			t.Errorf("confined by %v it has the descriptors %q", confinement, res.Stdout)
		}
	}
}

// An old kernel, or the filter of a container, does not know the call that closes all of them.
func TestAToolInheritsNoDescriptorInAnOldSandbox(t *testing.T) {
	test := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAToolInheritsNoDescriptor$", "-test.v")
	if said, err := outputInSandbox(test, refusal{call: unix.SYS_CLOSE_RANGE, errno: unix.ENOSYS}); err != nil || !strings.Contains(string(said), "--- PASS") {
		t.Errorf("%v\n%s", err, said)
	}
}

// As in a container whose seccomp profile does not know prlimit.
func TestAToolWhoseLimitsFailDoesNotRun(t *testing.T) {
	said, err := outputInSandbox(parentThat(t, "limits"), refusal{call: unix.SYS_PRLIMIT64, errno: unix.EPERM})
	if want := "start /bin/sh: limit of file size: operation not permitted\n"; err != nil || string(said) != want {
		t.Errorf("said %q, %v, want %q", said, err, want)
	}
}

func TestAToolHasAHigherOOMScoreThanItsParent(t *testing.T) {
	raw := must.Get(os.ReadFile("/proc/self/oom_score_adj"))(t)
	own := must.Get(strconv.Atoi(strings.TrimSpace(string(raw))))(t)
	// It waits for its input, which comes when all is set.
	r := must.Get(subprocess.Run(t.Context(), subprocess.Command{Path: "/bin/sh", Args: []string{"-c", "read -r _; cat /proc/$$/oom_score_adj; sh -c 'cat /proc/$$/oom_score_adj'"},
		Stdin: io.NopCloser(strings.NewReader("go\n"))}))(t)
	want := strconv.Itoa(min(own+500, 1000))
	if got := strings.Fields(string(r.Stdout)); len(got) != 2 || got[0] != want || got[1] != want {
		t.Errorf("it and its child have %q, want %s; this process has %d", got, want, own)
	}
}

func TestATimeIsOfTheCPU(t *testing.T) {
	start := func(script string) *subprocess.Process {
		p := must.Get(subprocess.Start(subprocess.Command{Path: "/bin/sh", Args: []string{"-c", script}}))(t)
		return p
	}
	busy, idle := start("while :; do :; done"), start("read line")
	defer idle.Stop()
	const wanted = time.Second // much more than a start takes on a busy machine
	for deadline := time.Now().Add(time.Minute); busy.CPUTime() < wanted; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("a busy tool has used %v", busy.CPUTime())
		}
	}
	if used := idle.CPUTime(); used <= 0 || used >= wanted {
		t.Errorf("an idle tool has used %v", used)
	}
	if busy.Stop(); busy.CPUTime() != 0 {
		t.Errorf("a tool that has ended has used %v", busy.CPUTime())
	}
}

func TestAToolInheritsOnlyWhatItNeeds(t *testing.T) {
	kept := []string{"HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE", "LC_ALL", "TMPDIR", "TZ"}
	secret := []string{"API_KEY", "INTERNAL_API_KEY", "CALLBACK_URL", "DB_DSN", "EGRESS_PROXIES", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD", "SOMETHING_NEW"}
	for _, name := range slices.Concat(kept, secret) {
		t.Setenv(name, "/of-"+name)
	}
	resident := must.Get(subprocess.Start(sh("env")))(t)
	said, _ := io.ReadAll(resident)
	resident.Stop()
	for how, got := range map[string]string{"run": string(mustRun(t, sh("env")).Stdout), "started": string(said)} {
		for _, name := range slices.Concat(kept, secret) {
			if has, want := strings.Contains(got, "\n"+name+"=/of-"+name+"\n"), slices.Contains(kept, name); has != want {
				t.Errorf("a tool that is %s has %s: %v, want %v", how, name, has, want)
			}
		}
		if !strings.Contains(got, "PATH=") {
			t.Errorf("a tool that is %s has no PATH: %s", how, got)
		}
	}
}
