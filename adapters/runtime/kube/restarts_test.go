package kube_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// crashedAfter is a container that has just crashed after running for d.
func crashedAfter(d time.Duration) corev1.ContainerState {
	state := terminated(7)
	state.Terminated.StartedAt, state.Terminated.FinishedAt = metav1.NewTime(time.Now().Add(-d)), metav1.Now()
	return state
}

// runningFor is a container that has run for d.
func runningFor(d time.Duration) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(-d))}}
}

func inBackOff() corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
}

// restarted is the status of a pod whose container was restarted.
func restarted(restarts int32, state, last corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		setContainer(p, corev1.PodRunning, state)
		p.Status.ContainerStatuses[0].RestartCount, p.Status.ContainerStatuses[0].LastTerminationState = restarts, last
	}
}

// lateCrashes is the history of a pod that was restarted twice at its beginning,
// and crashes four times in a row after two weeks.
func lateCrashes() []func(*corev1.Pod) {
	const long, short = 14 * 24 * time.Hour, 5 * time.Second
	return []func(*corev1.Pod){
		restarted(2, runningFor(long), crashedAfter(short)),
		restarted(2, crashedAfter(long), crashedAfter(short)),
		restarted(3, runningFor(0), crashedAfter(long)),
		restarted(3, inBackOff(), crashedAfter(short)),
		restarted(4, runningFor(0), crashedAfter(short)),
		restarted(4, inBackOff(), crashedAfter(short)),
		restarted(5, runningFor(0), crashedAfter(short)),
		restarted(5, inBackOff(), crashedAfter(short)),
	}
}

// observeExit starts a gateway beside a pod that another gateway has launched. The
// pod is in state first at the start, and then goes through the others. end is
// the index of the state that was reported as the end (0: first), or -1.
func observeExit(t *testing.T, first func(*corev1.Pod), others ...func(*corev1.Pod)) (end int, detail string) {
	t.Helper()
	cluster, earlier, p := startWorker(t, settings(), launchertest.StopsWhenAsked)
	must.Do(t, earlier.Close(t.Context()))
	cluster.updatePod(p, first)
	l := newLauncher(t, cluster, settings())
	for i, state := range append([]func(*corev1.Pod){first}, others...) {
		cluster.updatePod(p, state)
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
	const fourth = "it crashes repeatedly, 4 times so far, the last time with exit code 7"
	for first, moment := range []string{"while the container runs for weeks", "just after the first crash", "just after the first restart"} {
		scenario(t, "a gateway that starts "+moment+" waits for the fourth crash", func(t *testing.T) {
			all := lateCrashes()[first:]
			if end, detail := observeExit(t, all[0], all[1:]...); end != len(all)-1 || detail != fourth {
				t.Errorf("after %d of %d: %q", end, len(all)-1, detail)
			}
		})
	}

	scenario(t, "a gateway that sees only the pauses between the crashes waits for the fourth crash", func(t *testing.T) {
		all := lateCrashes()
		if end, detail := observeExit(t, restarted(0, runningFor(0), corev1.ContainerState{}), all[0], all[3], all[5], all[7]); end != 4 || detail != fourth {
			t.Errorf("after %d of 4: %q", end, detail)
		}
	})

	scenario(t, "a gateway that starts during a pause does not know the number of crashes and waits for three more restarts", func(t *testing.T) {
		all := lateCrashes()
		if end, detail := observeExit(t, all[3], all[4:]...); end >= 0 {
			t.Errorf("after %d: %q", end, detail)
		}
		short := crashedAfter(5 * time.Second)
		if end, detail := observeExit(t, all[3], restarted(6, runningFor(0), short), restarted(6, inBackOff(), short)); end != 2 || detail != fourth {
			t.Errorf("after %d of 2: %q", end, detail)
		}
	})

	scenario(t, "a run of ten minutes resets the count, and a run that is a second shorter does not", func(t *testing.T) {
		for _, c := range []struct {
			run time.Duration
			end int
		}{{10*time.Minute - time.Second, 3}, {10 * time.Minute, -1}} {
			short := crashedAfter(5 * time.Second)
			end, _ := observeExit(t, restarted(0, runningFor(0), corev1.ContainerState{}), restarted(1, crashedAfter(c.run), short), restarted(2, inBackOff(), short), restarted(3, inBackOff(), short))
			if end != c.end {
				t.Errorf("after a run of %v: ended after %d, want %d", c.run, end, c.end)
			}
		}
	})

	// The StartedAt of such a container is 1970, or missing.
	scenario(t, "a container that never ran does not reset the count", func(t *testing.T) {
		for _, startedAt := range []metav1.Time{metav1.Unix(0, 0), {}} {
			never := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 128, Reason: "StartError", Message: "no such file", StartedAt: startedAt, FinishedAt: metav1.Now()}}
			var states []func(*corev1.Pod)
			for n := range int32(4) {
				states = append(states, restarted(n, never, corev1.ContainerState{}), restarted(n, inBackOff(), never))
			}
			if end, detail := observeExit(t, restarted(0, inBackOff(), corev1.ContainerState{}), states...); end != len(states) {
				t.Errorf("started at %v: after %d of %d: %q", startedAt, end, len(states), detail)
			}
		}
	})
}
