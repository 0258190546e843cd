//go:build cluster

package cluster_test

import (
	"testing"
	"time"
)

// changedKey gives the release another INTERNAL_API_KEY. A running pod has the old
// one, is refused, and is started again in its place with the new one: before it
// counts as lost, so that no policy for lost workers has a say.
func changedKey(t *testing.T, s *site) {
	p := watched(t, s)
	p.dark()
	pod := p.pod()
	must(t, s.helm(t.Context(), "secret.values.INTERNAL_API_KEY=another-internal-key-for-tests", "settings.MISSING_WORKER=error"))
	must(t, s.settled(t.Context(), 1))
	p.again(time.Now(), p.checks(), 45*time.Second, "when its key was changed")
	p.alerted(45*time.Second, "an alert while the key was changed")
	if now := p.pod(); now.Metadata.UID != pod.Metadata.UID || now.Status.Containers[0].Restarts == 0 {
		t.Errorf("it is the same pod: %t, started again %d times", now.Metadata.UID == pod.Metadata.UID, now.Status.Containers[0].Restarts)
	}
	p.ends()
	must(t, s.helm(t.Context()))
	must(t, s.settled(t.Context(), 1))
}
