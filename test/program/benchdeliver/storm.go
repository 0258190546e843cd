package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

const (
	stormStreams     = 1000 // that go black within a second
	stormWait        = 20 * time.Second
	singleMessages   = 40
	maxMessageP99    = 100 * time.Millisecond
	messageKindIndex = 2 // of startChannels: ntfy, which takes 60 messages at once
)

// blackout returns the alert of a stream that has just gone black.
func blackout() event.Event {
	now := time.Now().UTC()
	return event.Event{ID: newID(), Type: event.Blackout, At: now, Data: event.Alert{DurationSec: 30, StartedAt: now, ThresholdSec: 30}}
}

// measureMessages measures the time from before a report to the message about it, one after the other.
func (b *bench) measureMessages(ctx context.Context) error {
	channels := startChannels()
	defer channels.close()
	phone := channels[messageKindIndex]
	if err := errors.Join(b.create(ctx, phone.destination), b.route(ctx)); err != nil {
		return err
	}
	monitors, err := b.register(ctx, singleMessages)
	if err != nil {
		return err
	}
	stop, err := b.dispatch(ctx)
	if err != nil {
		return err
	}
	defer stop()
	var took []time.Duration
	for _, id := range monitors {
		before, began := len(phone.server.Messages()), time.Now()
		if err := b.openIncident(ctx, id); err != nil {
			return err
		}
		for len(phone.server.Messages()) == before && time.Since(began) < maxDelay {
			time.Sleep(time.Millisecond)
		}
		got := phone.server.Messages()
		if len(got) == before {
			return fmt.Errorf("message %d has not come after %s", before+1, maxDelay)
		}
		took = append(took, got[before].PostedAt.Sub(began))
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	fmt.Printf("report to message: median %.1f ms, p99 %.1f ms\n", ms(took[len(took)/2]), ms(p99))
	if p99 > maxMessageP99 {
		return fmt.Errorf("expected a p99 of at most %s from a report to its message", maxMessageP99)
	}
	return nil
}

// measureStorm measures what follows when many streams go black within a second.
func (b *bench) measureStorm(ctx context.Context) error {
	channels := startChannels()
	defer channels.close()
	for _, c := range channels[:3] {
		if err := b.create(ctx, c.destination); err != nil {
			return err
		}
	}
	if err := errors.Join(b.addDestination(ctx, fine), b.route(ctx)); err != nil {
		return err
	}
	monitors, err := b.register(ctx, stormStreams)
	if err != nil {
		return err
	}
	stop, err := b.dispatch(ctx)
	if err != nil {
		return err
	}
	defer stop()
	b.receivers.reset()
	began := time.Now()
	var all sync.WaitGroup
	failed := make([]error, len(monitors))
	for n, id := range monitors {
		all.Go(func() {
			time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / stormStreams)))
			_, failed[n] = b.reportEvent(ctx, id, blackout())
		})
	}
	all.Wait()
	stored := time.Since(began)
	if err := errors.Join(failed...); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, stormWait)
	defer cancel()
	got := b.receivers.await(limited, stormStreams)
	delivered := time.Since(began)
	time.Sleep(time.Until(began.Add(stormWait)))
	var deadlocks, open int
	if err := b.db.QueryRowContext(ctx, `SELECT (SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()),
		(SELECT count(*) FROM incidents WHERE state = 'open' AND monitor_id = ANY (SELECT id FROM monitors ORDER BY seq DESC LIMIT 1000))`).Scan(&deadlocks, &open); err != nil {
		return err
	}
	fmt.Printf("%d streams go black in a second: reports stored after %.1f s, %d of %d webhooks after %.1f s, %d incidents, %d deadlocks\n",
		stormStreams, stored.Seconds(), got, stormStreams, delivered.Seconds(), open, deadlocks)
	for _, c := range channels[:3] {
		messages := c.server.Messages()
		for _, m := range messages[max(0, len(messages)-3):] {
			fmt.Printf("  %s, %d messages, after %.1f s with %d edits: %.60s\n", c.destination.Kind, len(messages), m.PostedAt.Sub(began).Seconds(), m.Edits, m.Text)
		}
	}
	if deadlocks > 0 || open != stormStreams || got < stormStreams {
		return errors.New("an incident or a webhook is missing, or two transactions waited for each other")
	}
	return nil
}
