package supervisor

import (
	"context"
	"log/slog"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Handover releases the monitors of a gateway that stops, so that another gateway, or the
// next start of this gateway, resumes them.
type Handover struct {
	store     ReservationStore
	launcher  Launcher
	log       *slog.Logger
	remaining map[monitor.ID]int // the monitors to release, with their newest generation; from Run
}

// Release turns the remaining monitors of Run into reservations that are due at once. It
// is called after Run has returned, while the launcher is being closed. It releases each
// monitor when its worker has exited. When the launcher is closed, it releases the
// monitors whose workers' exits were not reported. Errors: ctx was done first. Then the
// next gateway finds the workers of unreleased monitors missing.
func (h *Handover) Release(ctx context.Context) error {
	for len(h.remaining) > 0 {
		var e Exit
		exited := false
		select {
		case e, exited = <-h.launcher.Exits():
		case <-ctx.Done():
		}
		if !exited {
			return h.release(ctx, h.remaining)
		}
		if h.remaining[e.ID] != e.Generation {
			continue
		}
		if err := h.release(ctx, map[monitor.ID]int{e.ID: e.Generation}); err != nil {
			return err
		}
		delete(h.remaining, e.ID)
	}
	return nil
}

func (h *Handover) release(ctx context.Context, generations map[monitor.ID]int) error {
	var released []Reservation
	for id, generation := range generations {
		released = append(released, Reservation{ID: id, Generation: generation})
	}
	return retry(ctx, h.log, exchangeTimeout, "release monitors to another gateway", func(ctx context.Context) error {
		return h.store.Release(ctx, released)
	})
}
