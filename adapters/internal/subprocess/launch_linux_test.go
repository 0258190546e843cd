package subprocess_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
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
		return must.Get(subprocess.Start(subprocess.Command{Path: "/bin/sh", Args: []string{"-c", script}}))(t)
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
		expect.Text(t, "the environment", got, "PATH=")
	}
}

// A rule for a file is left out beneath a folder that has one, but a link there needs its own.
func TestAConfinedToolReadsFurtherFiles(t *testing.T) {
	file, folder := filepath.Join(t.TempDir(), "file"), t.TempDir()
	must.Do(t, errors.Join(os.WriteFile(file, []byte("text"), 0o600), os.Symlink(filepath.Dir(file), filepath.Join(folder, "link"))))
	link := filepath.Join(folder, "link", "file")
	for _, c := range []struct {
		file     string
		readable []string
		want     string
	}{
		{file, nil, ""},
		{file, []string{filepath.Dir(file)}, "text"},
		{link, []string{folder}, ""},
		{link, []string{folder, link}, "text"},
	} {
		command := sh(`cat "$1" 2>/dev/null`, c.file)
		command.Confinement = &subprocess.Confinement{Readable: c.readable, Network: true}
		if res := mustRun(t, command); string(res.Stdout) != c.want {
			t.Errorf("with %v it reads %q of %s, %s", c.readable, res.Stdout, c.file, res.Stderr)
		}
	}
}

// The directory of another user, or one that others can read, is not used.
func TestTheScratchDirectoryIsOfThisUserAlone(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(dir, expected string) error
		same    bool
	}{
		"nothing is there":        {func(string, string) error { return nil }, true},
		"an earlier one is there": {func(_, expected string) error { return os.Mkdir(expected, 0o700) }, true},
		"others can read it": {func(_, expected string) error {
			if err := os.Mkdir(expected, 0o700); err != nil {
				return err
			}
			return os.Chmod(expected, 0o755)
		}, false},
		"it is a link": {os.Symlink, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			expected := filepath.Join(dir, "stream-monitor-tools-"+strconv.Itoa(os.Getuid()))
			must.Do(t, c.prepare(dir, expected))
			got, err := subprocess.ScratchIn(dir)
			if err != nil || (got == expected) != c.same || filepath.Dir(got) != dir {
				t.Errorf("it is %s, %v", got, err)
			}
		})
	}
	if got, err := subprocess.ScratchIn("/proc"); err == nil {
		t.Errorf("it is %s, in a folder that cannot be written", got)
	}
}

// Temporary directories are tidied up: tools that had no place to write would fail until the next
// start of the gateway.
func TestARemovedScratchDirectoryIsMadeAgain(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	subprocess.ForgetScratch()
	t.Cleanup(subprocess.ForgetScratch)
	for range 2 {
		c := sh(`echo text >"$TMPDIR/file" && cat "$TMPDIR/file" && rm -r "$TMPDIR/file" && echo "$TMPDIR"`)
		c.Confinement = &subprocess.Confinement{Network: true}
		res := mustRun(t, c)
		text, dir, _ := strings.Cut(strings.TrimSpace(string(res.Stdout)), "\n")
		if text != "text" || filepath.Dir(dir) != os.Getenv("TMPDIR") {
			t.Fatalf("it says %s %s", res.Stdout, res.Stderr)
		}
		must.Do(t, os.Remove(dir))
	}
}

// The kernel compiles a filter at each launch, and tries it with every call number.
func TestAFilterFindsItsRulesInAFewSteps(t *testing.T) {
	values := []uint32{0x101, 1 << 31, ^uint32(0)}
	for _, value := range subprocess.FilterValues() {
		values = append(values, value-1, value, value+1, value|1<<16)
	}
	for _, decodes := range []bool{false, true} {
		answer := subprocess.Filter(decodes)
		for call := range uint32(600) {
			for _, value := range values {
				for _, arguments := range [][6]uint32{{value, value, value, value}, {value, 0, 2, 2}, {2, value, 0, value}, {2, 1, value, 0}} {
					program, rules, steps := answer(call, arguments)
					if program != rules || steps > 30 {
						t.Fatalf("system call %d with %x: the program answers %x after %d steps, the rules say %x", call, arguments, program, steps, rules)
					}
				}
			}
		}
	}
}

