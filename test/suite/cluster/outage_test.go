//go:build cluster

package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
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
			p := watchNewStream(t, s)
			p.goBlack()
			before, pod := p.analysedSegments(), p.pod()
			died := time.Now()
			must(t, c.lose(t.Context(), pod.Metadata.Name))
			if c.generation != "1" { // a pod that is being deleted may go on for some seconds
				must(t, waitFor(t.Context(), maxReplacement, "another pod", func() bool {
					now, err := s.workerPod(t.Context(), p.id)
					return err == nil && now.Metadata.Name != "" && now.Metadata.UID != pod.Metadata.UID
				}))
				before = p.analysedSegments()
			}
			p.expectWatchedAgain(died, before+1, maxReplacement, c.name) // a report may have been in transit
			now := p.pod()
			if g := now.Metadata.Labels["generation"]; g != c.generation {
				t.Errorf("the pod is of generation %s, want %s", g, c.generation)
			}
			if same := now.Metadata.UID == pod.Metadata.UID; same != (c.generation == "1") {
				t.Errorf("the pod is the same: %t", same)
			}
			p.expectAlert(maxReplacement, c.name)
			p.endStream()
		})
	}
}

// killedGateway kills the only gateway shortly before an alert is due.
func killedGateway(t *testing.T, s *clusterEnv) {
	p := watchNewStream(t, s)
	p.goBlack()
	must(t, waitFor(t.Context(), 30*time.Second, "the alert to be near", func() bool { return time.Since(p.black) > alertThreshold-6*time.Second }))
	pods, err := s.gatewayPods(t.Context())
	must(t, err)
	worker := p.pod()
	must(t, killInPod(t.Context(), pods[0].Metadata.Name, "gateway"))
	died := time.Now()
	if alert := p.expectAlert(disruptionDelay, "a gateway killed before an alert was due"); alert.Received.Before(died) {
		t.Errorf("the alert came %s before the gateway was killed, so the test proves nothing", died.Sub(alert.Received))
	}
	if now := p.pod(); now.Metadata.UID != worker.Metadata.UID {
		t.Error("the worker's pod was replaced")
	}
	must(t, waitFor(t.Context(), 60*time.Second, "a ready gateway", func() bool {
		pods, err := s.gatewayPods(t.Context())
		return err == nil && len(pods) == 1 && len(pods[0].Status.Containers) == 1 && pods[0].Status.Containers[0].Ready
	}))
	p.endStream()
}

// drain drains the node of the release's pods, and uncordons it.
func drain(t *testing.T, s *clusterEnv) {
	p := watchNewStream(t, s)
	p.goBlack()
	before, node := p.analysedSegments(), p.pod().Spec.NodeName
	t.Cleanup(func() { _, _ = run(context.Background(), "kubectl", "uncordon", node) })
	start := time.Now()
	_, err := run(t.Context(), "kubectl", "drain", node, "--pod-selector="+releaseSelector, "--force", "--delete-emptydir-data", "--ignore-daemonsets", "--timeout=120s")
	must(t, err)
	logProgress("drained after %.1f s", time.Since(start).Seconds())
	_, err = run(t.Context(), "kubectl", "uncordon", node)
	must(t, err)
	p.expectWatchedAgain(time.Now(), before+1, 30*time.Second, "a drained node")
	p.waitForEvent("alert.blackout", 60*time.Second)
	p.endStream()
}

// missingWorkerError loses workers with MISSING_WORKER=error: their monitors end
// (section 10.4).
func missingWorkerError(t *testing.T, s *clusterEnv) {
	must(t, s.upgrade(t.Context(), "settings.MISSING_WORKER=error"))
	must(t, s.waitForGateways(t.Context(), 1)) // or the next leader would find the loss when it reconciles (section 10.4)
	p := watchNewStream(t, s)
	lost := time.Now()
	must(t, s.deletePod(t.Context(), p.pod().Metadata.Name))
	e := p.waitForEvent("monitor.error", 45*time.Second)
	logProgress("monitor.error came %.1f s after the pod was deleted: %s", e.Received.Sub(lost).Seconds(), e.Data.ErrorDetails)
	if !strings.HasPrefix(e.Data.ErrorDetails, "the worker's end: ") {
		t.Errorf("error_details is %q", e.Data.ErrorDetails)
	}
	p.expectMonitorError(e, fmt.Sprintf(`{"reason": "worker_lost", "terminal": true, "error_details": %q}`, e.Data.ErrorDetails))

	// A gateway finds at its start a loss that no gateway has seen (section 10.4).
	p = watchNewStream(t, s)
	pod := p.pod().Metadata.Name
	must(t, s.scaleGateways(t.Context(), 0))
	must(t, s.deletePod(t.Context(), pod))
	p.waitUntilPodGone()
	must(t, s.scaleGateways(t.Context(), 1))
	e = p.waitForEvent("monitor.error", 45*time.Second)
	p.expectMonitorError(e, `{
		"reason": "reconciliation_mismatch", "terminal": true, "reconciliation_action": "mark_as_error_missing_pod",
		"previous_status": "monitoring", "observed_state": {"pod_exists": false, "db_status": "monitoring"},
		"error_details": "Pod not found in Kubernetes cluster during startup reconciliation"
	}`)
}

// expectMonitorError fails the test unless monitor.error has this data and is the
// last event.
func (p *watchedStream) expectMonitorError(e webhookreceiver.Delivery, data string) {
	p.Helper()
	var body struct {
		Data json.RawMessage `json:"data"`
	}
	must(p.T, json.Unmarshal(e.Body, &body))
	expectSameJSON(p.T, "monitor.error", string(body.Data), data)
	_, err := p.env.Service.WaitStatus(timeLimit(p.T, 10*time.Second), p.id, "error")
	must(p.T, err)
	p.expectEvents("stream.started", "monitor.error")
	p.waitUntilPodGone()
}
