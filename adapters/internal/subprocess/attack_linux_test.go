package subprocess_test

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/test/harness/attack"
	"github.com/stream-monitor/stream-monitor/test/harness/await"
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
		if !strings.Contains(said, "a TCP connection") {
			t.Errorf("with Landlock %d it does not work: %s", version, said)
		}
	}
}
