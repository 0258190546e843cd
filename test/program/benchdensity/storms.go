package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
)

const (
	registrants    = 16 // callers that register streams at once
	betweenStorms  = 20 * time.Second
	acquaintance   = 10 * time.Second // in which two gateways have seen each other's heartbeats
	stallLimit     = time.Minute      // decision S6: a playlist that has not moved for so long has stalled
	longestStall   = 3 * time.Minute  // a stall ends when all streams have an alert, or after this
	segmentMissing = "alert.segment_error"
)

// storm is something that happened to all streams at once, and what it cost.
type storm struct {
	Name     string
	TookSec  float64            // until the last stream was watched again; of a stall, from its end
	StepsSec map[string]float64 `json:",omitempty"` // from the beginning to the end of its steps

	counters // until then

	CPUSec parts       // until then, in all
	Alerts bench.Times // about missing media, from the storm and stallLimit to the webhook

	began time.Time
}

// step notes that a step has ended.
func (s *storm) step(name string) { s.StepsSec[name] = time.Since(s.began).Seconds() }

// measureStorms makes and measures one storm after the other. If one is not over in time, the
// next one follows all the same.
func (m *run) measureStorms(ctx context.Context) error {
	var errs []error
	for _, one := range []struct {
		name string
		make func(context.Context, *storm) error
	}{{"restart", m.restart}, {"takeover", m.takeOver}, {"all URLs expire", m.expireAll}, {"all playlists stall", m.stallAll}} {
		if err := m.waitUntil(ctx, time.Now().Add(betweenStorms)); err != nil {
			return errors.Join(append(errs, err)...) // interrupted, or the gateway has ended
		}
		errs = append(errs, m.measureStorm(ctx, one.name, one.make))
	}
	return errors.Join(errs...)
}

// measureStorm measures one storm from its beginning until every stream is watched again. A storm
// that begins later than it is made sets the time.
func (m *run) measureStorm(ctx context.Context, name string, do func(context.Context, *storm) error) error {
	say("%d streams: %s", m.n, name)
	gateway, before, called := m.gateway, m.usage(), time.Now()
	s := storm{Name: name, StepsSec: map[string]float64{}, began: called}
	m.media.traffic.reset()
	err := do(ctx, &s)
	if err == nil {
		meanwhile := s.counters // of a stall
		err = m.awaitWatched(ctx, &s.counters)
		s.TookSec = s.WatchedAt.Sub(s.began).Seconds()
		s.add(meanwhile)
	}
	m.keepPeak()
	if m.gateway != gateway { // a restart: other processes
		before = usage{postgres: before.postgres, program: before.program}
	}
	s.CPUSec = partsOf(before, m.usage(), 1)
	s.Alerts = m.outages(called)
	m.result.Storms = append(m.result.Storms, s)
	return err
}

// add adds what was counted before a reset.
func (c *counters) add(before counters) {
	c.Checks, c.Late, c.Questions = c.Checks+before.Checks, c.Late+before.Late, c.Questions+before.Questions
	c.LargestSec = max(c.LargestSec, before.LargestSec)
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
func (m *run) registerAtOnce(ctx context.Context, s *storm) error {
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
	s.step("created")
	return errors.Join(errs...)
}

// restart ends the gateway with SIGTERM and starts it again. A gateway that ends too late is no error.
func (m *run) restart(ctx context.Context, s *storm) error {
	if err := m.gateway.Stop(); err != nil {
		say("the gateway: %v", err)
	}
	s.step("ended")
	m.media.traffic.reset() // the old gateway watched until now
	err := m.startGateway(ctx, "data")
	s.step("listening")
	return err
}

// takeOver kills the gateway while another one runs on its database.
func (m *run) takeOver(ctx context.Context, s *storm) error {
	first := m.gateway
	defer first.Kill()
	if err := m.startGateway(ctx, "data of the second"); err != nil {
		return err
	}
	if err := m.waitUntil(ctx, time.Now().Add(acquaintance)); err != nil {
		return err
	}
	s.began = time.Now()
	first.Kill()
	m.media.traffic.reset()
	return nil
}

// expireAll makes the media server refuse every URL.
func (m *run) expireAll(context.Context, *storm) error {
	for k := range m.n {
		m.media.ExpireNow(videoID(k))
	}
	m.media.traffic.reset()
	return nil
}

// stallAll stops the playlists of all streams, until each has an alert.
func (m *run) stallAll(ctx context.Context, s *storm) error {
	m.cueAll(s.began, livestream.Freeze)
	for len(m.outages(s.began)) < m.n && time.Since(s.began) < longestStall {
		if err := m.waitUntil(ctx, time.Now().Add(pollInterval)); err != nil {
			return err
		}
	}
	s.counters = m.media.traffic.reset()
	s.step("stalled")
	s.began = time.Now()
	m.cueAll(s.began, livestream.Thaw)
	return nil
}

func (m *run) cueAll(at time.Time, do livestream.Action) {
	for i := range m.media.timelines {
		m.media.cue(i, at, do)
	}
}
