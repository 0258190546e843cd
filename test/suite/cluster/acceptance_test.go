//go:build cluster

package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

const (
	maxWorkerMemory = 128 << 20        // bytes, working set of a pod
	maxPodStart     = 5 * time.Second  // from the POST until the pod runs
	maxReplacement  = 15 * time.Second // from the loss of a worker until the next check
)

// Each step finds the release as the step before has left it.
func TestAReleaseFromInstallToUninstall(t *testing.T) {
	logProgress("preparing the fakes, the database and the namespace")
	s, err := newClusterEnv(t.Context())
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			s.logClusterState(t)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	for _, step := range []struct {
		name string
		run  func(*testing.T, *clusterEnv)
	}{
		{"helm install", install},
		{"the installed release", installed},
		{"network policies", networkPolicies},
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

// threeStreams plays the main scenario three times at once, and measures the pods.
func threeStreams(t *testing.T, s *clusterEnv) {
	m := s.measureWorkers(t.Context())
	first := watchNewStream(t, s)
	logProgress("the pod was running %.1f s after the POST", first.running.Seconds())
	if first.running > maxPodStart {
		t.Errorf("the pod was running %s after the POST, want %s", first.running, maxPodStart)
	}
	expectNoSecretsInClear(t, first.pod())
	first.stream.End()
	first.waitForEvent("stream.ended", 60*time.Second)
	first.expectEvents("stream.started", "stream.ended")
	first.waitUntilPodGone()

	t.Run("at once", func(t *testing.T) {
		for i := range 3 {
			t.Run(fmt.Sprint("stream ", i+1), func(t *testing.T) {
				t.Parallel()
				quiet := func(format string, args ...any) {
					if i == 0 { // log only one of the three
						logProgress(format, args...)
					}
				}
				truth, err := s.PlayMainScenario(timeLimit(t, 4*time.Minute), newVideo(), quiet)
				must(t, err)
				expectMainScenario(t, truth, eventsOf(s, truth.MonitorID))
				must(t, s.CheckRecord(timeLimit(t, time.Minute), truth, quiet))
				(&watchedStream{T: t, env: s, id: truth.MonitorID}).waitUntilPodGone()
			})
		}
	})
	working, anonymous, peak, measured := m.maxima()
	logProgress("a worker pod used %.1f MiB at most, %.1f MiB without file pages; the kernel's peak, with all file pages, was %.1f MiB", float64(working)/(1<<20), float64(anonymous)/(1<<20), float64(peak)/(1<<20))
	if node, err := netip.ParseAddr(s.nodeAddress); err == nil && s.isLocal(node) && (measured < 4 || anonymous == 0) {
		t.Errorf("%d pods of 4 were measured, although the node is this machine", measured)
	}
	// The peak has no limit: file pages count for the pod that reads them first, and
	// are reclaimed when memory is short.
	if working > maxWorkerMemory {
		t.Errorf("a worker pod used %d MiB, want at most %d", working>>20, maxWorkerMemory>>20)
	}
}

// expectNoSecretsInClear fails the test if a pod's environment has a secret in clear.
func expectNoSecretsInClear(t *testing.T, pod object) {
	t.Helper()
	env := string(pod.Spec.Containers[0].Env)
	for _, secret := range []string{"an-internal-key-for-tests", "an-api-key-for-tests", "a-signing-key-for-tests", "postgres://", "WEBHOOK_SIGNING_KEY", `"API_KEY"`} {
		if strings.Contains(env, secret) {
			t.Errorf("a worker pod has %s in its environment", secret)
		}
	}
	if !strings.Contains(env, `"v1.mon-`) { // decision O9
		t.Error("a worker pod has no token of its own")
	}
}

// expectMainScenario compares the events of the main scenario with what the stream did.
func expectMainScenario(t *testing.T, truth testenv.GroundTruth, events []webhookreceiver.Delivery) {
	t.Helper()
	want := []string{"stream.delayed", "stream.started", "alert.blackout", "alert.blackout_recovered", "alert.silence", "alert.silence_recovered", "stream.ended"}
	var got []string
	for _, e := range events {
		got = append(got, e.EventType)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("events %v, want %v", got, want)
	}
	for _, i := range []struct {
		name       string
		got, truth time.Time
	}{
		{"black: started_at", events[2].Data.StartedAt, truth.BlackFrom},
		{"black: recovered_at", events[3].Data.RecoveredAt, truth.BlackUntil},
		{"silence: started_at", events[4].Data.StartedAt, truth.SilentFrom},
		{"silence: recovered_at", events[5].Data.RecoveredAt, truth.SilentUntil},
		{"ended_at", events[6].Data.EndedAt, truth.EndedAt},
	} {
		if d := i.got.Sub(i.truth).Abs(); d > mediaTolerance {
			t.Errorf("%s is off by %s", i.name, d)
		}
	}
	for i, onset := range map[int]time.Time{2: truth.BlackFrom, 4: truth.SilentFrom} {
		latest := truth.Stream.Available(onset).Add(truth.Threshold() + truth.Stream.SegmentDuration() + 2*time.Second)
		logProgress("%s came %.1f s before its deadline", events[i].EventType, latest.Sub(events[i].Received).Seconds())
		if behind := events[i].Received.Sub(latest); behind > 0 {
			t.Errorf("%s was %s late", events[i].EventType, behind)
		}
	}
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
