package supervisor

import (
	"context"
	"maps"
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// takeStock notes the workers that Run leaves: those it has asked for, and those
// that it has not come to adopt. At a shared place they go on, and other gateways
// find them; what is noted are those that it has not come to launch.
func (s *Supervisor) takeStock() {
	ctx, cancel := context.WithTimeout(context.Background(), exchangeLimit)
	defer cancel()
	running := map[monitor.ID]int{}
	workers, err := s.launcher.Workers(ctx)
	for _, w := range workers {
		running[w.ID] = w.Generation
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	held := maps.Clone(running)
	for id, p := range s.posts {
		if p.ending {
			delete(held, id)
		} else {
			held[id] = max(held[id], p.job.Generation)
		}
	}
	for _, w := range s.wishes {
		switch {
		case w.job != nil:
			held[w.id] = max(held[w.id], w.job.Generation)
		case w.loss == nil:
			delete(held, w.id)
		}
	}
	shared := s.launcher.Runtime().Shared
	for id, generation := range held {
		if generation > 0 && (!shared || err == nil && generation > running[id] && s.toLaunch(id)) {
			s.held = append(s.held, Reservation{id, generation})
		}
	}
}

// toLaunch tells whether a monitor's worker was asked for and not come to, rather
// than lost, which others find. Whoever calls it holds mu.
func (s *Supervisor) toLaunch(id monitor.ID) bool {
	if p := s.posts[id]; p != nil && (p.due == launch || p.cancel != nil && p.doing == launch) {
		return true
	}
	return slices.ContainsFunc(s.wishes, func(w wish) bool { return w.id == id && w.job != nil })
}

// Release gives back the monitors of the workers that were noted when Run
// returned: from then on they are reservations that are due, for another gateway
// at once, or for this one's next start. It is called after Run has returned, while the launcher
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
