package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/fallback"
	"github.com/stream-monitor/stream-monitor/adapters/stream/proxies"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// waitingStreams are streams of Twitch that wait, which the workers of one process watch. Helix is asked about them every 30 s. It is
// the gateway and the tool of all. A run of the tool takes toolTime. No stream begins.
type waitingStreams struct {
	worker.Gateway

	mu            sync.Mutex
	pushedAt      time.Time // when a start of each of login_… was pushed; zero: not yet
	running, most int
	asked         map[monitor.StreamURL][]time.Time // when the tool was run
}

const toolTime = 4 * time.Second

func (w *waitingStreams) Assignment(_ context.Context, id monitor.ID, generation int) (monitor.Assignment, error) {
	return monitor.Assignment{ID: id, Generation: generation, StreamURL: monitor.StreamURL("https://www.twitch.tv/" + id), Config: monitor.DefaultConfig()}, nil
}

func (w *waitingStreams) Report(_ context.Context, id monitor.ID, _ monitor.Report) (monitor.Answer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := monitor.OfficialState{Status: monitor.StreamUpcoming, AskedAt: time.Now().Truncate(30 * time.Second)}
	if strings.HasPrefix(string(id), "login_") && time.Since(w.pushedAt) < 30*time.Second {
		said = monitor.OfficialState{Status: monitor.StreamLive, AskedAt: w.pushedAt}
	}
	said.AgeSec = time.Since(said.AskedAt).Seconds()
	return monitor.Answer{Order: monitor.Run, OfficialState: &said}, nil
}

func (w *waitingStreams) Resolve(_ context.Context, url monitor.StreamURL) watch.Resolution {
	w.mu.Lock()
	w.running++
	w.most = max(w.most, w.running)
	w.asked[url] = append(w.asked[url], time.Now())
	w.mu.Unlock()
	time.Sleep(toolTime)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	return watch.Resolution{State: watch.Upcoming}
}

func (w *waitingStreams) push() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pushedAt, w.most = time.Now(), 0
}

func TestAHundredPushedStartsAreAskedAboutWithinTheSlotsOfTools(t *testing.T) { // S28, section 10.3
	const slots, pushed = 16, 100
	for name, budget := range map[string]int{"without a budget": 0, "with a budget that polls use up": 1200} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, w := slog.New(slog.DiscardHandler), &waitingStreams{asked: map[monitor.StreamURL][]time.Time{}}
				host, chooser := fallback.NewHost(slots, log), proxies.NewChooser(must.Get(proxies.Parse(""))(t), budget, log)
				ctx, cancel := context.WithCancel(t.Context())
				var working sync.WaitGroup
				for n := range pushed + 20 {
					id := monitor.ID(fmt.Sprintf("login_%d", n))
					if n >= pushed {
						id = monitor.ID(fmt.Sprintf("other_%d", n))
					}
					ports := worker.Ports{Gateway: w, Resolver: fallback.NewResolver(w, w, chooser, host, log)}
					working.Go(func() {
						_ = worker.New(ports, worker.Config{ID: id, Generation: 1, NewEventID: func() string { return string(id) }, Log: log}).Run(ctx)
					})
				}
				time.Sleep(10*time.Minute + 7*time.Second)
				w.push()
				time.Sleep(6 * time.Minute)
				cancel()
				working.Wait()
				expect.Equal(t, "tools that run at once", w.most, slots)
				var last time.Duration
				for url, asked := range w.asked {
					for n, at := range asked[1:] {
						if apart := at.Sub(asked[n]); apart > 5*time.Minute {
							t.Errorf("%s was not asked about for %v", url, apart)
						}
					}
					if after := slices.IndexFunc(asked, w.pushedAt.Before); strings.Contains(string(url), "/login_") {
						last = max(last, asked[after].Sub(w.pushedAt))
					}
				}
				if limit := 10*time.Second + (pushed/slots+1)*toolTime; last > limit {
					t.Errorf("the last stream is asked about %v after the pushes, want %v at most", last, limit)
				}
			})
		})
	}
}
