package process_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	_ "github.com/stream-monitor/stream-monitor/test/harness/testtools/launcher" // the tests start tools
)

// The tools of an adopted worker are killed with it.
func TestNoProcessIsLeftOfAnAdoptedWorker(t *testing.T) {
	for name, end := range map[string]func(*harness, supervisor.WorkerSpec){
		"when it is stopped":                func(r *harness, spec supervisor.WorkerSpec) { _ = r.launcher.Stop(r.t.Context(), spec.ID) },
		"when it is killed by someone else": func(r *harness, spec supervisor.WorkerSpec) { r.signal(spec.ID, syscall.SIGKILL) },
		"when there is no time": func(r *harness, _ supervisor.WorkerSpec) {
			ctx, cancel := context.WithCancel(r.t.Context())
			cancel()
			_ = r.launcher.Close(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, spec := newHarnessWithoutLauncher(t), newSpec(hasToolsIgnoresStop)
			gateway := r.startEarlierGateway(nil, spec)
			r.eventually("its two tools", func() bool { return len(readMarks(r.marks, "tool", string(spec.ID))) == 2 })
			gateway.kill()
			r.startLauncher(nil)
			ended := make(chan struct{})
			go func() { defer close(ended); end(r, spec) }()
			e := r.exit()
			<-ended
			if e.Clean || !strings.Contains(e.Detail, "unknown") {
				t.Errorf("got %+v, want an unknown end", e)
			}
			for _, tool := range readMarks(r.marks, "tool", string(spec.ID)) {
				r.eventually("the tool to be gone", func() bool { s := state(tool.pid); return s == "" || s == "Z" })
			}
			r.expectFiles()
		})
	}
}

// A tool started after the adoption is recognized by its start time.
func TestToolsStartedAfterAdoptionAreKilledWithTheWorker(t *testing.T) {
	r, spec := newHarnessWithoutLauncher(t), newSpec(hasToolsWhenTold)
	r.startEarlierGateway(nil, spec).kill()
	r.startLauncher(nil)
	r.signal(spec.ID, syscall.SIGUSR1)
	tools := func() []processMark { return readMarks(r.marks, "tool", string(spec.ID)) }
	r.eventually("the tools", func() bool { return len(tools()) == 2 })
	r.eventually("the worker to be seen again", func() bool {
		seen := r.launcher.LastSeen(spec.ID)
		return !slices.ContainsFunc(tools(), func(tool processMark) bool { return startOf(t, tool.pid) >= seen })
	})
	r.signal(spec.ID, syscall.SIGKILL)
	r.exit()
	for _, tool := range tools() {
		r.eventually("the tool to be gone", func() bool { s := state(tool.pid); return s == "" || s == "Z" })
	}
}

// A gateway that was suspended when its adopted worker ended cannot know whether the
// process id, and so the session, has been reused. A process started there meanwhile
// may be another program's. The test uses the worker's own tools for it, because
// nothing tells them apart.
func TestAProcessInAReusedSessionIsLeftAlone(t *testing.T) {
	r, spec := newHarnessWithoutLauncher(t), newSpec(hasToolsWhenTold)
	r.startEarlierGateway(nil, spec).kill()
	frozen := r.startEarlierGateway(nil)
	_ = frozen.cmd.Process.Signal(syscall.SIGSTOP)
	r.eventually("the gateway to be suspended", func() bool { return state(frozen.cmd.Process.Pid) == "T" })
	r.signal(spec.ID, syscall.SIGUSR1)
	tools := func() []processMark { return readMarks(r.marks, "tool", string(spec.ID)) }
	r.eventually("the tools", func() bool { return len(tools()) == 2 })
	defer func() {
		for _, tool := range tools() {
			_ = syscall.Kill(tool.pid, syscall.SIGKILL)
		}
	}()
	r.signal(spec.ID, syscall.SIGKILL)
	r.eventually("the worker's end", func() bool { return len(r.alive(spec.ID)) == 0 })
	_ = frozen.cmd.Process.Signal(syscall.SIGCONT)
	r.eventually("the gateway to notice", func() bool {
		b, _ := os.ReadFile(filepath.Join(r.marks, "predecessor.log"))
		return strings.Contains(string(b), "worker ended")
	})
	for _, tool := range tools() {
		if s := state(tool.pid); s == "" || s == "Z" {
			t.Error("what may be a stranger's was killed")
		}
	}
}

// A worker died while no gateway ran, and left tools behind.
func TestToolsOfAnEndedWorkerAreKilled(t *testing.T) {
	r, spec, other := newHarnessWithoutLauncher(t), newSpec(hasToolsIgnoresStop), newSpec(hasToolsIgnoresStop)
	other.ID = monitor.NewID([16]byte{0: 1, 6: 0x70, 8: 0x80})
	gateway := r.startEarlierGateway(nil, spec, other)
	tools := func(of supervisor.WorkerSpec) []processMark { return readMarks(r.marks, "tool", string(of.ID)) }
	r.eventually("their tools", func() bool { return len(tools(spec)) == 2 && len(tools(other)) == 2 })
	gateway.kill()
	// A suspended tool does not end by itself.
	_ = syscall.Kill(tools(spec)[0].pid, syscall.SIGSTOP)
	r.signal(spec.ID, syscall.SIGKILL)
	r.eventually("the worker's end", func() bool { return len(r.alive(spec.ID)) == 0 })
	r.startLauncher(nil)
	for _, tool := range tools(spec) {
		r.eventually("the tool to be gone", func() bool { s := state(tool.pid); return s == "" || s == "Z" })
	}
	for _, tool := range tools(other) {
		if s := state(tool.pid); s == "" || s == "Z" {
			t.Error("the tool of a worker that is alive was ended")
		}
	}
	r.expectListed(other.Generation)
}

// A tool can read the arguments of its worker, and leave a process behind that has the same ones. The gateway would take it
// for the worker, and nobody would watch the stream.
func TestAToolIsNotTakenForAWorker(t *testing.T) {
	for name, c := range map[string]struct {
		start   func(r *harness, args []string) (output io.Reader, stop func())
		adopted []int
	}{
		"a tool":                {startTool, nil},
		"a process of the user": {startProgram, []int{3}},
	} {
		t.Run(name, func(t *testing.T) {
			r, spec := newHarnessWithoutLauncher(t), newSpec(launchertest.StopsWhenAsked)
			r.startEarlierGateway(nil, spec).kill()
			args := append([]string{"--fork", "sh", "-c", "echo $$; read -r _", "sh"}, r.arguments(spec)...)
			r.signal(spec.ID, syscall.SIGKILL)
			r.eventually("its end", func() bool { return len(r.alive(spec.ID)) == 0 })
			if err := os.Remove(r.record(spec)); err != nil {
				t.Fatal(err)
			}
			output, stop := c.start(r, args)
			said, err := bufio.NewReader(output).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(said))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL); stop() })
			r.startLauncher(nil)
			r.expectListed(c.adopted...)
		})
	}
}

// startTool starts a tool that leaves a process with a session of its own.
func startTool(r *harness, args []string) (io.Reader, func()) {
	tool, err := subprocess.Start(subprocess.Command{Path: "setsid", Args: args, Confinement: &subprocess.Confinement{Network: true}})
	if err != nil {
		r.t.Fatal(err)
	}
	return tool, func() { tool.Stop() }
}

// startProgram starts the same as a process of the user.
func startProgram(r *harness, args []string) (io.Reader, func()) {
	cmd := exec.CommandContext(r.t.Context(), "setsid", args...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	return output, func() { _ = stdin.Close(); _ = cmd.Wait() }
}
