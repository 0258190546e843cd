//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

const (
	pollInterval   = 500 * time.Millisecond // between two looks at how many streams are watched
	betweenStorms  = 20 * time.Second
	acquaintance   = 10 * time.Second // in which two gateways have seen each other's heartbeats
	registrants    = 16               // callers that register streams at once
	stallLimit     = time.Minute      // decision S6: a playlist that has not moved for so long has stalled
	longestStall   = 3 * time.Minute  // a stall ends when all streams have an alert, or after this
	beforeStall    = time.Second      // so that all timelines stop at the same instant
	segmentMissing = "alert.segment_error"
)

// storm is something that happened to all streams at once, and what it cost.
type storm struct {
	Name    string
	TookSec float64 // until the last stream was watched again
	Words   string  // how long its steps took, for people

	counters // until then

	CPUSec parts // until then, in all

	Alerts       int          // about missing media
	AlertLatency distribution // s from the storm and stallLimit to the webhook; of a stall
	Failure      string       // why it was not measured to its end; empty: it was
}

// print prints a storm as one line.
func (s storm) print(line func(name, format string, args ...any), streams int) {
	if s.Failure != "" {
		line(s.Name, "%s", s.Failure)
		return
	}
	alerts := ""
	if s.AlertLatency != (distribution{}) {
		alerts = fmt.Sprintf(" (p50 %.1f s, p99 %.1f s after %s)", s.AlertLatency.P50, s.AlertLatency.P99, stallLimit)
	}
	line(s.Name, "%d of %d watched after %.1f s%s; %d questions; %d of %d checks late, %d by more than an interval, %.1f s at most; %d alerts%s; CPU %.0f s",
		s.Watched, streams, s.TookSec, s.Words, s.Questions, s.Late, s.Checks, s.LateByInterval, s.LargestSec, s.Alerts, alerts, s.CPUSec.all())
}

// measureStorms makes and measures one storm after the other. If one is not over in time, the
// next one follows all the same.
func (m *run) measureStorms(ctx context.Context, r *result) error {
	var errs []error
	for _, one := range []struct {
		name    string
		measure func(context.Context, *storm) error
	}{{"restart", m.restart}, {"takeover", m.takeOver}, {"all URLs expire", m.expireAll}, {"all playlists stall", m.stallAll}} {
		m.say("%d streams: %s, in %s", m.n, one.name, betweenStorms)
		if err := m.watchFor(ctx, time.Now().Add(betweenStorms), nil); err != nil {
			return errors.Join(append(errs, err)...) // interrupted, or the gateway has ended
		}
		errs = append(errs, m.measureStorm(ctx, r, one.name, one.measure))
	}
	return errors.Join(errs...)
}

// measureStorm measures one storm from its beginning until every stream is watched again.
func (m *run) measureStorm(ctx context.Context, r *result, name string, measure func(context.Context, *storm) error) error {
	s := storm{Name: name}
	tree, before, began := m.tree, m.usage(), time.Now()
	if _, err := m.server.count(true); err != nil {
		return err
	}
	err := measure(ctx, &s)
	if err != nil {
		s.Failure = fmt.Sprintf("not measured: %v", err)
	}
	r.Peak.keepLargest(m.resources())
	after := m.usage()
	if m.tree != tree { // a restart: other processes
		before.cpuByRole = cpuByRole{}
	}
	s.CPUSec = partsOf(before, after, 1)
	s.Alerts = len(m.alerts(began, segmentMissing))
	r.Storms = append(r.Storms, s)
	return err
}

// awaitWatched waits until every stream has been watched since the last reset. began is the
// storm's beginning. It fails if there is no progress for startTimeout.
func (m *run) awaitWatched(ctx context.Context, s *storm, began time.Time) (err error) {
	progressed, said := time.Now(), time.Now()
	for {
		before := s.counters
		if s.counters, err = m.server.count(false); err != nil {
			return err
		}
		if s.Watched > 0 {
			s.TookSec = s.WatchedAt.Sub(began).Seconds()
		}
		switch now := time.Now(); {
		case s.Watched == m.n:
			return nil
		case s.Watched > before.Watched:
			progressed = now
		case now.Sub(progressed) > startTimeout:
			return fmt.Errorf("%d of %d streams are watched, and no further one for %s; the gateway's log ends:\n%s", s.Watched, m.n, startTimeout, m.gateway.Tail(10))
		}
		if time.Since(said) > progressInterval {
			said = time.Now()
			m.say("%d of %d streams are watched", s.Watched, m.n)
		}
		if err := m.watchFor(ctx, time.Now().Add(pollInterval), nil); err != nil {
			return err
		}
	}
}

