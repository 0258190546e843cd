package supervisor

import (
	"context"
	"log/slog"
	"maps"
	"slices"
)

// Handover releases the monitors of a gateway that stops, so that another gateway,
// or this one's next start, goes on with them.
type Handover struct {
	store    ReservationStore
	launcher Launcher
	log      *slog.Logger
	held     []Reservation // what Run left behind
}

// Release makes the monitors that Run left behind reservations that are due at
// once. It is called after Run has returned, while the launcher is being closed.
// Each monitor is released when its worker has ended, the rest when the launcher
// is closed. Errors: ctx was done first; the next start of a gateway finds the
// monitors that remain missing.
func (h *Handover) Release(ctx context.Context) error {
	held := map[Reservation]bool{}
	for _, r := range h.held {
		held[r] = true
	}
	for open := true; open && len(held) > 0; {
		var ended []Reservation
		select {
		case e, more := <-h.launcher.Exits():
			open = more
			if r := (Reservation{ID: e.ID, Generation: e.Generation}); held[r] {
				ended = append(ended, r)
			}
		case <-ctx.Done():
			open = false
		}
		if err := h.release(ctx, ended); err != nil {
			return err
		}
		for _, r := range ended {
			delete(held, r)
		}
	}
	return h.release(ctx, slices.Collect(maps.Keys(held)))
}

func (h *Handover) release(ctx context.Context, held []Reservation) error {
	if len(held) == 0 {
		return nil
	}
	return retry(ctx, h.log, exchange, "release monitors to another gateway", func(ctx context.Context) error {
		return h.store.Release(ctx, held)
	})
}
