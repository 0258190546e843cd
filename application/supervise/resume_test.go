package supervise_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestResume(t *testing.T) {
	scenario(t, "every active monitor gets a worker of a new generation, no other does", func(t *testing.T) {
		done := registered("mon-done")
		done.Status = monitor.Completed
		h := newHouse(t, registered("mon-a"), registered("mon-b"), done).open()
		defer h.close()
		if err := h.sup.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.after(time.Second)
		got := h.launcher.seen()
		slices.Sort(got)
		if want := []string{"launch mon-a 2", "launch mon-b 2"}; !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
		if !strings.Contains(h.log.String(), "Startup Reconciliation Report") {
			t.Error("no report")
		}
	})

	scenario(t, "a monitor registered meanwhile ends up with its newest generation", func(t *testing.T) {
		m := registered("mon-a")
		h := newHouse(t, m).open()
		defer h.close()
		if err := h.sup.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.sup.Start(m) // of generation 1, late
		h.after(time.Minute)
		h.expectCalls("launch mon-a 2")
		h.expectActive("mon-a")
	})

	scenario(t, "a database that is away at first delays it", func(t *testing.T) {
		h := newHouse(t, registered("mon-a")).open()
		defer h.close()
		h.roster.down = true
		time.AfterFunc(5*time.Second, func() { h.roster.set(func(r *roster) { r.down = false }) })
		if err := h.sup.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.after(time.Second)
		h.expectCalls("launch mon-a 2")
	})

	scenario(t, "a database that stays away ends it with the context", func(t *testing.T) {
		h := newHouse(t, registered("mon-a")).open()
		defer h.close()
		h.roster.down = true
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if h.sup.Resume(ctx) == nil {
			t.Error("no error")
		}
	})

	scenario(t, "a monitor that cannot be advanced is skipped and named", func(t *testing.T) {
		h := newHouse(t, registered("mon-a"), registered("mon-b")).open()
		defer h.close()
		h.roster.stuck = "mon-a"
		if err := h.sup.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.after(time.Second)
		h.expectCalls("launch mon-b 2")
		if !strings.Contains(h.log.String(), "level=ERROR") || !strings.Contains(h.log.String(), "mon-a") {
			t.Errorf("mon-a is not named:\n%s", h.log.String())
		}
	})
}
