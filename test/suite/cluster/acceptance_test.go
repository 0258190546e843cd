//go:build cluster

package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

const (
	maxPodStart     = 5 * time.Second  // from the POST until the pod runs
	maxReplacement  = 15 * time.Second // from the loss of a worker until the next check
	disruptionDelay = 5 * time.Second  // by which an event may be late when the release is disrupted
)

// Each step finds the release as the step before has left it.
func TestAReleaseFromInstallToUninstall(t *testing.T) {
	logProgress("preparing the fakes, the database and the namespace")
	s := newClusterEnv(t)
	t.Cleanup(func() {
		if t.Failed() {
			s.logClusterState(t)
		}
	})
	for _, step := range []struct {
		name string
		run  func(*testing.T, *clusterEnv)
	}{
		{"helm install", install},
		{"the installed release", installed},
		{"three streams", threeStreams},
		{"lost workers", lostWorkers},
		{"a killed gateway", killedGateway},
		{"an upgrade, three gateways, and a rollback", upgradeAndRollBack},
		{"a changed key", changedKey},
		{"a drained node", drain},
		{"MISSING_WORKER=error", missingWorkerError},
		{"helm uninstall", uninstall},
	} {
		logProgress("--- %s", step.name)
		if !t.Run(strings.ReplaceAll(step.name, " ", "_"), func(t *testing.T) { step.run(t, s) }) {
			t.FailNow() // the next steps depend on this one
		}
	}
	logProgress("all steps done")
}

// logClusterState logs the state of the cluster after a failure.
func (s *clusterEnv) logClusterState(t *testing.T) {
	for _, args := range [][]string{
		{"get", "pods,jobs", "-o", "wide"},
		{"get", "events", "--sort-by=.lastTimestamp"},
		{"logs", "-l", "app.kubernetes.io/component=gateway", "--tail=60", "--prefix"},
		{"logs", "-l", "app.kubernetes.io/component=gateway", "--tail=20", "--prefix", "--previous"},
		{"logs", "-l", "app.kubernetes.io/component=uninstall", "--tail=20", "--prefix"},
		{"logs", "-l", "app=stream-monitor", "--tail=30", "--prefix"},
	} {
		out, _ := run(context.Background(), "kubectl", append([]string{"-n", namespace}, args...)...)
		lines := strings.Split(out, "\n")
		t.Logf("kubectl %s:\n%s", strings.Join(args, " "), strings.Join(lines[max(0, len(lines)-80):], "\n"))
	}
}

// threeStreams measures the start of a pod, and plays the main scenario three times at once, beside
// what optional detectors find.
func threeStreams(t *testing.T, s *clusterEnv) {
	v, registered := youtube.NewVideoID(), time.Now()
	stream, err := s.StartStream(t.Context(), v, livestream.Config{})
	must(t, err)
	id := s.Register(t, v, nil)
	s.Eventually(t, 30*time.Second, "a running pod", func() bool {
		return len(s.workerPods(t, id)) == 1 && running(s.workerPod(t, id))
	})
	if took := time.Since(registered); took > maxPodStart {
		t.Errorf("the pod was running %s after the POST, want %s", took, maxPodStart)
	}
	s.WaitEvent(t, id, scenario.Started, scenario.StartTimeout)
	stream.End()
	s.WaitEvent(t, id, scenario.Ended, time.Minute)
	s.WaitNoWorker(t, id)

	t.Run("at once", func(t *testing.T) {
		for i := range 3 {
			t.Run(fmt.Sprint("stream ", i+1), func(t *testing.T) {
				t.Parallel()
				s.PlayMain(t)
			})
		}
		t.Run("optional detectors", func(t *testing.T) {
			t.Parallel()
			s.PlayDetectors(t)
		})
	})
}

// expectSameJSON compares two JSON texts, whatever their formatting.
func expectSameJSON(t *testing.T, name, got, want string) {
	t.Helper()
	normalise := func(text string) string {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%s: %v in %s", name, err, text)
		}
		b, _ := json.Marshal(v)
		return string(b)
	}
	if g, w := normalise(got), normalise(want); g != w {
		t.Errorf("%s: %s, want %s", name, g, w)
	}
}
