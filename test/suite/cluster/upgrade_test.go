//go:build cluster

package cluster_test

import (
	"slices"
	"testing"
	"time"
)

// upgrade rolls the only gateway to another image, makes it three, takes two of
// them away, and rolls back, while clients call and alerts fall due.
func upgrade(t *testing.T, s *site) {
	repository, version := parted(nextImage)
	if version == "" || nextImage == firstImage {
		t.Fatalf("STREAM_MONITOR_NEXT_IMAGE is %q, which must be another image than %q, with a tag", nextImage, firstImage)
	}
	must(t, s.settled(t.Context(), 1))
	first, second := watched(t, s), watched(t, s)
	old, pods := s.names(t), []object{first.pod(), second.pod()}
	h := s.hammer(t.Context())
	first.dark()
	began := time.Now()
	must(t, s.helm(t.Context(), "image.repository="+repository, "image.tag="+version))
	say("upgraded after %.1f s", time.Since(began).Seconds())
	must(t, s.settled(t.Context(), 1))
	rolled(t, s, old, nextImage)
	first.alerted(late, "an alert during the upgrade")

	began = time.Now()
	must(t, s.scaled(t.Context(), 3))
	say("scaled to 3 after %.1f s", time.Since(began).Seconds())
	third := watched(t, s)
	if image := third.pod().Spec.Containers[0].Image; image != nextImage {
		t.Errorf("a worker that was launched after the upgrade has %s", image)
	}
	second.dark()
	must(t, s.scaled(t.Context(), 1))
	say("scaled to 1")
	second.alerted(late, "an alert while gateways go")

	old = s.names(t)
	third.dark()
	began = time.Now()
	_, err := run(t.Context(), "helm", "rollback", release, "-n", namespace, "--wait", "--timeout", "180s")
	must(t, err)
	say("rolled back after %.1f s", time.Since(began).Seconds())
	must(t, s.settled(t.Context(), 1))
	rolled(t, s, old, firstImage)
	third.alerted(late, "an alert during the way back")
	for i, p := range []*play{first, second} {
		if now := p.pod(); now.Metadata.UID != pods[i].Metadata.UID || now.Spec.Containers[0].Image != firstImage {
			t.Errorf("a running worker was touched: it has %s, and is another pod: %t", now.Spec.Containers[0].Image, now.Metadata.UID != pods[i].Metadata.UID)
		}
	}
	if image := third.pod().Spec.Containers[0].Image; image != nextImage {
		t.Errorf("the worker of the newer image has %s after the way back", image)
	}
	summary, refused := h.down()
	say("meanwhile: %s", summary)
	for _, r := range refused[:min(len(refused), 20)] {
		t.Error(r)
	}
	for _, p := range []*play{first, second, third} {
		p.ends()
	}
}

// rolled fails the test unless all gateways are new and of an image.
func rolled(t *testing.T, s *site, old []string, image string) {
	t.Helper()
	pods, err := s.gateways(t.Context())
	must(t, err)
	for _, p := range pods {
		if slices.Contains(old, p.Metadata.Name) || p.Spec.Containers[0].Image != image {
			t.Errorf("gateway %s has %s, want a new one with %s", p.Metadata.Name, p.Spec.Containers[0].Image, image)
		}
	}
}
