package subprocess_test

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/test/harness/attack"
)

// asAttacker makes the test binary a tool that was taken over. Its value is the folder with the data of the
// service. Its standard input names the processes of the service.
const asAttacker = "CHILD_TEST_ATTACKS"

func init() { //nolint:gochecknoinits // a tool that was taken over runs no tests
	dir := os.Getenv(asAttacker)
	if dir == "" {
		return
	}
	var processes []int
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		id, _ := strconv.Atoi(lines.Text())
		processes = append(processes, id)
	}
	succeeded, err := attack.Try(dir, processes)
	fmt.Printf("%q %v", succeeded, err)
	os.Exit(0)
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
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, attack.Signal)
	defer signal.Stop(signals)
	for _, c := range []struct {
		name        string
		confinement *subprocess.Confinement
		want        []string
		signalled   bool // by the kernel, for a file of the attacker that became ready
	}{
		{"with the network", &subprocess.Confinement{Network: true}, attack.Remaining(), false},
		{"without the network", &subprocess.Confinement{}, nil, false},
		{"not confined", nil, attack.Everything(), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			attacker := subprocess.Command{Path: program, Env: []string{asAttacker + "=" + dir, "LAUNCHER_PATH=none"}, Confinement: c.confinement}
			sibling, err := subprocess.Start(attacker) // with the same rules, to which each launch makes a domain
			if err != nil {
				t.Fatal(err)
			}
			defer sibling.Stop()
			attacker.Stdin = strings.NewReader(fmt.Sprintf("%d\n%d\n%d\n", os.Getpid(), subprocess.PID(bystander), subprocess.PID(sibling)))
			res := mustRun(t, attacker)
			if want := fmt.Sprintf("%q <nil>", c.want); string(res.Stdout) != want {
				t.Errorf("it succeeds in\n%s, want\n%s\n%.2000s", res.Stdout, want, res.Stderr)
			}
			if c.signalled {
				select {
				case <-signals:
				case <-time.After(patience):
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
