package supervisor

import (
	"context"
	"log/slog"
	"maps"
	"slices"
)

// Handover releases the monitors of a gateway that stops, so that another gateway, or the
// next start of this gateway, resumes them.
type Handover struct {
	store     ReservationStore
	launcher  Launcher
	log       *slog.Logger
	remaining []Reservation // the monitors to release, from Run
}

// Release turns the remaining monitors of Run into reservations that are due at once. It
// is called after Run has returned, while the launcher is being closed. It releases each
// monitor when its worker has exited. When the launcher is closed, it releases the
// monitors whose workers' exits were not reported. Errors: ctx was done first. Then the
// next gateway finds the workers of unreleased monitors missing.
func (h *Handover) Release(ctx context.Context) error {
	unreleased := map[Reservation]bool{}
	for _, r := range h.remaining {
		unreleased[r] = true
	}
	for open := true; open && len(unreleased) > 0; {
		var ended []Reservation
		select {
		case e, more := <-h.launcher.Exits():
			open = more
			if r := (Reservation{ID: e.ID, Generation: e.Generation}); unreleased[r] {
				ended = append(ended, r)
			}
		case <-ctx.Done():
			open = false
		}
		if err := h.release(ctx, ended); err != nil {
			return err
		}
		for _, r := range ended {
			delete(unreleased, r)
		}
	}
	return h.release(ctx, slices.Collect(maps.Keys(unreleased)))
}

func (h *Handover) release(ctx context.Context, monitors []Reservation) error {
	if len(monitors) == 0 {
		return nil
	}
	return retry(ctx, h.log, exchangePolicy, "release monitors to another gateway", func(ctx context.Context) error {
		return h.store.Release(ctx, monitors)
	})
}
