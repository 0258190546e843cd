package kube_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
)

// held is a running worker that a finalizer holds when it is deleted.
func held(t *testing.T) (*simulated, *logbuffer.Buffer, func() error, func() error) {
	t.Helper()
	s := simulate(t)
	cfg, log := logged()
	l := open(t, s, cfg)
	running(t, s, l, job(launchertest.StopsWhenAsked))
	s.set(func(s *simulated) { s.pods[podName].Finalizers = []string{"backup.example/keep", "audit.example/log"} })
	return s, log, func() error { return l.Stop(t.Context(), job("").ID) }, func() error {
		j := job(launchertest.StopsWhenAsked)
		j.Generation++
		return l.Launch(t.Context(), j)
	}
}

func TestAPodThatNothingRemoves(t *testing.T) {
	scenario(t, "a stop gives up and names the finalizers", func(t *testing.T) {
		s, log, stop, _ := held(t)
		began := time.Now()
		err := stop()
		if took := time.Since(began); err == nil || took != 21*time.Second {
			t.Fatalf("got %v after %v", err, took)
		}
		expectContains(t, err.Error(), "pod "+podName+" in namespace streams is still there after 3 attempts to remove it by force",
			"finalizers", "backup.example/keep, audit.example/log")
		s.expectGraces(1, 0, 0, 0)
		if n := log.Count("removed by force"); n != 1 {
			t.Errorf("it was said %d times", n)
		}
	})

	scenario(t, "so does the launch of its successor", func(t *testing.T) {
		_, _, _, launch := held(t)
		if err := launch(); err == nil || !strings.Contains(err.Error(), "backup.example/keep") {
			t.Errorf("got %v", err)
		}
	})

	scenario(t, "it goes when they are taken away", func(t *testing.T) {
		s, _, stop, _ := held(t)
		time.AfterFunc(8*time.Second, func() { s.set(func(s *simulated) { s.pods[podName].Finalizers = nil }) })
		if err := stop(); err != nil {
			t.Error(err)
		}
		if s.has(podName) {
			t.Error("it is there")
		}
	})

	scenario(t, "a look that fails is followed by others, and the last is told in the end", func(t *testing.T) {
		s, _, stop, _ := held(t)
		fail := func(err error) func() { return func() { s.set(func(s *simulated) { s.fail["get"] = err }) } }
		time.AfterFunc(time.Second, fail(errors.New("connection refused")))
		time.AfterFunc(10*time.Second, fail(nil))
		err := stop()
		if err == nil {
			t.Fatal("it is said to be gone")
		}
		expectContains(t, err.Error(), "backup.example/keep", "connection refused")
	})

	scenario(t, "nor is a force waited for that cannot be asked for", func(t *testing.T) {
		s, _, stop, _ := held(t)
		time.AfterFunc(time.Second, func() {
			s.set(func(s *simulated) {
				s.fail["get"], s.fail["delete"] = errors.New("cannot look"), errors.New("cannot delete")
			})
		})
		if err := stop(); err == nil || !strings.Contains(err.Error(), "cannot delete") && !strings.Contains(err.Error(), "cannot look") {
			t.Errorf("got %v", err)
		}
	})
}
