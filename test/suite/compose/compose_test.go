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

// The videos of the streams.
const first, second, third = "composeOne1", "composeTwo2", "composeSix6"

// composeRun is a deployment with three streams and their monitors, by video.
type composeRun struct {
	*deployment
	streams             map[string]*livestream.Stream
	ids                 map[string]string // of the monitors
	newImage, newDigest string
}

// allIDs returns the ids of the monitors.
func (s *composeRun) allIDs() []string { return []string{s.ids[first], s.ids[second], s.ids[third]} }

// Each step finds the deployment as the step before has left it.
func TestComposeFromUpToDown(t *testing.T) {
	image := os.Getenv("IMAGE")
	if image == "" {
		t.Fatal("IMAGE must name the image to test: run make test-compose")
	}
	s := &composeRun{streams: map[string]*livestream.Stream{}, ids: map[string]string{}}
	s.newImage, s.newDigest = newerImage(t, image)
	s.deployment = newDeployment(t, image)
	for _, name := range []string{first, second, third} {
		var err error
		s.streams[name], err = s.StartStream(t.Context(), name, livestream.Config{})
		must(t, err)
	}
	step(t, "compose up: the first monitor is watched within 30 s", s.start)
	step(t, "three streams play the main scenario at once, and a fourth loses its worker during an alert", s.playMainScenarios)
	step(t, "a gateway that dies during an alert and is restarted later recovers the alert once", s.killAndRestartGateway)
	step(t, "a database that restarts loses nothing", s.restartDatabase)
	step(t, "an upgrade during an alert loses nothing", s.upgrade)
	step(t, "every event was sent once, in order", s.checkEvents)
	step(t, "compose down leaves nothing", s.takeDown)
}

// start runs "docker compose up" and registers the monitors. The first monitor must be
// watched within startTimeout.
func (s *composeRun) start(t *testing.T) {
	start := time.Now()
	s.compose(t, "up", "--detach", "--quiet-pull")
	s.waitUntilReady(t, startTimeout)
	t.Logf("ready after %.1f s", time.Since(start).Seconds())
	s.ids[first] = s.register(t, first)
	s.waitUntilWatched(t, 1, startTimeout, s.ids[first])
	took := time.Since(start)
	t.Logf("the first monitor is watched after %.1f s", took.Seconds())
	if took > startTimeout {
		t.Errorf("the first monitor is watched after %s, want %s", took, startTimeout)
	}
	s.ids[second], s.ids[third] = s.register(t, second), s.register(t, third)
	s.waitUntilWatched(t, 2, recoveryTimeout, s.allIDs()...)
	waitFor(t, recoveryTimeout, "a healthy gateway container", func() bool {
		return docker(t, "inspect", "-f", "{{.State.Health.Status}}", s.name+"-gateway-1") == "healthy"
	})
	t.Logf("the gateway's container uses %s", docker(t, "stats", "--no-stream", "--format", "{{.MemUsage}}, {{.PIDs}} processes and threads", s.name+"-gateway-1"))
}

// playMainScenarios plays three main scenarios while another stream loses its worker.
func (s *composeRun) playMainScenarios(t *testing.T) {
	for i := range 3 {
		t.Run(fmt.Sprintf("main scenario %d", i+1), func(t *testing.T) {
			t.Parallel()
			s.playMainScenario(t, fmt.Sprintf("composeAct%d", i+1))
		})
	}
	t.Run("a worker that is killed", func(t *testing.T) {
		t.Parallel()
		s.lostWorker(t, s.streams[second], s.ids[second], s.ids[first], s.ids[third])
	})
}

