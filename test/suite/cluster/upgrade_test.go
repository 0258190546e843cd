//go:build cluster

package cluster_test

import (
	"slices"
	"testing"
	"time"
)

// upgradeAndRollBack upgrades the gateway to another image, scales it to three and
// back to one, and rolls back, while clients call and alerts fall due.
func upgradeAndRollBack(t *testing.T, s *clusterEnv) {
	repository, version := splitImage(nextImage)
	if version == "" || nextImage == firstImage {
		t.Fatalf("STREAM_MONITOR_NEXT_IMAGE is %q, which must be another image than %q, with a tag", nextImage, firstImage)
	}
	must(t, s.waitForGateways(t.Context(), 1))
	first, second := watchNewStream(t, s), watchNewStream(t, s)
	old, pods := s.gatewayNames(t), []object{first.pod(), second.pod()}
	load := s.startLoad(t.Context())
	first.goBlack()
	start := time.Now()
	must(t, s.upgrade(t.Context(), "image.repository="+repository, "image.tag="+version))
	logProgress("upgraded after %.1f s", time.Since(start).Seconds())
	must(t, s.waitForGateways(t.Context(), 1))
	expectRolledOut(t, s, old, nextImage)
	first.expectAlert(disruptionDelay, "an upgrade")

	start = time.Now()
	must(t, s.scaleGateways(t.Context(), 3))
	logProgress("scaled to 3 after %.1f s", time.Since(start).Seconds())
	third := watchNewStream(t, s)
	if image := third.pod().Spec.Containers[0].Image; image != nextImage {
		t.Errorf("a worker that was launched after the upgrade has %s", image)
	}
	second.goBlack()
	must(t, s.scaleGateways(t.Context(), 1))
	logProgress("scaled to 1")
	second.expectAlert(disruptionDelay, "gateways that are scaled down")

	old = s.gatewayNames(t)
	third.goBlack()
	start = time.Now()
	_, err := run(t.Context(), "helm", "rollback", release, "-n", namespace, "--wait", "--timeout", "180s")
	must(t, err)
	logProgress("rolled back after %.1f s", time.Since(start).Seconds())
	must(t, s.waitForGateways(t.Context(), 1))
	expectRolledOut(t, s, old, firstImage)
	third.expectAlert(disruptionDelay, "a rollback")
	for i, p := range []*watchedStream{first, second} {
		if now := p.pod(); now.Metadata.UID != pods[i].Metadata.UID || now.Spec.Containers[0].Image != firstImage {
			t.Errorf("a running worker was changed: its image is %s, and its pod was replaced: %t", now.Spec.Containers[0].Image, now.Metadata.UID != pods[i].Metadata.UID)
		}
	}
	if image := third.pod().Spec.Containers[0].Image; image != nextImage {
		t.Errorf("the worker of the newer image has %s after the rollback", image)
	}
	summary, failures := load.stopLoad()
	logProgress("load meanwhile: %s", summary)
	for _, r := range failures[:min(len(failures), 20)] {
		t.Error(r)
	}
	for _, p := range []*watchedStream{first, second, third} {
		p.endStream()
	}
}

// expectRolledOut fails the test unless all gateways are new pods of this image.
func expectRolledOut(t *testing.T, s *clusterEnv, old []string, image string) {
	t.Helper()
	pods, err := s.gatewayPods(t.Context())
	must(t, err)
	for _, p := range pods {
		if slices.Contains(old, p.Metadata.Name) || p.Spec.Containers[0].Image != image {
			t.Errorf("gateway %s has %s, want a new one with %s", p.Metadata.Name, p.Spec.Containers[0].Image, image)
		}
	}
}

// changedKey gives the release another INTERNAL_API_KEY. A running pod has a token made
// with the old key and is refused. The leader replaces it by the next generation, and
// MISSING_WORKER=error has no effect.
func changedKey(t *testing.T, s *clusterEnv) {
	p := watchNewStream(t, s)
	p.goBlack()
	pod := p.pod()
	must(t, s.upgrade(t.Context(), "secret.values.INTERNAL_API_KEY=another-internal-key-for-tests", "settings.MISSING_WORKER=error"))
	must(t, s.waitForGateways(t.Context(), 1))
	p.expectWatchedAgain(time.Now(), p.analysedSegments(), 45*time.Second, "the key was changed")
	p.expectAlert(45*time.Second, "the key was changed")
	if p.pod().Metadata.UID == pod.Metadata.UID {
		t.Error("the pod was not replaced")
	}
	p.endStream()
	must(t, s.upgrade(t.Context()))
	must(t, s.waitForGateways(t.Context(), 1))
}
