//go:build compose

package compose_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/docker"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

const (
	startTimeout    = 30 * time.Second // from "docker compose up" until the first monitor is watched
	recoveryTimeout = time.Minute      // from a failure until a monitor is watched again
)

// Each step finds the deployment as the step before has left it.
func TestComposeFromUpToDown(t *testing.T) {
	image := os.Getenv("IMAGE")
	if image == "" {
		t.Fatal("IMAGE must name the image to test: run make test-compose")
	}
	p := newProject(t, image)
	step(t, "compose up: the first monitor is watched within 30 s", p.start)
	step(t, "the main scenario, beside a worker that is killed", func(t *testing.T) {
		t.Run("the main scenario", func(t *testing.T) {
			t.Parallel()
			p.PlayMain(t)
		})
		t.Run("a killed worker", func(t *testing.T) {
			t.Parallel()
			p.Survive(t, scenario.Disruption{Do: p.killWorker, Within: recoveryTimeout, Late: recoveryTimeout})
		})
	})
	for _, d := range []struct {
		name string
		do   func(t *testing.T, s *scenario.Stream)
	}{
		{"a gateway that dies", p.killGateway},
		{"a gateway that is restarted", p.restartGateway},
		{"a database that restarts", func(t *testing.T, _ *scenario.Stream) { p.compose(t, "restart", "postgres") }},
		{"an upgrade", func(t *testing.T, _ *scenario.Stream) { p.upgrade(t, image) }},
	} {
		step(t, d.name, func(t *testing.T) {
			p.Survive(t, scenario.Disruption{Do: d.do, Within: recoveryTimeout, Late: recoveryTimeout})
		})
	}
	for _, host := range p.YouTube.RefusedHosts() {
		t.Errorf("a container connected to %s", host)
	}
	step(t, "compose down leaves nothing", p.takeDown)
}

// step runs a subtest and stops the test if it fails: later steps depend on it.
func step(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	if !t.Run(name, test) {
		t.FailNow()
	}
}

// start runs "docker compose up". The first monitor must be watched within startTimeout.
func (p *project) start(t *testing.T) {
	start := time.Now()
	p.compose(t, "up", "--detach", "--quiet-pull")
	p.waitUntilReady(t)
	t.Logf("ready after %.1f s", time.Since(start).Seconds())
	s := p.Watch(t, scenario.Video{})
	if took := time.Since(start); took > startTimeout {
		t.Errorf("the first monitor is watched after %s, want %s", took, startTimeout)
	}
	p.Eventually(t, recoveryTimeout, "a healthy gateway container", func() bool { return p.inspectGateway(t, "{{.State.Health.Status}}") == "healthy" })
	t.Logf("the gateway's container uses %s", docker.Run(t, "stats", "--no-stream", "--format", "{{.MemUsage}}, {{.PIDs}} processes and threads", p.gateway()))
	s.EndAndAssert()
}

func (p *project) waitUntilReady(t *testing.T) {
	t.Helper()
	p.Eventually(t, recoveryTimeout, "a ready gateway", func() bool {
		a, err := p.Service.Call(t.Context(), http.MethodGet, "/readyz", nil)
		return err == nil && a.Status == http.StatusOK
	})
}

// killWorker kills the worker of a stream; the container goes on.
func (p *project) killWorker(t *testing.T, s *scenario.Stream) {
	startedAt := p.inspectGateway(t, "{{.State.StartedAt}}")
	workers := p.Workers(t, s.ID)
	if len(workers) != 1 {
		t.Fatalf("%d workers run, want 1", len(workers))
	}
	p.compose(t, "exec", "-T", "gateway", "bash", "-c", "kill -9 "+workers[0])
	p.WaitReplaced(t, s.ID, workers[0], recoveryTimeout)
	if now := p.inspectGateway(t, "{{.State.StartedAt}}"); now != startedAt {
		t.Errorf("the container started at %s was restarted at %s", startedAt, now)
	}
}

// killGateway kills the subprocess of tini. The container ends with it, workers included, and is restarted.
func (p *project) killGateway(t *testing.T, _ *scenario.Stream) {
	p.compose(t, "exec", "-T", "gateway", "bash", "-c", "kill -9 $(</proc/1/task/1/children)")
	p.Eventually(t, recoveryTimeout, "a restarted container", func() bool {
		return p.inspectGateway(t, "{{.RestartCount}} {{.State.Running}}") == "1 true"
	})
	p.waitUntilReady(t)
}

func (p *project) restartGateway(t *testing.T, _ *scenario.Stream) {
	since := p.inspectGateway(t, "{{.State.StartedAt}}")
	p.compose(t, "restart", "gateway")
	if now := p.inspectGateway(t, "{{.State.StartedAt}}"); now == since {
		t.Error("the container was not restarted")
	}
	p.waitUntilReady(t)
}

// upgrade changes the image to one that differs only in a label.
func (p *project) upgrade(t *testing.T, image string) {
	name := fmt.Sprintf("stream-monitor:compose-upgrade-%d", os.Getpid())
	build := exec.Command("docker", "buildx", "build", "--quiet", "--load", "--tag", name, "-")
	build.Stdin = strings.NewReader("FROM " + image + "\nLABEL stream-monitor.release=newer\n")
	docker.Exec(t, build)
	p.newImage = name // removed with the project
	p.env = append(p.env, "IMAGE="+name)
	p.compose(t, "up", "--detach")
	if got, want := p.inspectGateway(t, "{{.Image}}"), docker.Run(t, "image", "inspect", "-f", "{{.Id}}", name); got != want {
		t.Fatalf("the container runs %s, want %s", got, want)
	}
	p.waitUntilReady(t)
}

// takeDown runs "docker compose down", which must leave nothing.
func (p *project) takeDown(t *testing.T) {
	if len(p.leftovers(t)) == 0 {
		t.Fatal("leftovers finds nothing while the project runs")
	}
	p.compose(t, "down", "--volumes")
	if left := p.leftovers(t); len(left) > 0 {
		t.Errorf("docker compose down left %s", strings.Join(left, ", "))
	}
}
