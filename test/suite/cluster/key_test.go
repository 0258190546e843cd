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
	must(t, until(t.Context(), 30*time.Second, "the cluster's word that it was started again", func() bool { return p.pod().Status.Containers[0].Restarts > 0 }))
	if p.pod().Metadata.UID != pod.Metadata.UID {
		t.Error("it is another pod")
	}
	p.ends()
	must(t, s.helm(t.Context()))
	must(t, s.settled(t.Context(), 1))
}
