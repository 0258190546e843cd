package fallback

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
	MaxFailures = 5                // failures in a row that open the circuit
	OpenTime    = 30 * time.Second // until a trial run
	Trials      = 1                // successful trial runs that close the circuit
)

var (
	errNothingLearned = errors.New("nothing learned") // the breaker counts the run as a failure
	errNotRun         = errors.New("not run")         // another breaker did not let it run; neither a success nor a failure
)

// breakers are the circuit breakers of a tool, one for each source and egress address. An address that
// a source refuses does not keep the tool from asking through another, nor from asking other sources.
type breakers struct {
	name    string
	streams int // see newBreaker
	log     *slog.Logger

	mu    sync.Mutex
	known map[breakerKey]*breaker
}

type breakerKey struct {
	source  monitor.SourceName // empty: the tool is of one source
	address string             // its name; empty: there is no choice of addresses
}

func newBreakers(name string, streams int, log *slog.Logger) *breakers {
	return &breakers{name: name, streams: streams, log: log, known: map[breakerKey]*breaker{}}
}

// of returns the breaker for a question.
func (b *breakers) of(key breakerKey) *breaker {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known[key] == nil {
		log := b.log
		if key.source != "" {
			log = log.With("source", key.source)
		}
		if key.address != "" {
			log = log.With("egress", key.address)
		}
		b.known[key] = newBreaker(b.name, b.streams, log)
	}
	return b.known[key]
}

// breaker is the circuit breaker of a tool, for one stream or for those of a host.
type breaker struct {
	circuit *gobreaker.CircuitBreaker[watch.Resolution]

	mu          sync.Mutex
	lastFailure watch.Resolution    // returned while the circuit is open
	failed      map[string]struct{} // the streams, or the channels, whose runs have failed since the last success
}

// newBreaker makes a breaker that opens when the last MaxFailures runs have failed, if they
// were about at least that many different streams. The breaker of one stream has 1.
func newBreaker(name string, streams int, log *slog.Logger) *breaker {
	b := &breaker{failed: map[string]struct{}{}}
	b.circuit = gobreaker.NewCircuitBreaker[watch.Resolution](gobreaker.Settings{
		Name:        name,
		MaxRequests: Trials,
		Timeout:     OpenTime,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.ConsecutiveFailures >= MaxFailures && b.failedStreams() >= streams
		},
		// A cancelled run says nothing about the tool.
		IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) || errors.Is(err, errNotRun) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			b.logChange(log, from, to)
		},
	})
	return b
}

// resolve runs a tool about a stream or a channel, or answers CircuitOpen. The
// answer has the failure that opened the circuit, because an operator needs the cause.
func (b *breaker) resolve(ctx context.Context, about string, run func() watch.Resolution) watch.Resolution {
	answer, err := b.circuit.Execute(func() (watch.Resolution, error) {
		r := run()
		switch {
		case learned(r):
			b.forgetFailures()
			return r, nil
		case errors.Is(ctx.Err(), context.Canceled):
			return r, ctx.Err()
		case r.State == watch.CircuitOpen:
			return r, errNotRun
		}
		b.setLastFailure(about, r)
		return r, errNothingLearned
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		last := b.getLastFailure()
		return watch.Resolution{State: watch.CircuitOpen, Source: last.Source, Detail: last.Detail}
	}
	return answer
}

func (b *breaker) forgetFailures() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.failed)
}

func (b *breaker) failedStreams() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.failed)
}

func (b *breaker) setLastFailure(about string, r watch.Resolution) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lastFailure = r
	b.failed[about] = struct{}{}
}

func (b *breaker) getLastFailure() watch.Resolution {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lastFailure
}

func (b *breaker) logChange(log *slog.Logger, from, to gobreaker.State) {
	last := b.getLastFailure()
	switch {
	case to == gobreaker.StateOpen && from == gobreaker.StateClosed:
		log.Warn("A tool fails repeatedly; it is not run for a while",
			"tool", last.Source, "state", last.State, "detail", last.Detail, "pause_sec", OpenTime.Seconds(), "advice", advice(last))
	case to == gobreaker.StateClosed:
		log.Info("A tool works again", "tool", last.Source)
	}
}

// advice returns what an operator can do about a tool that fails repeatedly.
func advice(last watch.Resolution) string {
	switch last.State {
	case watch.Blocked, watch.RateLimited:
		return "the source refuses this address; wait, or use further addresses (EGRESS_PROXIES)"
	case watch.NameUnresolved, watch.ProxyFailed, watch.Unreachable:
		return "check DNS, proxy and firewall of this machine: stream-monitor doctor"
	}
	return "check that the tool is installed and up to date: stream-monitor doctor"
}
