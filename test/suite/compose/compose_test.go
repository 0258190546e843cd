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
	threshold = 6 * time.Second
	exact     = 500 * time.Millisecond // of instants that come from the media

	// From "docker compose up" to the first monitor that would tell of trouble.
	firstReady = 30 * time.Second
	// From something's end until all are watched again.
	again = 60 * time.Second

	// together is how many streams are played at once.
	together = "4"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", together); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestTheSystemOnOneMachine is one play on one project, in acts.
func TestTheSystemOnOneMachine(t *testing.T) {
	image := os.Getenv("IMAGE")
	if image == "" {
		t.Fatal("IMAGE has to name the image to test: run make test-compose")
	}
	newer, digest := another(t, image)
	s := set(t, image)
	streams, ids := map[string]*livestream.Stream{}, map[string]string{}
	const first, second, third = "composeOne1", "composeTwo2", "composeSix6"
	for _, name := range []string{first, second, third} {
		var err error
		streams[name], err = s.StartStream(t.Context(), name, livestream.Config{})
		must(t, err)
	}
	main := streams[first]
	var id string // of the monitor that most is done to
	var all []string

	act(t, "it is up, and its first monitor alert-ready, soon", func(t *testing.T) {
		began := time.Now()
		s.compose(t, "up", "--detach", "--quiet-pull")
		s.ready(t, firstReady)
		t.Logf("ready to serve after %.1f s", time.Since(began).Seconds())
		id = s.register(t, first)
		s.watched(t, 1, firstReady, id)
		took := time.Since(began)
		t.Logf("the first monitor is alert-ready after %.1f s", took.Seconds())
		if took > firstReady {
			t.Errorf("alert-ready after %s, want %s", took, firstReady)
		}
		ids[first], ids[second], ids[third] = id, s.register(t, second), s.register(t, third)
		all = []string{id, ids[second], ids[third]}
		s.watched(t, 2, again, all...)
		eventually(t, again, "the engine calls it healthy", func() bool {
			return docker(t, "inspect", "-f", "{{.State.Health.Status}}", s.name+"-gateway-1") == "healthy"
		})
		t.Logf("the gateway's container: %s", docker(t, "stats", "--no-stream", "--format", "{{.MemUsage}}, {{.PIDs}} processes and threads", s.name+"-gateway-1"))
	})

	act(t, "three streams tell their stories at once, and a fourth loses its worker in the middle of an alert", func(t *testing.T) {
		for i := range 3 {
			t.Run(fmt.Sprintf("story %d", i+1), func(t *testing.T) {
				t.Parallel()
				s.story(t, fmt.Sprintf("composeAct%d", i+1))
			})
		}
		t.Run("a worker that is killed", func(t *testing.T) {
			t.Parallel()
			s.lostWorker(t, streams[second], ids[second], id, ids[third])
		})
	})

	act(t, "a gateway that dies in the middle of an alert and, back, is restarted: the alert ends once", func(t *testing.T) {
		black := main.Black(true)
		alert := s.arrives(t, id, "alert.blackout", 1, time.Minute)
		inTime(t, main, black, alert)
		died := time.Now()
		// What tini started; the container, and all workers, end with it.
		s.compose(t, "exec", "-T", "gateway", "bash", "-c", "kill -9 $(</proc/1/task/1/children)")
		eventually(t, again, "its container has ended and was started again", func() bool {
			return docker(t, "inspect", "-f", "{{.RestartCount}} {{.State.Running}}", s.name+"-gateway-1") == "1 true"
		})
		s.ready(t, again)
		s.watched(t, 2, again, all...)
		t.Logf("all are watched again %.1f s after it died", time.Since(died).Seconds())

		_, _, since := s.gateway(t)
		began := time.Now()
		s.compose(t, "restart", "gateway")
		if _, _, now := s.gateway(t); now == since {
			t.Error("it was not restarted")
		}
		s.ready(t, again)
		s.watched(t, 2, again, all...)
		t.Logf("all are watched again %.1f s after its restart began", time.Since(began).Seconds())
		picture := main.Black(false)
		interrupted(t, alert, s.arrives(t, id, "alert.blackout_recovered", 1, time.Minute), black, picture)
	})

	act(t, "a database that restarts loses nothing", func(t *testing.T) {
		silence := main.Silence(true)
		s.compose(t, "restart", "postgres")
		alert := s.arrives(t, id, "alert.silence", 1, time.Minute)
		sound := main.Silence(false)
		back := s.arrives(t, id, "alert.silence_recovered", 1, time.Minute)
		interrupted(t, alert, back, silence, sound)
		inTime(t, main, silence, alert)
	})

	act(t, "an upgrade in the middle of an alert loses nothing", func(t *testing.T) {
		before, old, _ := s.gateway(t)
		black := main.Black(true)
		alert := s.arrives(t, id, "alert.blackout", 2, time.Minute)
		began := time.Now()
		s.env = append(s.env, "IMAGE="+newer)
		s.compose(t, "up", "--detach")
		if container, runs, _ := s.gateway(t); container == before || runs == old || runs != digest {
			t.Fatalf("%s runs %s, want %s; before, %s ran %s", container, runs, digest, before, old)
		}
		s.ready(t, again)
		s.watched(t, 2, again, all...)
		t.Logf("all are watched again %.1f s after it began", time.Since(began).Seconds())
		picture := main.Black(false)
		interrupted(t, alert, s.arrives(t, id, "alert.blackout_recovered", 2, time.Minute), black, picture)
	})

	act(t, "everything was told once, in order", func(t *testing.T) {
		ended := map[string]time.Time{}
		for name, stream := range streams {
			ended[name] = stream.End()
		}
		for name, at := range ended {
			near(t, "ended_at", s.arrives(t, ids[name], "stream.ended", 1, time.Minute).Data.EndedAt, at)
		}
		black := []string{"alert.blackout", "alert.blackout_recovered"}
		s.only(t, id, "stream.started", black[0], black[1], "alert.silence", "alert.silence_recovered", black[0], black[1], "stream.ended")
		s.only(t, ids[second], "stream.started", black[0], black[1], "stream.ended")
		s.only(t, ids[third], "stream.started", "stream.ended")
		for _, host := range s.YouTube.RefusedHosts() {
			t.Errorf("something asked for %s", host)
		}
	})

	act(t, "taken down, it leaves nothing", func(t *testing.T) {
		if len(s.leftovers(t)) == 0 {
			t.Fatal("nothing of the project is seen while it runs")
		}
		s.compose(t, "down", "--volumes")
		if left := s.leftovers(t); len(left) > 0 {
			t.Errorf("left behind: %s", strings.Join(left, ", "))
		}
	})
}

// another makes an image that differs from one in its label only, and its digest.
func another(t *testing.T, image string) (name, digest string) {
	t.Helper()
	name = fmt.Sprintf("stream-monitor:compose-upgrade-%d", os.Getpid())
	build := exec.Command("docker", "buildx", "build", "--quiet", "--load", "--tag", name, "-")
	build.Stdin = strings.NewReader("FROM " + image + "\nLABEL stream-monitor.release=newer\n")
	run(t, build)
	t.Cleanup(func() { docker(t, "rmi", name) })
	return name, docker(t, "image", "inspect", "-f", "{{.Id}}", name)
}

// act is a part of a play: what follows a failure makes no sense.
func act(t *testing.T, name string, play func(t *testing.T)) {
	t.Helper()
	if !t.Run(name, play) {
		t.FailNow()
	}
}
