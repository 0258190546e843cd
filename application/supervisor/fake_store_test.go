package supervisor_test

import (
	"context"
	"maps"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// lostAnswers counts answers that get lost, by method.
type lostAnswers struct{ advance, claim, promote, event int }

// waitIfHanging blocks until ctx is done if the method is to hang.
func (r *fakeStore) waitIfHanging(ctx context.Context, what string) error {
	r.mu.Lock()
	hangs := r.hanging == what
	r.mu.Unlock()
	if !hangs {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (r *fakeStore) ClaimDue(ctx context.Context, term time.Duration) (taken []supervisor.Reservation, next time.Time, err error) {
	if err := r.waitIfHanging(ctx, "due"); err != nil {
		return nil, next, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claims++
	if r.down {
		return nil, next, errDatabase
	}
	now := time.Now()
	for id, m := range r.monitors {
		if m.Status.Active() && !m.ReservedUntil.IsZero() && !m.ReservedUntil.After(now) && len(taken) < r.maxClaims && !r.locked {
			m.ReservedUntil = now.Add(term)
			m.Generation++
			r.monitors[id] = m
			taken = append(taken, supervisor.Reservation{ID: id, Generation: m.Generation, HandedOver: m.RuntimeID != ""})
		}
		if m.Status.Active() && !m.ReservedUntil.IsZero() && (next.IsZero() || m.ReservedUntil.Before(next)) {
			next = m.ReservedUntil
		}
	}
	if r.lostAnswers.claim > 0 {
		r.lostAnswers.claim--
		return nil, time.Time{}, errDatabase
	}
	return taken, next, nil
}

func (r *fakeStore) Promote(ctx context.Context, taken supervisor.Reservation, runtimeID string) (monitor.Monitor, error) {
	if err := r.waitIfHanging(ctx, "promote"); err != nil {
		return monitor.Monitor{}, err
	}
	time.Sleep(r.promoteTime)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.promotions++
	if r.down || taken.ID == r.failingID {
		return monitor.Monitor{}, errDatabase
	}
	m, err := r.find(taken.ID, taken.Generation)
	if err != nil {
		return m, err
	}
	m.ReservedUntil, m.RuntimeID, m.UpdatedAt = time.Time{}, runtimeID, time.Now()
	r.monitors[taken.ID] = m
	if r.lostAnswers.promote > 0 {
		r.lostAnswers.promote--
		return monitor.Monitor{}, errDatabase
	}
	return m, nil
}

func (r *fakeStore) Release(_ context.Context, held []supervisor.Reservation) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return errDatabase
	}
	for _, h := range held {
		if m := r.monitors[h.ID]; m.Status.Active() && m.Generation == h.Generation && m.ReservedUntil.IsZero() {
			m.ReservedUntil = time.Now()
			r.monitors[h.ID] = m
		}
	}
	return nil
}

func (r *fakeStore) Heartbeat(ctx context.Context, runtimeID string) (map[string]int64, error) {
	if err := r.waitIfHanging(ctx, "heartbeat"); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return nil, errDatabase
	}
	r.heartbeats[runtimeID]++
	return maps.Clone(r.heartbeats), nil
}

func (r *fakeStore) Leave(_ context.Context, runtimeID string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return errDatabase
	}
	delete(r.heartbeats, runtimeID)
	return nil
}
