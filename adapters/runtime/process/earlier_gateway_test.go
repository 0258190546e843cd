package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/process"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The variable that makes the test binary an earlier gateway, with its configuration.
const earlierGatewayVariable = "PROCESS_TEST_PREDECESSOR"

// earlierConfig says what an earlier gateway does before it is killed.
type earlierConfig struct {
	RunDir, Marks   string
	GatewayURL, Key string
	Jobs            []supervisor.WorkerSpec
}

// runEarlierGateway is an earlier gateway: it launches workers and waits for its end.
func runEarlierGateway(text string) int {
	fail := func(err error) int {
		fmt.Println("failed:", err)
		return 6
	}
	time.AfterFunc(time.Minute, func() { os.Exit(9) })
	var p earlierConfig
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return fail(err)
	}
	_ = os.Unsetenv(earlierGatewayVariable)
	log := &logRecorder{file: filepath.Join(p.Marks, "predecessor.log")}
	cfg := settings(p.RunDir, p.Marks, log)
	cfg.GatewayURL, cfg.Tokens = p.GatewayURL, monitor.NewTokenKey(p.Key)
	l, err := process.New(cfg)
	if err != nil {
		return fail(err)
	}
	for _, spec := range p.Jobs {
		if err := l.Launch(context.Background(), spec); err != nil {
			return fail(err)
		}
		for len(readMarks(p.Marks, "worker", string(spec.ID))) == 0 {
			time.Sleep(5 * time.Millisecond)
		}
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// earlierGateway is an earlier gateway's process.
type earlierGateway struct {
	cmd  *exec.Cmd
	over bool
}

func (g *earlierGateway) kill() {
	if !g.over {
		g.over = true
		_ = g.cmd.Process.Kill()
		_ = g.cmd.Wait()
	}
}

// startEarlierGateway starts a gateway that launches specs. It is killed at the end of
// the test.
func (r *harness) startEarlierGateway(change func(*earlierConfig), specs ...supervisor.WorkerSpec) *earlierGateway {
	r.t.Helper()
	p := earlierConfig{r.runDir, r.marks, "http://127.0.0.1:8081", "internal-key", specs}
	if change != nil {
		change(&p)
	}
	text, err := json.Marshal(p)
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), earlierGatewayVariable+"="+string(text))
	if _, err := cmd.StdinPipe(); err != nil {
		r.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	g := &earlierGateway{cmd: cmd}
	r.t.Cleanup(g.kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		r.t.Fatalf("the earlier gateway says %q (%v)", line, err)
	}
	return g
}
