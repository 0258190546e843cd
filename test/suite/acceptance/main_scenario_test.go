package acceptance_test

import "testing"

// With evidence, which must not delay an alert.
func TestTheMainScenario(t *testing.T) { // decision P2
	t.Parallel()
	for name, settings := range map[string][]string{"worker processes": nil, "inline workers": {"WORKER_RUNTIME=inline"}} {
		t.Run(name, func(t *testing.T) {
			runTimeline(t, 1)
			startEnv(t, settings...).PlayMain(t)
		})
	}
}