// The rules of Landlock are made once, and are for files, not for names: package managers replace a file by another one.
func TestWhatWasReplacedIsReachedAtOnce(t *testing.T) {
	dir := t.TempDir()
	bin, file, tool := filepath.Join(dir, "bin"), filepath.Join(dir, "file"), filepath.Join(dir, "bin", "tool")
	folder, elsewhere := filepath.Join(dir, "folder"), filepath.Join(t.TempDir(), "elsewhere")
	cat, err := os.ReadFile("/bin/cat")
	shell, shellErr := os.ReadFile("/bin/sh")
	must.Do(t, errors.Join(err, shellErr, os.Mkdir(folder, 0o700), os.Mkdir(elsewhere, 0o700)))
	readable := []string{file, folder}
	script := "\nread -r line <$1; printf %s $line"
	replace := func(what, content string) error {
		return errors.Join(os.WriteFile(filepath.Join(dir, "new"), []byte(content), 0o700), os.Rename(filepath.Join(dir, "new"), what))
	}
	for _, c := range []struct {
		name   string
		change func() error
		want   string
	}{
		{"before it is installed", func() error { return replace(file, "text") }, ""},
		{"after it was installed", func() error { return errors.Join(os.Mkdir(bin, 0o700), replace(tool, string(cat))) }, "text"},
		{"after it was replaced", func() error { return replace(tool, string(cat)) }, "text"},
		{"after a file was replaced", func() error { return replace(file, "other") }, "other"},
		{"after its folder was replaced", func() error {
			return errors.Join(os.Rename(bin, bin+".old"), os.Mkdir(bin, 0o700), replace(tool, string(cat)))
		}, "other"},
		{"after it became a script", func() error { return replace(tool, "#!/bin/sh"+script) }, "other"},
		{"after its first line was written anew", func() error {
			return errors.Join(os.WriteFile(filepath.Join(elsewhere, "sh"), shell, 0o700), os.WriteFile(tool, []byte("#!"+elsewhere+"/sh"+script), 0o700))
		}, "other"},
		{"after it became a link", func() error {
			return errors.Join(os.WriteFile(filepath.Join(elsewhere, "cat"), cat, 0o700), os.Remove(tool), os.Symlink(filepath.Join(elsewhere, "cat"), tool))
		}, "other"},
		{"after a folder was replaced", func() error {
			file = filepath.Join(folder, "file")
			return errors.Join(os.Rename(folder, folder+".old"), os.Mkdir(folder, 0o700), replace(file, "beneath"))
		}, "beneath"},
	} {
		must.Do(t, c.change())
		for _, network := range []bool{false, true} {
			res, err := subprocess.Run(t.Context(), subprocess.Command{
				Path: tool, Args: []string{file}, Env: []string{"PATH=" + bin + ":/bin"},
				Confinement: &subprocess.Confinement{Readable: readable, Network: network},
			})
			if errors.Is(err, subprocess.ErrNotInstalled) != (c.want == "") || string(res.Stdout) != c.want {
				t.Errorf("%s, with the network %v, it reads %q: %v %s", c.name, network, res.Stdout, err, res.Stderr)
			}
		}
	}
}

// A tool never deletes what it has cached. A directory of a pod that grows for ever ends the pod.
func TestTheOldestFilesOfALargeScratchDirectoryAreDeleted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	subprocess.ForgetScratch()
	t.Cleanup(subprocess.ForgetScratch)
	outside := filepath.Join(t.TempDir(), "outside")
	dir, err := subprocess.ScratchIn(os.TempDir())
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Join(dir, "yt-dlp", "players"), 0o700), os.WriteFile(outside, []byte("text"), 0o600), os.Symlink(filepath.Dir(outside), filepath.Join(dir, "link")))
	}
	var files []string
	const size = subprocess.MaxScratch / 8
	for age := range 12 { // 0 is the newest
		files = append(files, filepath.Join(dir, "yt-dlp", "players", strconv.Itoa(age)))
		written := time.Now().Add(-time.Duration(age) * time.Hour)
		err = errors.Join(err, os.WriteFile(files[age], nil, 0o600), os.Truncate(files[age], size), os.Chtimes(files[age], written, written))
	}
	must.Do(t, err)
	c := sh("true")
	c.Confinement = &subprocess.Confinement{Network: true}
	mustRun(t, c)
	for age, file := range files {
		if _, err := os.Stat(file); (err == nil) != (age < 7) {
			t.Errorf("the file that is %d h old: %v", age, err)
		}
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "text" {
		t.Errorf("what a link leads to is now %q, %v", text, err)
	}
}
