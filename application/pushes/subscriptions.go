package pushes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stream-monitor/stream-monitor/domain/eventsub"
)

// changesAtOnce is how many subscriptions are made or ended at once.
const changesAtOnce = 4

// subscriptions is what a Follower knows of logins and subscriptions.
type subscriptions struct {
	ids      map[string]string // of logins; empty: Twitch does not know the login
	askedAt  time.Time         // when all ids were asked for
	existing eventsub.Existing
	listed   bool // existing is true, as far as is known
	refused  map[eventsub.Key]refusal
}

// sync makes the subscriptions that are wanted, and ends the others. It returns what becomes of the state, and why some were refused.
// Errors: those of Twitch; the rest is due again.
func (f *Follower) sync(ctx context.Context) (change func(*eventsub.State), refused, err error) {
	change = func(*eventsub.State) {}
	transport, now := f.current(), f.service.now()
	if transport == (eventsub.Transport{}) {
		return change, nil, nil // there is no conduit yet
	}
	logins, err := f.service.store.EventSubTargets(ctx)
	if err != nil {
		return change, nil, err
	}
	users, unknown, err := f.users(ctx, logins, now)
	if err != nil {
		return change, nil, err
	}
	state, err := f.service.store.EventSubState(ctx)
	if err != nil {
		return change, nil, err
	}
	state.Use(f.cfg.Client, transport)
	subs := &f.subscriptions
	if !subs.listed || state.ListDue(now) {
		if subs.existing, err = f.api.Subscriptions(ctx); err != nil {
			return change, nil, fmt.Errorf("ask for the subscriptions: %w", err)
		}
		subs.listed, state.ListedAt = true, now
	}
	for _, s := range subs.existing.Subscriptions {
		if s.Transport == transport && s.Status == eventsub.Unreached { // else each look would end it and make it again
			subs.refused[s.Key] = refusal{fmt.Errorf("the webhook is not reached by Twitch: %s", s.Status), now}
		}
	}
	plan := eventsub.MakePlan(users, subs.existing, transport, state.Former)
	if refused, err = f.carryOut(ctx, plan, transport, now); plan.NoRoom > 0 {
		refused = fmt.Errorf("%d subscriptions are more than Twitch allows the application (%d)", plan.NoRoom, subs.existing.MaxCost)
	}
	missing := len(plan.Add) + plan.NoRoom
	return func(s *eventsub.State) {
		s.ListedAt, s.Unknown, s.Missing = state.ListedAt, unknown, missing
		s.Subscriptions = len(users)*len(eventsub.Types) - missing
		if err == nil && len(plan.Remove) == 0 {
			s.Former = nil
		}
	}, refused, err
}

// users returns the ids of logins, and the logins that Twitch does not know.
func (f *Follower) users(ctx context.Context, logins []string, now time.Time) (ids, unknown []string, err error) {
	subs := &f.subscriptions
	if now.Sub(subs.askedAt).Abs() >= eventsub.UsersEvery {
		subs.ids, subs.askedAt = map[string]string{}, now
	}
	missing := slices.DeleteFunc(slices.Clone(logins), func(login string) bool { _, known := subs.ids[login]; return known })
	for asked := range slices.Chunk(missing, eventsub.PerCall) {
		found, err := f.api.UserIDs(ctx, asked)
		if err != nil {
			return nil, nil, fmt.Errorf("ask for the ids of logins: %w", err)
		}
		for _, login := range asked {
			subs.ids[login] = found[login]
		}
	}
	for _, login := range logins {
		if id := subs.ids[login]; id != "" {
			ids = append(ids, id)
		} else {
			unknown = append(unknown, login)
		}
	}
	return ids, unknown, nil
}

// refusal is why a subscription was refused, and when.
type refusal struct {
	err error
	at  time.Time
}

// carryOut does what a plan says, first what it removes, which makes room. A refused subscription waits for RefusedPause; refused is
// why. Errors: the API does not answer.
func (f *Follower) carryOut(ctx context.Context, plan eventsub.Plan, t eventsub.Transport, now time.Time) (refused, err error) {
	subs := &f.subscriptions
	add := slices.DeleteFunc(slices.Clone(plan.Add), func(key eventsub.Key) bool {
		r := subs.refused[key]
		waits := now.Sub(r.at).Abs() < eventsub.RefusedPause
		if waits {
			refused = r.err
		}
		return waits
	})
	if len(plan.Remove)+len(add) == 0 {
		return refused, nil
	}
	subs.listed = false // the next look shows what has become of it
	if err := each(ctx, plan.Remove, f.api.Unsubscribe); err != nil {
		return refused, fmt.Errorf("end a subscription: %w", err)
	}
	var mu sync.Mutex
	err = each(ctx, add, func(ctx context.Context, key eventsub.Key) error {
		err := f.api.Subscribe(ctx, key, t, f.service.secret)
		if err != nil {
			err = fmt.Errorf("make a subscription: %w", err)
		}
		r, is := errors.AsType[*Refusal](err)
		if !is || r.Status == 401 || r.Status == 429 || r.Status >= 500 {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		subs.refused[key], refused = refusal{err, now}, err
		return nil
	})
	return refused, err
}

// each does something for all of some, changesAtOnce at a time, until one fails, whose error it returns.
func each[T any](ctx context.Context, all []T, do func(context.Context, T) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(changesAtOnce)
	for _, one := range all {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err // another one has failed
			}
			return do(ctx, one)
		})
	}
	return g.Wait()
}
