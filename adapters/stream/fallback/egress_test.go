package fallback_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/fallback"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

// fakeEgress chooses the address that a test says.
type fakeEgress struct {
	mu        sync.Mutex
	address   string
	delay     time.Duration
	preferred []string // address of each question
	recorded  []string
}

func (e *fakeEgress) Delay(monitor.StreamURL, string) time.Duration { return e.delay }

func (e *fakeEgress) Other(_ monitor.StreamURL, avoided string) string { return "not " + avoided }

func (e *fakeEgress) Choose(_ monitor.StreamURL, preferred string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.preferred = append(e.preferred, preferred)
	return e.address
}

func (e *fakeEgress) Record(_ monitor.StreamURL, address string, u watch.Urgency, state watch.StreamState) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.recorded = append(e.recorded, fmt.Sprintf("%s %d %s", address, u, state))
}

func TestAClaimIsConfirmedThroughAnotherAddress(t *testing.T) { // S19
	tool, e := &fakeTool{answer: live}, &fakeEgress{address: "b"}
	f := fallback.NewResolver(tool, tool, e, nil, discardLog)
	f.Resolve(request.WithAvoidedEgress(asked(t.Context(), watch.UrgencyStart), "a"), watched)
	expect.Equal(t, "it prefers", e.preferred, []string{"not a"})
}

func TestBothToolsUseTheChosenAddress(t *testing.T) {
	ytdlp, streamlink, e := &fakeTool{answer: live, refusedAt: "a"}, &fakeTool{answer: live}, &fakeEgress{address: "a"}
	f := fallback.NewResolver(ytdlp, streamlink, e, nil, discardLog)
	got := f.Resolve(request.WithEgress(asked(t.Context(), watch.UrgencyOutage), "b"), watched)
	if got.Egress != "a" || !slices.Equal(ytdlp.through, []string{"a"}) || !slices.Equal(streamlink.through, []string{"a"}) || !slices.Equal(e.preferred, []string{"b"}) {
		t.Errorf("got %+v; asked through %v and %v, preferred %v", got, ytdlp.through, streamlink.through, e.preferred)
	}
}

func TestTheAnswerOfThePrimaryDecidesAboutTheAddress(t *testing.T) {
	for name, c := range map[string]struct {
		primary, secondary watch.StreamState
		want               []string
	}{
		"an answer": {watch.Upcoming, "", []string{"a 1 upcoming"}},
		"a refusal, although the other tool finds a manifest": {watch.Blocked, watch.ManifestFound, []string{"a 1 blocked"}},
		"a broken tool, beside a refusal":                     {watch.ToolFailed, watch.RateLimited, []string{"a 1 rate_limited"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &fakeEgress{address: "a"}
			primary, secondary := &fakeTool{answer: watch.Resolution{State: c.primary}}, &fakeTool{answer: watch.Resolution{State: c.secondary}}
			fallback.NewResolver(primary, secondary, e, nil, discardLog).Resolve(t.Context(), watched)
			expect.Equal(t, "recorded", e.recorded, c.want)
		})
	}
	t.Run("nothing, if the question was cancelled", func(t *testing.T) {
		e, ctx := &fakeEgress{address: "a"}, t.Context()
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		tool := &fakeTool{duration: time.Hour}
		fallback.NewResolver(tool, tool, e, nil, discardLog).Resolve(ctx, watched)
		if len(e.recorded) != 0 {
			t.Errorf("recorded %q", e.recorded)
		}
	})
}

func TestEachAddressHasACircuitOfItsOwn(t *testing.T) {
	for name, host := range map[string]*fallback.Host{"of a stream": nil, "of a host": fallback.NewHost(4, discardLog)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tool, e := &fakeTool{answer: live, refusedAt: "a"}, &fakeEgress{address: "a"}
				shared := fallback.NewResolver(tool, tool, e, host, discardLog)
				resolve := func(n int) watch.StreamState {
					if host != nil { // each of its streams has a resolver
						shared = fallback.NewResolver(tool, tool, e, host, discardLog)
					}
					return shared.Resolve(t.Context(), streamOf(n)).State
				}
				for n := range fallback.MaxFailures {
					resolve(n)
				}
				expect.Equal(t, "through the refused address", resolve(10), watch.CircuitOpen)
				e.address = "b"
				expect.Equal(t, "through another one", resolve(10), watch.Live)
			})
		})
	}
}

func TestTheBudgetHoldsBackPollsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &fakeEgress{address: "a", delay: time.Minute}
		f := fallback.NewResolver(&fakeTool{answer: live}, &fakeTool{answer: live}, e, nil, discardLog)
		took := func(ctx context.Context) time.Duration {
			began := time.Now()
			f.Resolve(ctx, watched)
			return time.Since(began)
		}
		for u, want := range map[watch.Urgency]time.Duration{watch.UrgencyPoll: time.Minute, watch.UrgencyStart: 0, watch.UrgencyOutage: 0} {
			expect.Equal(t, fmt.Sprintf("urgency %d: asked after", u), took(asked(t.Context(), u)), want)
		}
		failing := worker.NewPriority(watch.UrgencyPoll)
		time.AfterFunc(10*time.Second, func() { failing.Raise(watch.UrgencyOutage) })
		expect.Equal(t, "a stream that fails after 10 s was asked about after", took(worker.WithPriority(t.Context(), failing)), 10*time.Second)
		cancelled, cancel := context.WithTimeout(asked(t.Context(), watch.UrgencyPoll), time.Second)
		defer cancel()
		expect.Equal(t, "a cancelled poll took", took(cancelled), time.Second)
	})
}
