//go:build compose

package compose_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

const (
	alertThreshold = 6 * time.Second
	mediaTolerance = 500 * time.Millisecond // of instants that come from the media

	// From "docker compose up" until the first monitor is watched.
	startTimeout = 30 * time.Second
	// From a failure until all monitors are watched again.
	recoveryTimeout = 60 * time.Second

	// parallelStreams is how many streams run at once.
	parallelStreams = "4"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", parallelStreams); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// Each step finds the deployment as the step before has left it.
func TestComposeFromUpToDown(t *testing.T) {
	image := os.Getenv("IMAGE")
	if image == "" {
		t.Fatal("IMAGE must name the image to test: run make test-compose")
	}
	newImage, newDigest := newerImage(t, image)
	s := newDeployment(t, image)
	streams, ids := map[string]*livestream.Stream{}, map[string]string{}
	const first, second, third = "composeOne1", "composeTwo2", "composeSix6"
	for _, name := range []string{first, second, third} {
		var err error
		streams[name], err = s.StartStream(t.Context(), name, livestream.Config{})
		must(t, err)
	}
	main := streams[first]
	var id string // monitor of the first stream
	var all []string

	step(t, "compose up: the first monitor is watched within 30 s", func(t *testing.T) {
		start := time.Now()
		s.compose(t, "up", "--detach", "--quiet-pull")
		s.waitUntilReady(t, startTimeout)
		t.Logf("ready after %.1f s", time.Since(start).Seconds())
		id = s.register(t, first)
		s.waitUntilWatched(t, 1, startTimeout, id)
		took := time.Since(start)
		t.Logf("the first monitor is watched after %.1f s", took.Seconds())
		if took > startTimeout {
			t.Errorf("the first monitor is watched after %s, want %s", took, startTimeout)
		}
		ids[first], ids[second], ids[third] = id, s.register(t, second), s.register(t, third)
		all = []string{id, ids[second], ids[third]}
		s.waitUntilWatched(t, 2, recoveryTimeout, all...)
		waitFor(t, recoveryTimeout, "a healthy gateway container", func() bool {
			return docker(t, "inspect", "-f", "{{.State.Health.Status}}", s.name+"-gateway-1") == "healthy"
		})
		t.Logf("the gateway's container uses %s", docker(t, "stats", "--no-stream", "--format", "{{.MemUsage}}, {{.PIDs}} processes and threads", s.name+"-gateway-1"))
	})

	step(t, "three streams play the main scenario at once, and a fourth loses its worker during an alert", func(t *testing.T) {
		for i := range 3 {
			t.Run(fmt.Sprintf("main scenario %d", i+1), func(t *testing.T) {
				t.Parallel()
				s.playMainScenario(t, fmt.Sprintf("composeAct%d", i+1))
			})
		}
		t.Run("a worker that is killed", func(t *testing.T) {
			t.Parallel()
			s.lostWorker(t, streams[second], ids[second], id, ids[third])
		})
	})

	step(t, "a gateway that dies during an alert and is restarted later recovers the alert once", func(t *testing.T) {
		black := main.Black(true)
		alert := s.waitForEvent(t, id, "alert.blackout", 1, time.Minute)
		expectInTime(t, main, black, alert)
		killed := time.Now()
		// The child of tini is the gateway; the container ends with it, workers included.
		s.compose(t, "exec", "-T", "gateway", "bash", "-c", "kill -9 $(</proc/1/task/1/children)")
		waitFor(t, recoveryTimeout, "a restarted container", func() bool {
			return docker(t, "inspect", "-f", "{{.RestartCount}} {{.State.Running}}", s.name+"-gateway-1") == "1 true"
		})
		s.waitUntilReady(t, recoveryTimeout)
		s.waitUntilWatched(t, 2, recoveryTimeout, all...)
		t.Logf("all are watched again %.1f s after the gateway died", time.Since(killed).Seconds())

		_, _, since := s.gatewayContainer(t)
		start := time.Now()
		s.compose(t, "restart", "gateway")
		if _, _, now := s.gatewayContainer(t); now == since {
			t.Error("the container was not restarted")
		}
		s.waitUntilReady(t, recoveryTimeout)
		s.waitUntilWatched(t, 2, recoveryTimeout, all...)
		t.Logf("all are watched again %.1f s after the restart began", time.Since(start).Seconds())
		picture := main.Black(false)
		expectUninterruptedAlert(t, alert, s.waitForEvent(t, id, "alert.blackout_recovered", 1, time.Minute), black, picture)
	})

	step(t, "a database that restarts loses nothing", func(t *testing.T) {
		silence := main.Silence(true)
		s.compose(t, "restart", "postgres")
		alert := s.waitForEvent(t, id, "alert.silence", 1, time.Minute)
		sound := main.Silence(false)
		back := s.waitForEvent(t, id, "alert.silence_recovered", 1, time.Minute)
		expectUninterruptedAlert(t, alert, back, silence, sound)
		expectInTime(t, main, silence, alert)
	})

	step(t, "an upgrade during an alert loses nothing", func(t *testing.T) {
		before, old, _ := s.gatewayContainer(t)
		black := main.Black(true)
		alert := s.waitForEvent(t, id, "alert.blackout", 2, time.Minute)
		start := time.Now()
		s.env = append(s.env, "IMAGE="+newImage)
		s.compose(t, "up", "--detach")
		if container, runs, _ := s.gatewayContainer(t); container == before || runs == old || runs != newDigest {
			t.Fatalf("container %s runs %s, want %s; before, container %s ran %s", container, runs, newDigest, before, old)
		}
		s.waitUntilReady(t, recoveryTimeout)
		s.waitUntilWatched(t, 2, recoveryTimeout, all...)
		t.Logf("all are watched again %.1f s after the upgrade began", time.Since(start).Seconds())
		picture := main.Black(false)
		expectUninterruptedAlert(t, alert, s.waitForEvent(t, id, "alert.blackout_recovered", 2, time.Minute), black, picture)
	})

	step(t, "every event was sent once, in order", func(t *testing.T) {
		ended := map[string]time.Time{}
		for name, stream := range streams {
			ended[name] = stream.End()
		}
		for name, at := range ended {
			expectInstant(t, "ended_at", s.waitForEvent(t, ids[name], "stream.ended", 1, time.Minute).Data.EndedAt, at)
		}
		black := []string{"alert.blackout", "alert.blackout_recovered"}
		s.expectEvents(t, id, "stream.started", black[0], black[1], "alert.silence", "alert.silence_recovered", black[0], black[1], "stream.ended")
		s.expectEvents(t, ids[second], "stream.started", black[0], black[1], "stream.ended")
		s.expectEvents(t, ids[third], "stream.started", "stream.ended")
		for _, host := range s.YouTube.RefusedHosts() {
			t.Errorf("something connected to %s", host)
		}
	})

	step(t, "compose down leaves nothing", func(t *testing.T) {
		if len(s.leftovers(t)) == 0 {
			t.Fatal("leftovers finds nothing while the project runs")
		}
		s.compose(t, "down", "--volumes")
		if left := s.leftovers(t); len(left) > 0 {
			t.Errorf("left behind: %s", strings.Join(left, ", "))
		}
	})
}

// newerImage builds an image that differs only in a label. It returns its name and
// digest.
func newerImage(t *testing.T, image string) (name, digest string) {
	t.Helper()
	name = fmt.Sprintf("stream-monitor:compose-upgrade-%d", os.Getpid())
	build := exec.Command("docker", "buildx", "build", "--quiet", "--load", "--tag", name, "-")
	build.Stdin = strings.NewReader("FROM " + image + "\nLABEL stream-monitor.release=newer\n")
	run(t, build)
	t.Cleanup(func() { docker(t, "rmi", name) })
	return name, docker(t, "image", "inspect", "-f", "{{.Id}}", name)
}

// step runs a subtest and stops the test if it fails: later steps depend on it.
func step(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	if !t.Run(name, test) {
		t.FailNow()
	}
}
