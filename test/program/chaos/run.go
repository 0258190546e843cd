//go:build linux

package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// Limits of the parts of a run.
const (
	startLimit = 40 * time.Second
	calmLimit  = 40 * time.Second // from the last fault until all is as if there had been none
	endLimit   = 40 * time.Second // from the end of the streams until all is told
)

// window is how far a playlist reaches back, so that a watcher that was away
// for a while still sees everything.
const window = 64 * time.Second

// result is what came of a seed.
type result struct {
	plan     plan
	findings []string
	tally    tally
	took     time.Duration
	log      string // all that is known, for whoever looks into it
}

// play runs a seed from nothing to nothing.
func play(ctx context.Context, y yard, p plan) (r result) {
	began := time.Now()
	r.plan = p
	s, err := open(ctx, y, p)
	if err != nil {
		r.findings = []string{"the seed could not be set up: " + err.Error()}
		return r
	}
	b := books{plan: p}
	fail := func(err error) {
		if err != nil {
			b.findings = append(b.findings, err.Error())
		}
	}
	fail(s.perform(ctx, &b))
	fail(s.collect(ctx, &b))
	s.stop()
	b.lives, b.gatewayTroubles = s.keeper.history()
	fail(s.left())
	for text := range s.staff.faults {
		b.findings = append(b.findings, text)
	}
	b.deaths = s.staff.deaths
	s.mu.Lock()
	b.injected, b.missed, b.clocks = s.injected, s.missed, s.clocks
	s.mu.Unlock()
	r.findings, r.tally = b.judge()
	r.took = time.Since(began)
	r.log = s.account(b, r)
	s.close()
	return r
}

// perform is the play: streams, monitors, faults, calm, and the end.
func (s *site) perform(ctx context.Context, b *books) error {
	if err := s.await(ctx, startLimit, func(context.Context) error {
		if s.keeper.service() == nil {
			return errNoGateway
		}
		return nil
	}); err != nil {
		return fmt.Errorf("the gateway did not start: %w", err)
	}
	if err := s.register(ctx); err != nil {
		return err
	}
	polling, stopPolling := context.WithCancel(ctx)
	var pollers sync.WaitGroup
	defer pollers.Wait()
	defer stopPolling()
	for _, m := range s.monitors {
		pollers.Go(func() { s.poll(polling, m) })
	}
	s.strikeAll(ctx, s.zero, s.plan.strikes)
	pause(ctx, time.Until(s.zero.Add(lastEnd+2*time.Second)))
	s.note("all is healed")
	if err := s.await(ctx, calmLimit, s.calm); err != nil {
		b.findings = append(b.findings, "calm does not come: "+err.Error())
	}
	s.note("calm")
	if harm, ok := harms[s.options.sabotage]; ok {
		if err := harm.do(ctx, s); err != nil {
			return fmt.Errorf("sabotage: %w", err)
		}
	}
	b.findings = append(b.findings, s.inspect(ctx)...)
	for _, m := range s.monitors {
		m.ended = m.stream.End()
		s.tube.Set(m.video, youtube.Ended)
	}
	s.note("the streams end")
	s.strikeAll(ctx, time.Now(), s.plan.finale)
	if err := s.await(ctx, endLimit, s.over); err != nil {
		b.findings = append(b.findings, "the end is not told: "+err.Error())
	}
	return nil
}

// await asks until the answer is nil, twice in a row.
func (s *site) await(ctx context.Context, limit time.Duration, what func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error // that is not of the time being up
	for well := 0; ; {
		err := what(ctx)
		if err == nil {
			well++
		} else {
			well = 0
		}
		switch {
		case well == 2:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("not within %s: %w", limit, cmp.Or(last, err, ctx.Err()))
		case err != nil:
			last = err
		}
		pause(ctx, 200*time.Millisecond)
	}
}

