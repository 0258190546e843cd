//go:build linux

package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// gateway is a gateway as on a machine of its own, which is started again when it has ended,
// like by systemd. All gateways of an environment share a database.
type gateway struct {
	index     int
	dataDir   string
	clockFile string                    // holds the offset of its clock and of that of its workers
	link      *link                     // from its workers
	config    func(n int) system.Config // of the nth run, from 0
	crashes   []crash                   // of its first, second, … run
	loop      sync.WaitGroup
	cancel    context.CancelFunc

	mu     sync.Mutex
	runs   []*gatewayRun
	down   time.Duration // how long it stays away after it was killed
	errors []string      // of starting and stopping
}

// gatewayRun is one run of a gateway, from its start to its end.
type gatewayRun struct {
	gateway   int // index
	service   *system.Service
	crash     crash // with which it was started
	listening bool
	startedAt time.Time
	readyAt   time.Time // zero: never
	endedAt   time.Time
	killed    bool // killed by this program
	crashed   bool // ended by itself at its crash point
	stopped   bool // stopped by this program in an orderly way
}

// restartDelay is systemd's default RestartSec.
const restartDelay = 100 * time.Millisecond

var errNoGateway = errors.New("no gateway is running")

// start runs the gateway until close.
func (g *gateway) start() {
	var ctx context.Context
	ctx, g.cancel = context.WithCancel(context.Background())
	g.loop.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			g.runOnce(ctx, n)
			g.mu.Lock()
			down := max(g.down, restartDelay)
			g.down = 0
			g.mu.Unlock()
			pause(ctx, down)
		}
	})
}

// close stops the current run in an orderly way, and starts no other.
func (g *gateway) close() {
	g.cancel()
	g.loop.Wait()
}

// change changes what is known of the runs.
func (g *gateway) change(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

// runOnce starts the gateway and returns when it has ended. It stops it when ctx is done.
func (g *gateway) runOnce(ctx context.Context, n int) {
	fail := func(err error) {
		if err != nil {
			g.change(func() { g.errors = append(g.errors, formatTime(time.Now())+" "+err.Error()) })
		}
	}
	s, err := system.Launch(g.config(n))
	if err != nil {
		fail(err)
		return
	}
	run := &gatewayRun{gateway: g.index, service: s, startedAt: time.Now()}
	if n < len(g.crashes) {
		run.crash = g.crashes[n]
	}
	g.change(func() { g.runs = append(g.runs, run) })
	if s.WaitListening(ctx) == nil {
		g.change(func() { run.listening = true })
		if isReady(ctx, s) {
			g.change(func() { run.readyAt = time.Now() })
		}
	}
	select {
	case <-s.Exited():
	case <-ctx.Done():
		g.change(func() { run.stopped = true })
		fail(s.Stop())
	}
	g.change(func() {
		run.endedAt = time.Now()
		run.crashed = run.crash.point != "" && !run.killed && !run.stopped && s.Killed()
	})
}

// isReady waits until a gateway answers that it is ready. It returns false if that does not happen.
func isReady(ctx context.Context, s *system.Service) bool {
	for ctx.Err() == nil && !hasExited(s) {
		if response, _ := s.Call(ctx, http.MethodGet, "/readyz", nil); response.Status == http.StatusOK {
			return true
		}
		pause(ctx, 50*time.Millisecond)
	}
	return false
}

func hasExited(s *system.Service) bool {
	select {
	case <-s.Exited():
		return true
	default:
		return false
	}
}

// current returns the current run; nil if the gateway is not running.
func (g *gateway) current() *gatewayRun {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := len(g.runs); n > 0 && !hasExited(g.runs[n-1].service) {
		return g.runs[n-1]
	}
	return nil
}

// service is the current service; nil if none is listening.
func (g *gateway) service() (s *system.Service) {
	if run := g.current(); run != nil {
		g.change(func() {
			if run.listening {
				s = run.service
			}
		})
	}
	return s
}

// ready reports whether the current run has answered that it is ready.
func (g *gateway) ready() (is bool) {
	if run := g.current(); run != nil {
		g.change(func() { is = !run.readyAt.IsZero() })
	}
	return is
}

// kill sends SIGKILL to the gateway, which then stays away for a while.
func (g *gateway) kill(down time.Duration) error {
	run := g.current()
	if run == nil {
		return errNoGateway
	}
	g.change(func() { run.killed, g.down = true, down })
	run.service.Kill()
	return nil
}

// restart stops the gateway in an orderly way, after which it is started again.
func (g *gateway) restart() error {
	s := g.service()
	if s == nil {
		return errNoGateway
	}
	g.change(func() { g.runs[len(g.runs)-1].stopped = true })
	_ = s.Signal(syscall.SIGTERM)
	return s.Wait()
}

// history returns every run so far and the errors of starting and stopping them.
func (g *gateway) history() (runs []gatewayRun, errs []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, run := range g.runs {
		runs = append(runs, *run)
	}
	return runs, slices.Clone(g.errors)
}
