package kube_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
)

// ran is a container that has crashed just now, after a while.
func ran(d time.Duration) corev1.ContainerState {
	s := terminated(7)
	s.Terminated.StartedAt, s.Terminated.FinishedAt = metav1.NewTime(time.Now().Add(-d)), metav1.Now()
	return s
}

// runs is a container that has run for a while.
func runs(d time.Duration) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(-d))}}
}

func pauses() corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
}

// status is what a kubelet says of a pod whose container it has restarted.
func status(restarts int32, state, last corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		contain(p, corev1.PodRunning, state)
		p.Status.ContainerStatuses[0].RestartCount, p.Status.ContainerStatuses[0].LastTerminationState = restarts, last
	}
}

// weeks is what a pod goes through that was restarted twice at its beginning, and
// crashes four times in a row after two weeks.
func weeks() []func(*corev1.Pod) {
	const long, soon = 14 * 24 * time.Hour, 5 * time.Second
	return []func(*corev1.Pod){
		status(2, runs(long), ran(soon)),
		status(2, ran(long), ran(soon)),
		status(3, runs(0), ran(long)),
		status(3, pauses(), ran(soon)),
		status(4, runs(0), ran(soon)),
		status(4, pauses(), ran(soon)),
		status(5, runs(0), ran(soon)),
		status(5, pauses(), ran(soon)),
	}
}

// found is what a gateway makes of a pod that another one has launched: first is
// how it finds it when it starts, and shown what it sees of it then. It tells after
// which of these the end came (0: first), or -1.
func found(t *testing.T, first func(*corev1.Pod), shown ...func(*corev1.Pod)) (end int, detail string) {
	t.Helper()
	s := simulate(t)
	earlier := harness(t, s)
	if err := earlier.Launcher.Launch(t.Context(), job(launchertest.StopsWhenAsked)); err != nil {
		t.Fatal(err)
	}
	until(t, "the worker", func() bool { return len(s.working(job("").ID)) == 1 })
	if err := earlier.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	p := s.pods[podName]
	s.mu.Unlock()
	s.happens(p, first)
	l := open(t, s, settings())
	for i, what := range append([]func(*corev1.Pod){first}, shown...) {
		s.happens(p, what)
		synctest.Wait()
		select {
		case e := <-l.Exits():
			return i, e.Detail
		default:
			expectListed(t, l, 1)
		}
	}
	return -1, ""
}

func TestRestartsBeforeALongRunDoNotCount(t *testing.T) {
	const fourth = "it crashes again and again, 4 times by now, the last time with exit code 7"
	for first, what := range []string{"while the container runs for weeks", "just after the first crash", "just after the first restart"} {
		scenario(t, "a gateway that starts "+what+" waits for the fourth crash", func(t *testing.T) {
			all := weeks()[first:]
			if end, detail := found(t, all[0], all[1:]...); end != len(all)-1 || detail != fourth {
				t.Errorf("after %d of %d: %q", end, len(all)-1, detail)
			}
		})
	}

	scenario(t, "so does one that knows all of the pod, and sees nothing of the crashes but the pauses", func(t *testing.T) {
		all := weeks()
		if end, detail := found(t, status(0, runs(0), corev1.ContainerState{}), all[0], all[3], all[5], all[7]); end != 4 || detail != fourth {
			t.Errorf("after %d of 4: %q", end, detail)
		}
	})

	scenario(t, "one that finds a pause does not know how many crashes there were, and waits for three more restarts", func(t *testing.T) {
		all := weeks()
		if end, detail := found(t, all[3], all[4:]...); end >= 0 {
			t.Errorf("after %d: %q", end, detail)
		}
		soon := ran(5 * time.Second)
		if end, detail := found(t, all[3], status(6, runs(0), soon), status(6, pauses(), soon)); end != 2 || detail != fourth {
			t.Errorf("after %d of 2: %q", end, detail)
		}
	})

	scenario(t, "a run of ten minutes is long, and one that is a second shorter is not", func(t *testing.T) {
		for _, c := range []struct {
			run time.Duration
			end int
		}{{10*time.Minute - time.Second, 3}, {10 * time.Minute, -1}} {
			soon := ran(5 * time.Second)
			end, _ := found(t, status(0, runs(0), corev1.ContainerState{}), status(1, ran(c.run), soon), status(2, pauses(), soon), status(3, pauses(), soon))
			if end != c.end {
				t.Errorf("after a run of %v: ended after %d, want %d", c.run, end, c.end)
			}
		}
	})

	// Such a container's StartedAt is 1970, or nothing.
	scenario(t, "a container that never ran has not run for long", func(t *testing.T) {
		for _, began := range []metav1.Time{metav1.Unix(0, 0), {}} {
			never := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 128, Reason: "StartError", Message: "no such file", StartedAt: began, FinishedAt: metav1.Now()}}
			var shown []func(*corev1.Pod)
			for n := range int32(4) {
				shown = append(shown, status(n, never, corev1.ContainerState{}), status(n, pauses(), never))
			}
			if end, detail := found(t, status(0, pauses(), corev1.ContainerState{}), shown...); end != len(shown) {
				t.Errorf("begun at %v: after %d of %d: %q", began, end, len(shown), detail)
			}
		}
	})
}
