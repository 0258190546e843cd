package supervisor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Section 10.4.
func TestAnOrderlyRestartIsReported(t *testing.T) {
	scenario(t, "the report counts the monitors that the stopped gateway has handed over", func(t *testing.T) {
		ids := []monitor.ID{"mon-a", "mon-b", "mon-c"}
		h := newHarness(t, monitored("mon-a"), monitored("mon-b"), monitored("mon-c")).run(ids...)
		h.advance(time.Second)
		h.sup.BeginShutdown()
		h.stop()
		for _, id := range ids {
			h.launcher.exit(id, "exit status 0")
		}
		h.release()

		next := h.beside().run()
		active, known := next.sup.AwaitStart(t.Context())
		if active != 3 || !known {
			t.Errorf("%d monitors are active (known: %v), want 3", active, known)
		}
		next.advance(time.Second)
		next.expectCounts("active=3", "adopted=0", "resumed=3", "relaunched=0")
		if log := next.log.String(); strings.Contains(log, "reservation promoted") || strings.Count(log, "monitor resumed") != 3 {
			t.Errorf("the log says:\n%s", log)
		}
		for _, id := range ids {
			next.expectRunning(id, 2)
		}
	})

	scenario(t, "a gateway that stops while it asks for an orphan's monitor logs no error", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).run("mon-a")
		h.launcher.set(func(l *fakeLauncher) { l.running["mon-x"] = 1 })
		h.store.set(func(r *database) { r.hanging = "get" })
		h.advance(6 * time.Second)
		h.stop()
		if log := h.log.String(); strings.Contains(log, "level=ERROR") || strings.Contains(log, "level=WARN") {
			t.Errorf("the log says:\n%s", log)
		}
	})
}
