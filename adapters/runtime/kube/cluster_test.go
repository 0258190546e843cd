//go:build cluster

package kube_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
)

func TestLauncherInARealCluster(t *testing.T) {
	t.Parallel()
	launchertest.Run(t, func(t *testing.T) launchertest.Harness { return realCluster(t).harness() })
}

func TestLauncherOfPodsThatWereThereInARealCluster(t *testing.T) {
	t.Parallel()
	launchertest.RunAdoption(t, func(t *testing.T, running []supervisor.WorkerSpec) launchertest.Harness {
		r := realCluster(t)
		earlier := r.harness()
		for _, j := range running {
			if err := earlier.Launcher.Launch(t.Context(), j); err != nil {
				t.Fatal(err)
			}
		}
		for _, j := range running {
			for end := time.Now().Add(earlier.Timeout); len(r.ready(j.ID)) == 0; time.Sleep(50 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("a worker did not start")
				}
			}
		}
		if err := earlier.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		return r.harness()
	})
}

// How pods end for real, in the words of an exit.
func TestEndsInARealCluster(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script, limit, detail string }{
		{"out of memory", "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done", "24Mi", "OOMKilled"},
		{"an exit code, again and again", "exit 3", "24Mi", "exit code 3"},
		{"well", "exit 0", "24Mi", "exit code 0"},
		{"what is in the environment is what was said, unread by Kubernetes",
			`[ "$CALLBACK_URL" = 'https://receiver.example/$$(INTERNAL_API_KEY)?$$$$x' ] && [ "$INTERNAL_API_KEY" = internal-key ] && ` +
				`[ "$(id -u)" = 65532 ] && touch /tmp/segments/x /tmp/x && ! touch /x && [ ! -e /var/run/secrets/kubernetes.io ]`, "24Mi", "exit code 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := realCluster(t)
			l := r.launcher(fmt.Sprintf("spec:\n  containers:\n  - name: monitor\n    imagePullPolicy: IfNotPresent\n    command: [sh, -c, %q]\n"+
				"    resources: {requests: {cpu: 1m, memory: 4Mi}, limits: {memory: %s}}\n", c.script, c.limit))
			defer func() { _ = l.Close(context.Background()) }()
			j := job(launchertest.StopsWhenAsked)
			j.CallbackURL = "https://receiver.example/$(INTERNAL_API_KEY)?$$x"
			if err := l.Launch(t.Context(), j); err != nil {
				t.Fatal(err)
			}
			select {
			case e := <-l.Exits():
				expectContains(t, e.Detail, c.detail)
				t.Log(e.Detail)
			case <-time.After(patience):
				t.Fatal("no exit came")
			}
			until(t, "the pod to be deleted", func() bool { return len(r.pods("")) == 0 })
		})
	}
}
