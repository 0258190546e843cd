package supervise

import "context"

// Release gives back the monitors that this gateway has workers for: from then
// on they are reservations that are due, for another gateway at once, or for
// this one's next start. It is called after Run has returned and the workers
// have ended. Errors: they could not be given back before ctx was done; a
// gateway that starts resumes them then.
func (s *Supervisor) Release(ctx context.Context) error {
	var held []Reservation
	for id, p := range s.posts {
		if p.job.Generation > 0 && !p.ending {
			held = append(held, Reservation{id, p.job.Generation})
		}
	}
	if len(held) == 0 {
		return nil
	}
	return s.persist(ctx, endless, "give monitors back", func(ctx context.Context) error {
		return s.roster.Release(ctx, held)
	})
}