// killAndRestartGateway kills the gateway during an alert, and restarts it once more.
// The alert recovers once.
func (s *composeRun) killAndRestartGateway(t *testing.T) {
	stream := s.streams[first]
	black := stream.Black(true)
	alert := s.waitForEvent(t, s.ids[first], "alert.blackout", 1, time.Minute)
	expectInTime(t, stream, black, alert)
	killed := time.Now()
	// The gateway is the subprocess of tini. The container ends with it, workers included.
	s.compose(t, "exec", "-T", "gateway", "bash", "-c", "kill -9 $(</proc/1/task/1/children)")
	waitFor(t, recoveryTimeout, "a restarted container", func() bool {
		return docker(t, "inspect", "-f", "{{.RestartCount}} {{.State.Running}}", s.name+"-gateway-1") == "1 true"
	})
	s.waitUntilReady(t, recoveryTimeout)
	s.waitUntilWatched(t, 2, recoveryTimeout, s.allIDs()...)
	t.Logf("all are watched again %.1f s after the gateway died", time.Since(killed).Seconds())

	_, _, since := s.gatewayContainer(t)
	start := time.Now()
	s.compose(t, "restart", "gateway")
	if _, _, now := s.gatewayContainer(t); now == since {
		t.Error("the container was not restarted")
	}
	s.waitUntilReady(t, recoveryTimeout)
	s.waitUntilWatched(t, 2, recoveryTimeout, s.allIDs()...)
	t.Logf("all are watched again %.1f s after the restart began", time.Since(start).Seconds())
	picture := stream.Black(false)
	expectUninterruptedAlert(t, alert, s.waitForEvent(t, s.ids[first], "alert.blackout_recovered", 1, time.Minute), black, picture)
}

// restartDatabase restarts PostgreSQL during an alert.
func (s *composeRun) restartDatabase(t *testing.T) {
	stream := s.streams[first]
	silence := stream.Silence(true)
	s.compose(t, "restart", "postgres")
	alert := s.waitForEvent(t, s.ids[first], "alert.silence", 1, time.Minute)
	sound := stream.Silence(false)
	back := s.waitForEvent(t, s.ids[first], "alert.silence_recovered", 1, time.Minute)
	expectUninterruptedAlert(t, alert, back, silence, sound)
	expectInTime(t, stream, silence, alert)
}

// upgrade changes the image during an alert.
func (s *composeRun) upgrade(t *testing.T) {
	stream := s.streams[first]
	before, old, _ := s.gatewayContainer(t)
	black := stream.Black(true)
	alert := s.waitForEvent(t, s.ids[first], "alert.blackout", 2, time.Minute)
	start := time.Now()
	s.env = append(s.env, "IMAGE="+s.newImage)
	s.compose(t, "up", "--detach")
	if container, runs, _ := s.gatewayContainer(t); container == before || runs == old || runs != s.newDigest {
		t.Fatalf("container %s runs %s, want %s; before, container %s ran %s", container, runs, s.newDigest, before, old)
	}
	s.waitUntilReady(t, recoveryTimeout)
	s.waitUntilWatched(t, 2, recoveryTimeout, s.allIDs()...)
	t.Logf("all are watched again %.1f s after the upgrade began", time.Since(start).Seconds())
	picture := stream.Black(false)
	expectUninterruptedAlert(t, alert, s.waitForEvent(t, s.ids[first], "alert.blackout_recovered", 2, time.Minute), black, picture)
}

// checkEvents ends the streams and compares the events of each.
func (s *composeRun) checkEvents(t *testing.T) {
	ended := map[string]time.Time{}
	for name, stream := range s.streams {
		ended[name] = stream.End()
	}
	for name, at := range ended {
		expectInstant(t, "ended_at", s.waitForEvent(t, s.ids[name], "stream.ended", 1, time.Minute).Data.EndedAt, at)
	}
	black := []string{"alert.blackout", "alert.blackout_recovered"}
	s.expectEvents(t, s.ids[first], "stream.started", black[0], black[1], "alert.silence", "alert.silence_recovered", black[0], black[1], "stream.ended")
	s.expectEvents(t, s.ids[second], "stream.started", black[0], black[1], "stream.ended")
	s.expectEvents(t, s.ids[third], "stream.started", "stream.ended")
	for _, host := range s.YouTube.RefusedHosts() {
		t.Errorf("a container connected to %s", host)
	}
}

// takeDown runs "docker compose down", which must leave nothing.
func (s *composeRun) takeDown(t *testing.T) {
	if len(s.leftovers(t)) == 0 {
		t.Fatal("leftovers finds nothing while the project runs")
	}
	s.compose(t, "down", "--volumes")
	if left := s.leftovers(t); len(left) > 0 {
		t.Errorf("docker compose down left %s", strings.Join(left, ", "))
	}
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
