package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

const (
	writers         = 64 // reports that wait for their answers at once: one of each monitor, as workers have
	eventsPerSecond = 2000
	fanOut          = 3 // destinations
)

// measureRate stores events for the duration, eventsPerSecond at most: without destinations,
// with some, and while a dispatcher delivers; and then deliveries alone. It does not wait
// for the deliveries that are then pending: measureBacklog measures how fast a backlog goes.
func (b *bed) measureRate(ctx context.Context, duration time.Duration) error {
	monitors, err := b.arrange(ctx, nil, nil, writers)
	if err != nil {
		return err
	}
	if err := b.measureStoring(ctx, "without destinations", monitors, duration, 0); err != nil {
		return err
	}
	if monitors, err = b.arrange(ctx, slices.Repeat([]string{fine}, fanOut), nil, writers); err != nil {
		return err
	}
	if err := b.measureStoring(ctx, "3 destinations for each event, nothing delivered", monitors, duration, fanOut); err != nil {
		return err
	}
	return b.dispatching(ctx, func() error {
		if err := b.measureStoring(ctx, "3 destinations for each event, delivering meanwhile", monitors, duration, fanOut); err != nil {
			return err
		}
		return b.measureDelivering(ctx, duration)
	})
}

// figures are what has happened until an instant. On a busy machine CPU time says more than a rate.
type figures struct {
	at                          time.Time
	server, process             time.Duration // CPU time of PostgreSQL and of this process
	stored, delivered, callback int           // deliveries to destinations, those of them that were made, and callbacks that were made
}

func (b *bed) figures(ctx context.Context) (f figures, err error) {
	f = figures{at: time.Now(), server: b.db.CPU(system.Processes()), process: bench.OwnCPU()}
	err = b.db.QueryRowContext(ctx, `
		SELECT count(destination_id), count(destination_id) FILTER (WHERE state = 'delivered'), count(*) FILTER (WHERE state = 'delivered' AND destination_id IS NULL)
		FROM deliveries`).Scan(&f.stored, &f.delivered, &f.callback)
	return f, err
}

// per says what each of some things cost since an earlier time.
func (f figures) per(things int, before figures) string {
	return fmt.Sprintf("CPU for each: PostgreSQL %.2f ms, this process %.2f ms", bench.MS(f.server-before.server)/float64(things), bench.MS(f.process-before.process)/float64(things))
}

// made says how many deliveries a second were made since an earlier time.
func (f figures) made(before figures) string {
	took, toDestinations := f.at.Sub(before.at).Seconds(), f.delivered-before.delivered
	return fmt.Sprintf("%.0f deliveries/s made, %.0f of them to destinations", float64(toDestinations+f.callback-before.callback)/took, float64(toDestinations)/took)
}

// measureStoring stores events for the duration, and checks that each has its deliveries.
func (b *bed) measureStoring(ctx context.Context, what string, monitors []monitor.ID, duration time.Duration, deliveries int) error {
	before, err := b.figures(ctx)
	if err != nil {
		return err
	}
	stored, err := b.storeEvents(ctx, monitors, duration)
	if err != nil {
		return err
	}
	after, err := b.figures(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%s, %d events/s wanted: %.0f events/s stored, %s; %s\n", what, eventsPerSecond,
		float64(stored)/after.at.Sub(before.at).Seconds(), after.made(before), after.per(stored, before))
	if after.stored-before.stored != stored*deliveries {
		return fmt.Errorf("%d events have %d deliveries, %d each wanted", stored, after.stored-before.stored, deliveries)
	}
	return nil
}

// storeEvents stores events for the duration, eventsPerSecond at most, and returns how many.
func (b *bed) storeEvents(ctx context.Context, monitors []monitor.ID, duration time.Duration) (int, error) {
	began := time.Now()
	var next, stored atomic.Int64
	var all sync.WaitGroup
	failed := make([]error, writers)
	for w := range writers {
		all.Go(func() {
			for failed[w] == nil && ctx.Err() == nil && time.Since(began) < duration {
				n := next.Add(1) - 1
				time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / eventsPerSecond)))
				failed[w] = b.report(ctx, monitors[int(n)%len(monitors)], bench.NewStart())
				stored.Add(1)
			}
		})
	}
	all.Wait()
	return int(stored.Load()), errors.Join(errors.Join(failed...), ctx.Err())
}

// measureDelivering measures deliveries from a backlog for the duration.
func (b *bed) measureDelivering(ctx context.Context, duration time.Duration) error {
	before, err := b.figures(ctx)
	if err != nil {
		return err
	}
	time.Sleep(duration)
	after, err := b.figures(ctx)
	if err != nil {
		return err
	}
	n := after.delivered + after.callback - before.delivered - before.callback
	if n == 0 {
		return errors.New("nothing is delivered from a backlog")
	}
	fmt.Printf("nothing stored meanwhile: %s; %s\n", after.made(before), after.per(n, before))
	return nil
}