// registerAtOnce registers all streams as fast as the API takes them.
func (m *run) registerAtOnce(ctx context.Context, s *storm) error {
	began := time.Now()
	next := make(chan int, m.n)
	for k := range m.n {
		next <- k
	}
	close(next)
	videos := m.videos().Videos
	var mu sync.Mutex
	var errs []error
	var all sync.WaitGroup
	for range registrants {
		all.Go(func() {
			for k := range next {
				id, err := m.register(ctx, k)
				mu.Lock()
				m.timelines[id] = videos[videoID(k)]
				errs = append(errs, err)
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.Words = fmt.Sprintf(", created after %.1f s", time.Since(began).Seconds())
	return m.awaitWatched(ctx, s, began)
}

// restart ends the gateway with SIGTERM and starts it again.
func (m *run) restart(ctx context.Context, s *storm) error {
	began := time.Now()
	slow := ""
	if err := m.gateway.Stop(); err != nil {
		slow = fmt.Sprintf(" (%v)", err)
	}
	ended := time.Now()
	if _, err := m.server.count(true); err != nil { // the old gateway watched until now
		return err
	}
	if err := m.startGateway(ctx, "data"); err != nil {
		return err
	}
	s.Words = fmt.Sprintf(", ended after %.1f s%s, listening after %.1f s", ended.Sub(began).Seconds(), slow, time.Since(began).Seconds())
	return m.awaitWatched(ctx, s, began)
}

// takeOver kills the gateway while another one runs on its database.
func (m *run) takeOver(ctx context.Context, s *storm) error {
	first := m.gateway
	defer first.Kill()
	if err := m.startGateway(ctx, "data of the second"); err != nil {
		return err
	}
	if err := m.watchFor(ctx, time.Now().Add(acquaintance), nil); err != nil {
		return err
	}
	began := time.Now()
	first.Kill()
	if _, err := m.server.count(true); err != nil {
		return err
	}
	return m.awaitWatched(ctx, s, began)
}

// expireAll makes the media server refuse every URL.
func (m *run) expireAll(ctx context.Context, s *storm) error {
	began := time.Now()
	if _, err := m.server.do(order{Expire: true, Reset: true}); err != nil {
		return err
	}
	return m.awaitWatched(ctx, s, began)
}

// stallAll stops the playlists of all streams, until each has an alert.
func (m *run) stallAll(ctx context.Context, s *storm) error {
	began := time.Now().Add(beforeStall)
	if err := m.cueEach(began, livestream.Freeze); err != nil {
		return err
	}
	var alerts []webhookreceiver.Delivery
	for len(alerts) < m.n && time.Since(began) < longestStall {
		if err := m.watchFor(ctx, time.Now().Add(pollInterval), nil); err != nil {
			return err
		}
		alerts = m.alerts(began, segmentMissing)
	}
	var latencies []float64
	for _, d := range alerts {
		latencies = append(latencies, (d.Received.Sub(began) - stallLimit).Seconds())
	}
	s.AlertLatency = distributionOf(latencies)
	stalled, err := m.server.count(true)
	if err != nil {
		return err
	}
	over := time.Now()
	if err := m.cueEach(over, livestream.Thaw); err != nil {
		return err
	}
	err = m.awaitWatched(ctx, s, over)
	s.Words = fmt.Sprintf(" from the end of the stall, which took %.0f s", over.Sub(began).Seconds())
	s.counters = s.plus(stalled)
	return err
}

// cueEach adds a cue to every timeline.
func (m *run) cueEach(at time.Time, do livestream.Action) error {
	for i := range m.server.Began {
		if _, err := m.server.cue(cue{i, at, do}); err != nil {
			return err
		}
	}
	return nil
}

// plus adds what was counted before a reset.
func (c counters) plus(before counters) counters {
	c.Checks, c.Late, c.LateByInterval = c.Checks+before.Checks, c.Late+before.Late, c.LateByInterval+before.LateByInterval
	c.LargestSec = max(c.LargestSec, before.LargestSec)
	c.Questions += before.Questions
	return c
}

// alerts returns the webhooks of these types since start.
func (m *run) alerts(start time.Time, events ...string) (all []webhookreceiver.Delivery) {
	for _, d := range m.receiver.Accepted() {
		if d.Received.After(start) && slices.Contains(events, d.EventType) {
			all = append(all, d)
		}
	}
	return all
}