// register puts the streams on the air and registers their monitors, as a
// client does that does not give up.
func (s *site) register(ctx context.Context) error {
	s.zero = time.Now()
	for i, script := range s.plan.scripts {
		m := &watched{script: script, video: fmt.Sprintf("seed%05d-%c", s.plan.seed, 'a'+i), live: time.Now()}
		m.polls.last = map[string]float64{}
		config := livestream.Config{Start: s.zero, Preroll: window, Window: window, Renditions: []livestream.Rendition{livestream.Muxed144p}}
		cue := func(at time.Duration, do livestream.Action) {
			config.Script = append(config.Script, livestream.Cue{At: window + at, Do: do})
		}
		for _, b := range script.black {
			cue(b.from, livestream.Black)
			cue(b.to, livestream.Picture)
		}
		for _, q := range script.silent {
			cue(q.from, livestream.Silence)
			cue(q.to, livestream.Sound)
		}
		var err error
		if m.stream, err = s.library.Start(ctx, config); err != nil {
			return fmt.Errorf("start a stream: %w", err)
		}
		s.tube.Add(m.video, youtube.Video{State: youtube.Live, Source: m.stream})
		s.monitors = append(s.monitors, m)
	}
	callback := "http://" + s.pipes[toReceiver].address() + "/webhook"
	for i, m := range s.monitors {
		key := [2]string{"Idempotency-Key", fmt.Sprintf("seed-%d-monitor-%d", s.plan.seed, i)}
		if err := s.await(ctx, startLimit, func(ctx context.Context) error {
			if m.id != "" {
				return nil
			}
			a, err := s.call(ctx, http.MethodPost, "/api/v1/monitors", map[string]any{
				"stream_url": s.tube.URL(m.video), "callback_url": callback, "metadata": map[string]any{"monitor": i},
				"config": map[string]any{
					"check_interval_sec": m.script.interval, "blackout_threshold_sec": int(threshold.Seconds()), "silence_threshold_sec": int(threshold.Seconds()),
				},
			}, key)
			if err != nil {
				return err
			}
			m.id, _ = a.Body["monitor_id"].(string)
			if a.Status != http.StatusCreated {
				return fmt.Errorf("answered with %d %v", a.Status, a.Body)
			}
			m.registered = time.Now()
			return nil
		}); err != nil {
			return fmt.Errorf("register monitor %d: %w", i, err)
		}
		s.note("monitor %d is %s", i, m.id)
	}
	return nil
}

// call makes a request to the gateway that runs.
func (s *site) call(ctx context.Context, method, path string, body any, headers ...[2]string) (system.Response, error) {
	service := s.keeper.service()
	if service == nil {
		return system.Response{}, errNoGateway
	}
	ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	return service.Call(ctx, method, path, body, headers...)
}

// calm tells what is not yet as if there had been no faults.
func (s *site) calm(ctx context.Context) error {
	l := s.keeper.newest()
	if lives, _ := s.keeper.history(); l == nil || lives[len(lives)-1].ready.IsZero() || s.keeper.service() == nil {
		return errNoGateway
	}
	for i, m := range s.monitors {
		var last time.Duration
		for _, span := range append(m.script.black, m.script.silent...) {
			last = max(last, span.to)
		}
		if !s.sawAfter(m, s.zero.Add(last)) {
			return fmt.Errorf("monitor %d has not been watched since", i)
		}
		a, err := s.call(ctx, http.MethodGet, "/api/v1/monitors/"+m.id, nil)
		if err != nil {
			return err
		}
		health, _ := a.Body["health"].(map[string]any)
		if a.Body["status"] != "monitoring" || health["video"] != "ok" || health["audio"] != "ok" {
			return fmt.Errorf("monitor %d is %v (%v), health %v", i, a.Body["status"], a.Body["reason"], health)
		}
	}
	return s.nothingPending(ctx)
}

// over tells what has not yet been told of the end.
func (s *site) over(ctx context.Context) error {
	for i, m := range s.monitors {
		a, err := s.call(ctx, http.MethodGet, "/api/v1/monitors/"+m.id, nil)
		if err != nil {
			return err
		}
		if a.Body["status"] != "completed" {
			return fmt.Errorf("monitor %d is %v (%v)", i, a.Body["status"], a.Body["reason"])
		}
	}
	return s.nothingPending(ctx)
}

func (s *site) nothingPending(ctx context.Context) error {
	return s.ask(ctx, func(db *sql.DB) error {
		var pending int
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM monitor_events WHERE webhook_status = 'pending'`).Scan(&pending); err != nil {
			return fmt.Errorf("ask for pending events: %w", err)
		}
		if pending > 0 {
			return fmt.Errorf("%d events are pending", pending)
		}
		return nil
	})
}

// left tells what is left of a service that has been stopped.
func (s *site) left() error {
	var problems []string
	deadline := time.Now().Add(3 * time.Second)
	for {
		family := s.census.fresh(s.tmp)
		if len(family) == 0 {
			break
		}
		if time.Now().After(deadline) {
			for _, p := range family {
				problems = append(problems, fmt.Sprintf("%s was left behind", p))
				p.signal(killSignal)
			}
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	problems = append(problems, s.servers()...)
	entries, _ := os.ReadDir(s.tmp)
	for _, e := range entries {
		problems = append(problems, "a temporary file was left behind: "+e.Name())
	}
	problems = append(problems, s.records()...)
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "\n"))
}
