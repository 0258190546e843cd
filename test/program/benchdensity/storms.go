//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
)

const (
	betweenStorms  = 20 * time.Second
	acquaintance   = 10 * time.Second // in which two gateways have seen each other's heartbeats
	stallLimit     = time.Minute      // decision S6: a playlist that has not moved for so long has stalled
	longestStall   = 3 * time.Minute  // a stall ends when all streams have an alert, or after this
	segmentMissing = "alert.segment_error"
)

// storm is something that happened to all streams at once, and what it cost.
type storm struct {
	Name    string
	TookSec float64 // until the last stream was watched again
	Words   string  // how long its steps took, for people

	counters // until then

	CPUSec  parts  // until then, in all
	Failure string // why it was not measured to its end; empty: it was

	Alerts bench.Times // about missing media, from the storm and stallLimit to the webhook
}

// print prints a storm as one line.
func (s storm) print(streams int) {
	if s.Failure != "" {
		line(s.Name, "%s", s.Failure)
		return
	}
	alerts := fmt.Sprintf("%d alerts", len(s.Alerts))
	if len(s.Alerts) > 0 {
		alerts += fmt.Sprintf(", after %s: %s", stallLimit, s.Alerts)
	}
	line(s.Name, "%d of %d watched after %.1f s%s; %d questions; %d checks, %s; CPU %.0f s; %s",
		s.Watched, streams, s.TookSec, s.Words, s.Questions, s.Checks, s.late(), s.CPUSec.all(), alerts)
}

// measureStorms makes and measures one storm after the other. If one is not over in time, the
// next one follows all the same.
func (m *run) measureStorms(ctx context.Context, r *result) error {
	var errs []error
	for _, one := range []struct {
		name    string
		measure func(context.Context, *storm) (time.Time, error)
	}{{"restart", m.restart}, {"takeover", m.takeOver}, {"all URLs expire", m.expireAll}, {"all playlists stall", m.stallAll}} {
		say("%d streams: %s, in %s", m.n, one.name, betweenStorms)
		if err := m.watchUntil(ctx, time.Now().Add(betweenStorms)); err != nil {
			return errors.Join(append(errs, err)...) // interrupted, or the gateway has ended
		}
		errs = append(errs, m.measureStorm(ctx, r, one.name, one.measure))
	}
	return errors.Join(errs...)
}

// measureStorm measures one storm from its beginning until every stream is watched again. start
// makes it, and returns when it began.
func (m *run) measureStorm(ctx context.Context, r *result, name string, start func(context.Context, *storm) (time.Time, error)) error {
	s := storm{Name: name}
	tree, before, called := m.tree, m.usage(), time.Now()
	m.media.traffic.reset()
	began, err := start(ctx, &s)
	if err == nil {
		meanwhile := s.counters // of a stall
		err = m.awaitWatched(ctx, &s.counters, nil)
		s.TookSec = s.WatchedAt.Sub(began).Seconds()
		s.add(meanwhile)
	}
	if err != nil {
		s.Failure = fmt.Sprintf("not measured: %v", err)
	}
	m.keepPeak(&r.Peak)
	if m.tree != tree { // a restart: other processes
		before = usage{postgres: before.postgres, program: before.program}
	}
	s.CPUSec = partsOf(before, m.usage(), 1)
	s.Alerts = m.outages(called)
	r.Storms = append(r.Storms, s)
	return err
}

// add adds what was counted before a reset.
func (c *counters) add(before counters) {
	c.Checks, c.Late, c.LateByInterval = c.Checks+before.Checks, c.Late+before.Late, c.LateByInterval+before.LateByInterval
	c.LargestSec = max(c.LargestSec, before.LargestSec)
	c.Questions += before.Questions
}

// outages returns how long after start and stallLimit the alerts about missing media came.
func (m *run) outages(start time.Time) (all bench.Times) {
	for _, d := range m.receiver.Accepted() {
		if d.Received.After(start) && d.EventType == segmentMissing {
			all = append(all, d.Received.Sub(start)-stallLimit)
		}
	}
	return all
}

// registerAtOnce registers all streams as fast as the API takes them.
func (m *run) registerAtOnce(ctx context.Context, s *storm) (began time.Time, err error) {
	began = time.Now()
	var all sync.WaitGroup
	errs := make([]error, registrants)
	for i := range registrants {
		all.Go(func() {
			for k := i; k < m.n && errs[i] == nil; k += registrants {
				errs[i] = m.register(ctx, k)
			}
		})
	}
	all.Wait()
	s.Words = fmt.Sprintf(", created after %.1f s", time.Since(began).Seconds())
	return began, errors.Join(errs...)
}

// restart ends the gateway with SIGTERM and starts it again.
func (m *run) restart(ctx context.Context, s *storm) (began time.Time, err error) {
	began = time.Now()
	slow := ""
	if err := m.gateway.Stop(); err != nil {
		slow = fmt.Sprintf(" (%v)", err)
	}
	ended := time.Now()
	m.media.traffic.reset() // the old gateway watched until now
	err = m.startGateway(ctx, "data")
	s.Words = fmt.Sprintf(", ended after %.1f s%s, listening after %.1f s", ended.Sub(began).Seconds(), slow, time.Since(began).Seconds())
	return began, err
}

// takeOver kills the gateway while another one runs on its database.
func (m *run) takeOver(ctx context.Context, _ *storm) (began time.Time, err error) {
	first := m.gateway
	defer first.Kill()
	if err := m.startGateway(ctx, "data of the second"); err != nil {
		return began, err
	}
	if err := m.watchUntil(ctx, time.Now().Add(acquaintance)); err != nil {
		return began, err
	}
	began = time.Now()
	first.Kill()
	m.media.traffic.reset()
	return began, nil
}

// expireAll makes the media server refuse every URL.
func (m *run) expireAll(context.Context, *storm) (began time.Time, err error) {
	began = time.Now()
	for k := range m.n {
		m.media.ExpireNow(videoID(k))
	}
	m.media.traffic.reset()
	return began, nil
}

// stallAll stops the playlists of all streams, until each has an alert.
func (m *run) stallAll(ctx context.Context, s *storm) (over time.Time, err error) {
	began := time.Now()
	for i := range m.media.timelines {
		m.media.cue(i, began, livestream.Freeze)
	}
	for len(m.outages(began)) < m.n && time.Since(began) < longestStall {
		if err := m.watchUntil(ctx, time.Now().Add(scanInterval)); err != nil {
			return began, err
		}
	}
	s.counters = m.media.traffic.reset()
	over = time.Now()
	for i := range m.media.timelines {
		m.media.cue(i, over, livestream.Thaw)
	}
	s.Words = fmt.Sprintf(" from the end of the stall, which took %.0f s", over.Sub(began).Seconds())
	return over, nil
}
