//go:build cluster

package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

// lostWorkers loses three workers at once, each in another way.
func lostWorkers(t *testing.T, s *clusterEnv) {
	for _, c := range []struct {
		name       string
		lose       func(ctx context.Context, pod string) error
		generation string
	}{
		{"a worker that is killed in its pod", func(ctx context.Context, pod string) error { return killInPod(ctx, pod, "monitor") }, "1"}, // restartPolicy
		{"a worker that is evicted", s.evict, "2"},
		{"a pod that is deleted by hand", s.deletePod, "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s.Survive(t, scenario.Disruption{Within: maxReplacement, Late: maxReplacement, Do: func(t *testing.T, p *scenario.Stream) {
				pod := s.workerPod(t, p.ID)
				must(t, c.lose(t.Context(), pod.Name))
				if c.generation != "1" { // a pod that is being deleted may go on for some seconds
					s.WaitReplaced(t, p.ID, string(pod.UID), maxReplacement)
				}
				now := s.workerPod(t, p.ID)
				if g := now.Labels["generation"]; g != c.generation || (now.UID == pod.UID) != (c.generation == "1") {
					t.Errorf("the pod was %s, and is %s of generation %s, want %s", pod.UID, now.UID, g, c.generation)
				}
				p.WaitChecks(1, maxReplacement) // a report may have been in transit
			}})
		})
	}
}

// killedGateway kills the only gateway shortly before an alert is due.
func killedGateway(t *testing.T, s *clusterEnv) {
	var worker types.UID
	var died time.Time
	s.Survive(t, scenario.Disruption{Within: time.Minute, Late: disruptionDelay, Do: func(t *testing.T, p *scenario.Stream) {
		p.SleepUntil(p.BlackAt, scenario.DisruptionThreshold-6*time.Second)
		pods, err := s.gatewayPods(t.Context())
		must(t, err)
		worker = s.workerPod(t, p.ID).UID
		must(t, killInPod(t.Context(), pods[0].Name, "gateway"))
		died = time.Now()
	}, Then: func(t *testing.T, p *scenario.Stream) {
		if alert := p.AssertAlert(disruptionDelay); alert.Received.Before(died) {
			t.Errorf("the alert came %s before the gateway was killed, so the test proves nothing", died.Sub(alert.Received))
		}
		if now := s.workerPod(t, p.ID).UID; now != worker {
			t.Error("the worker's pod was replaced")
		}
	}})
}

// drain drains the node of the release's pods, and uncordons it.
func drain(t *testing.T, s *clusterEnv) {
	s.Survive(t, scenario.Disruption{Within: 30 * time.Second, Late: 2 * time.Minute, Do: func(t *testing.T, p *scenario.Stream) {
		node := s.workerPod(t, p.ID).Spec.NodeName
		t.Cleanup(func() { _, _ = run(context.Background(), "kubectl", "uncordon", node) })
		start := time.Now()
		kubectl(t, "drain", node, "--pod-selector="+releaseSelector, "--force", "--delete-emptydir-data", "--ignore-daemonsets", "--timeout=120s")
		logProgress("drained after %.1f s", time.Since(start).Seconds())
		kubectl(t, "uncordon", node)
	}})
}

// changedKey gives the release another INTERNAL_API_KEY. A running pod has a token made
// with the old key and is refused. The leader replaces it by the next generation, and
// MISSING_WORKER=error has no effect.
func changedKey(t *testing.T, s *clusterEnv) {
	const noticed = 45 * time.Second
	s.Survive(t, scenario.Disruption{Within: noticed, Late: noticed, Do: func(t *testing.T, p *scenario.Stream) {
		pod := string(s.workerPod(t, p.ID).UID)
		must(t, s.upgrade(t.Context(), "secret.values.INTERNAL_API_KEY=another-internal-key-for-tests", "settings.MISSING_WORKER=error"))
		s.waitForGateways(t, 1)
		s.WaitReplaced(t, p.ID, pod, noticed)
	}})
	must(t, s.upgrade(t.Context()))
	s.waitForGateways(t, 1)
}

// missingWorkerError loses workers with MISSING_WORKER=error: their monitors end
// (section 10.4).
func missingWorkerError(t *testing.T, s *clusterEnv) {
	must(t, s.upgrade(t.Context(), "settings.MISSING_WORKER=error"))
	s.waitForGateways(t, 1) // or the next leader would find the loss when it reconciles (section 10.4)
	p := s.Watch(t, scenario.Video{})
	must(t, s.deletePod(t.Context(), s.workerPod(t, p.ID).Name))
	e := p.WaitEvent("monitor.error", 45*time.Second)
	if !strings.HasPrefix(e.Data.ErrorDetails, "the worker's end: ") {
		t.Errorf("error_details is %q", e.Data.ErrorDetails)
	}
	expectMonitorError(p, e, fmt.Sprintf(`{"reason": "worker_lost", "terminal": true, "error_details": %q}`, e.Data.ErrorDetails))

	// A gateway finds at its start a loss that no gateway has seen (section 10.4).
	p = s.Watch(t, scenario.Video{})
	pod := s.workerPod(t, p.ID).Name
	s.scaleGateways(t, 0)
	must(t, s.deletePod(t.Context(), pod))
	p.WaitNoWorker(t, p.ID)
	s.scaleGateways(t, 1)
	expectMonitorError(p, p.WaitEvent("monitor.error", 45*time.Second), `{
		"reason": "reconciliation_mismatch", "terminal": true, "reconciliation_action": "mark_as_error_missing_pod",
		"previous_status": "monitoring", "observed_state": {"pod_exists": false, "db_status": "monitoring"},
		"error_details": "Pod not found in Kubernetes cluster during startup reconciliation"
	}`)
}

// expectMonitorError fails the test unless monitor.error has this data and is the
// last event.
func expectMonitorError(p *scenario.Stream, e webhookreceiver.Delivery, data string) {
	p.T.Helper()
	var body struct {
		Data json.RawMessage `json:"data"`
	}
	must(p.T, json.Unmarshal(e.Body, &body))
	expectSameJSON(p.T, "monitor.error", string(body.Data), data)
	p.WaitStatus(p.T, p.ID, "error", 10*time.Second)
	p.AssertEvents(p.T, p.ID, scenario.Started, "monitor.error")
	p.WaitNoWorker(p.T, p.ID)
}
