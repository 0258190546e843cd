package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// The circuit breaker of each tool (section 10.3).
const (
	BreakerFailures = 5                // in a row, that open it
	BreakerOpen     = 30 * time.Second // until one question is let through on trial
	BreakerTrials   = 1                // that must succeed to close it again
)

// Finder is a Resolver of two: it asks a primary, and a fallback when the
// primary could not find out and another tool may (section 5.2).
//
//	primary ──▶ answers ─────────────────────────────▶ that
//	   │
//	   └─ blocked, unreachable, failed, circuit open
//	          └▶ fallback ─▶ a manifest, or an answer ▶ that
//	                  └─ not either ──────────────────▶ what the primary said
//
// Each has a circuit breaker of its own, so that a tool that fails all the time
// costs a process only every half minute. What counts as a failure is not to
// learn anything: a private video is an answer, and a manifest is a success.
// Finder may be used concurrently, for one stream or for many.
type Finder struct {
	primary, fallback *guarded
	now               func() time.Time
}

// NewFinder makes a Finder. now is the watcher's clock.
func NewFinder(primary, fallback Resolver, now func() time.Time, log *slog.Logger) *Finder {
	log = log.With("component", "finder")
	return &Finder{
		primary:  guard("primary", primary, log),
		fallback: guard("fallback", fallback, log),
		now:      now,
	}
}

// Resolve implements Resolver. It blocks for as long as both may.
func (f *Finder) Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	began := f.now()
	answer := f.ask(ctx, url)
	answer.Began = began
	return answer
}

func (f *Finder) ask(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	first := f.primary.ask(ctx, url)
	if found(first) || ctx.Err() != nil {
		return first
	}
	second := f.fallback.ask(ctx, url)
	if found(second) {
		if second.Detail == "" {
			second.Detail = said(first)
		}
		return second
	}
	first.Detail = shorten(first.Detail, detailShare) + "; " + said(second)
	return first
}

// found tells whether something was learned.
func found(r watch.Resolution) bool { return r.State.Answers() || r.State == watch.ManifestFound }

// detailShare is how much of a Detail remains when two are told in one, in
// bytes; adapters give at most 300.
const detailShare = 140

// said is a short form of an answer for another's Detail.
func said(r watch.Resolution) string {
	detail := shorten(r.Detail, detailShare)
	if r.Source == "" || r.Detail == "" {
		return r.Source + detail
	}
	return r.Source + ": " + detail
}

func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := 0
	for i := range s {
		if i > limit-len("…") {
			break
		}
		cut = i
	}
	return s[:cut] + "…"
}

// errNothingLearned is what a breaker counts.
var errNothingLearned = errors.New("nothing learned")

// guarded is a Resolver behind its circuit breaker.
type guarded struct {
	resolver Resolver
	breaker  *gobreaker.CircuitBreaker[watch.Resolution]

	mu   sync.Mutex
	last watch.Resolution // the last failure, told while the circuit is open
}

func guard(name string, r Resolver, log *slog.Logger) *guarded {
	g := &guarded{resolver: r}
	g.breaker = gobreaker.NewCircuitBreaker[watch.Resolution](gobreaker.Settings{
		Name:        name,
		MaxRequests: BreakerTrials,
		Timeout:     BreakerOpen,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= BreakerFailures },
		// A question that its caller took back says nothing about the tool.
		IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			g.logChange(log, from, to)
		},
	})
	return g
}

// ask puts the question, or answers CircuitOpen with the failure that opened
// the circuit, so that whoever reads it learns the cause and not the symptom.
func (g *guarded) ask(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	answer, err := g.breaker.Execute(func() (watch.Resolution, error) {
		r := g.resolver.Resolve(ctx, url)
		switch {
		case found(r):
			return r, nil
		case errors.Is(ctx.Err(), context.Canceled):
			return r, ctx.Err()
		}
		g.remember(r)
		return r, errNothingLearned
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		last := g.recall()
		return watch.Resolution{State: watch.CircuitOpen, Source: last.Source, Detail: "not asked after failing repeatedly: " + last.Detail}
	}
	return answer
}

func (g *guarded) remember(r watch.Resolution) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = r
}

func (g *guarded) recall() watch.Resolution {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last
}

func (g *guarded) logChange(log *slog.Logger, from, to gobreaker.State) {
	last := g.recall()
	switch {
	case to == gobreaker.StateOpen && from == gobreaker.StateClosed:
		log.Warn("A tool fails repeatedly and is given a rest", "tool", last.Source, "rest_sec", BreakerOpen.Seconds(), "detail", last.Detail)
	case to == gobreaker.StateClosed:
		log.Info("A tool works again", "tool", last.Source)
	}
}
