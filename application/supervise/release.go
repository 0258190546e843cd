package supervise

import (
	"context"
	"maps"
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// takeStock notes the workers that Run leaves: those it has asked for, and those
// that it has not come to adopt.
func (s *Supervisor) takeStock() {
	ctx, cancel := context.WithTimeout(context.Background(), exchangeLimit)
	defer cancel()
	all := map[monitor.ID]int{}
	if workers, err := s.launcher.Workers(ctx); err == nil {
		for _, w := range workers {
			all[w.ID] = w.Generation
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, p := range s.posts {
		if p.ending {
			delete(all, id)
		} else {
			all[id] = max(all[id], p.job.Generation)
		}
	}
	for _, w := range s.wishes {
		switch {
		case w.job != nil:
			all[w.id] = max(all[w.id], w.job.Generation)
		case w.loss == nil:
			delete(all, w.id)
		}
	}
	for id, generation := range all {
		if generation > 0 {
			s.held = append(s.held, Reservation{id, generation})
		}
	}
}

// Release gives back the monitors that this gateway has workers for: from then
// on they are reservations that are due, for another gateway at once, or for
// this one's next start. It is called after Run has returned, while the launcher
// is closed: each monitor is given back when its worker has ended, so that a slow
// one keeps no other waiting, and the rest when the launcher is closed. Errors:
// they could not all be given back before ctx was done; a gateway that starts
// finds them missing then.
func (s *Supervisor) Release(ctx context.Context) error {
	held := map[Reservation]bool{}
	for _, r := range s.held {
		held[r] = true
	}
	for open := true; open && len(held) > 0; {
		var ended []Reservation
		select {
		case e, more := <-s.launcher.Exits():
			open = more
			if r := (Reservation{e.ID, e.Generation}); held[r] {
				ended = append(ended, r)
			}
		case <-ctx.Done():
			open = false
		}
		if err := s.giveBack(ctx, ended); err != nil {
			return err
		}
		for _, r := range ended {
			delete(held, r)
		}
	}
	return s.giveBack(ctx, slices.Collect(maps.Keys(held)))
}

func (s *Supervisor) giveBack(ctx context.Context, held []Reservation) error {
	if len(held) == 0 {
		return nil
	}
	return s.persist(ctx, endless, "give monitors back", func(ctx context.Context) error {
		return s.roster.Release(ctx, held)
	})
}
