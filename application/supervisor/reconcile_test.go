package supervisor_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Section 10.4.
func TestReconcileBringsMonitorsAndWorkersTogether(t *testing.T) {
	scenario(t, "a worker that outlived its gateway is adopted, and its exit is noticed", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).relaunching()
		h.launcher.running["mon-a"] = 1
		h.started()
		h.advance(time.Second)
		h.expectCalls("launch mon-a 1") // which does nothing
		h.expectCounts("active=1", "adopted=1", "relaunched=0", "timed_out=false")
		h.expectActive("mon-a")
		h.launcher.exit("mon-a", "exit status 2")
		h.advance(2 * time.Second)
		h.expectCalls("launch mon-a 1", "launch mon-a 2")
	})

	scenario(t, "a missing worker of a shared runtime fails its monitor under the policy error", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).inSharedRuntime().started()
		h.expectFailed("mon-a", event.ReasonMismatch, "Worker not found here during startup reconciliation")
		h.expectCounts("marked_as_error=1", "relaunched=0")
		h.expectCalls()
		trouble, _ := h.store.storedEvents()[0].Data.(event.MonitorFailure)
		if trouble.ReconciliationAction != "mark_as_error_missing_pod" || trouble.PreviousStatus != "monitoring" ||
			trouble.ObservedState == nil || *trouble.ObservedState != (event.ObservedState{PodExists: false, DBStatus: "monitoring"}) {
			t.Errorf("told %+v", trouble)
		}
	})

	scenario(t, "a worker that ended with its gateway is replaced under the policy error, too", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).started()
		h.expectCalls("launch mon-a 2")
		h.expectCounts("relaunched=1", "marked_as_error=0")
		h.expectActive("mon-a")
	})

	scenario(t, "a monitor that never had a worker gets one under either policy", func(t *testing.T) {
		m := monitored("mon-a")
		m.ReportedAt = time.Time{}
		h := newHarness(t, m).started()
		h.expectCalls("launch mon-a 2")
		h.expectCounts("launched=1")
		h.expectActive("mon-a")
	})

	scenario(t, "workers of ended, reserved and unknown monitors are ended", func(t *testing.T) {
		ended, waiting := monitored("mon-ended"), monitored("mon-reserved")
		ended.Status = monitor.Stopped
		waiting.ReservedUntil = time.Now().Add(time.Hour)
		h := newHarness(t, ended, waiting)
		h.launcher.running = map[monitor.ID]int{"mon-ended": 1, "mon-reserved": 1, "mon-unknown": 7}
		h.started()
		got := h.launcher.requests()
		slices.Sort(got)
		if want := []string{"stop mon-ended", "stop mon-reserved", "stop mon-unknown"}; !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
		h.expectCounts("zombies_deleted=2", "orphans_deleted=1")
	})

	scenario(t, "an orphaned worker of this gateway gets 40 s to end by itself", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).started("mon-a")
		h.reportFor(20*time.Second, "mon-a")
		h.store.end("mon-a") // by another gateway
		h.advance(40 * time.Second)
		h.expectCalls("launch mon-a 1")
		h.advance(10 * time.Second)
		h.expectCalls("launch mon-a 1", "stop mon-a")
	})
}
