//go:build cluster

package cluster_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

// upgradeAndRollBack upgrades the gateway to another image, scales it to three and
// back to one, and rolls back, while clients call and alerts fall due.
func upgradeAndRollBack(t *testing.T, s *clusterEnv) {
	repository, version := splitImage(nextImage)
	if version == "" || nextImage == firstImage {
		t.Fatalf("STREAM_MONITOR_NEXT_IMAGE is %q, which must be another image than %q, with a tag", nextImage, firstImage)
	}
	s.waitForGateways(t, 1)
	slow := scenario.Video{Threshold: scenario.DisruptionThreshold}
	first, second := s.Watch(t, slow), s.Watch(t, slow)
	old, pods := s.gatewayNames(t), []corev1.Pod{s.workerPod(t, first.ID), s.workerPod(t, second.ID)}
	stopLoad := s.startLoad(t.Context())
	first.GoBlack()
	start := time.Now()
	must(t, s.upgrade(t.Context(), "image.repository="+repository, "image.tag="+version))
	logProgress("upgraded after %.1f s", time.Since(start).Seconds())
	s.waitForGateways(t, 1)
	expectRolledOut(t, s, old, nextImage)
	first.AssertAlert(disruptionDelay)

	start = time.Now()
	s.scaleGateways(t, 3)
	logProgress("scaled to 3 after %.1f s", time.Since(start).Seconds())
	third := s.Watch(t, slow)
	if image := s.workerPod(t, third.ID).Spec.Containers[0].Image; image != nextImage {
		t.Errorf("a worker that was launched after the upgrade has %s", image)
	}
	second.GoBlack()
	s.scaleGateways(t, 1)
	logProgress("scaled to 1")
	second.AssertAlert(disruptionDelay)

	old = s.gatewayNames(t)
	third.GoBlack()
	start = time.Now()
	_, err := run(t.Context(), "helm", "rollback", release, "-n", namespace, "--wait", "--timeout", "180s")
	must(t, err)
	logProgress("rolled back after %.1f s", time.Since(start).Seconds())
	s.waitForGateways(t, 1)
	expectRolledOut(t, s, old, firstImage)
	third.AssertAlert(disruptionDelay)
	for i, p := range []*scenario.Stream{first, second} {
		if now := s.workerPod(t, p.ID); now.UID != pods[i].UID || now.Spec.Containers[0].Image != firstImage {
			t.Errorf("a running worker was changed: its image is %s, and its pod was replaced: %t", now.Spec.Containers[0].Image, now.UID != pods[i].UID)
		}
	}
	if image := s.workerPod(t, third.ID).Spec.Containers[0].Image; image != nextImage {
		t.Errorf("the worker of the newer image has %s after the rollback", image)
	}
	failures := stopLoad()
	for _, r := range failures[:min(len(failures), 20)] {
		t.Error(r)
	}
	for _, p := range []*scenario.Stream{first, second, third} {
		p.AssertBlackoutCycle()
		p.EndAndAssert(scenario.Blackout, scenario.BlackoutRecovered)
	}
}

// expectRolledOut fails the test unless all gateways are new pods of this image.
func expectRolledOut(t *testing.T, s *clusterEnv, old []string, image string) {
	t.Helper()
	pods, err := s.gatewayPods(t.Context())
	must(t, err)
	for _, p := range pods {
		if slices.Contains(old, p.Name) || p.Spec.Containers[0].Image != image {
			t.Errorf("gateway %s has %s, want a new one with %s", p.Name, p.Spec.Containers[0].Image, image)
		}
	}
}
