//go:build linux

package main

import (
	"context"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// gateway is a gateway as on a machine of its own, which is started again when it has ended,
// like by systemd. All gateways of an environment share a database.
type gateway struct {
	env       *environment
	plan      gatewayPlan
	dataDir   string
	clockFile string // holds the offset of its clock and of that of its workers
	link      *link  // from its workers
	settings  []string
	loop      sync.WaitGroup
	cancel    context.CancelFunc

	mu               sync.Mutex
	service          *system.Service // of the current run; nil: it is not running
	listening, ready bool
	killed, stopped  bool          // by this program; stopped: in an orderly way
	away             time.Duration // how long it stays away after it was killed
	logs             []string      // of all runs
}

const (
	restartDelay = 100 * time.Millisecond // systemd's default RestartSec
	maxAway      = 7 * time.Second        // of one of two gateways after a kill: the other one takes its monitors over after 5 s
)

// start runs the gateway until close.
func (g *gateway) start() {
	var ctx context.Context
	ctx, g.cancel = context.WithCancel(context.Background())
	g.loop.Go(func() {
		outage := &injection{}
		for n := 0; ctx.Err() == nil; n++ {
			outage = g.runOnce(ctx, n, outage)
			pause(ctx, max(g.away, restartDelay))
		}
	})
}

// close stops the current run in an orderly way, and starts no other.
func (g *gateway) close() {
	g.cancel()
	g.loop.Wait()
}

// runOnce starts the gateway, which ends an outage, and returns when it has ended, with the outage
// that begins then. It stops the gateway when ctx is done.
func (g *gateway) runOnce(ctx context.Context, n int, outage *injection) *injection {
	settings := g.settings
	if n == 0 {
		settings = append(settings, "CRASH_AT="+g.plan.crash)
	}
	s, err := system.Launch(system.Config{Binary: g.env.binary(), DataDir: g.dataDir, Env: settings})
	if err != nil {
		g.env.audit.find("start a gateway: %v", err)
		return outage
	}
	g.change(func() {
		g.service, g.listening, g.ready, g.killed, g.stopped, g.away = s, false, false, false, false, 0
	})
	g.waitReady(ctx, s, outage)
	select {
	case <-s.Exited():
	case <-ctx.Done():
		g.change(func() { g.stopped = true })
		if err := s.Stop(); err != nil {
			g.env.audit.find("%v", err)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.service = nil
	g.logs = append(g.logs, s.Tail(2000))
	switch {
	case g.killed, g.stopped:
	case n == 0 && g.plan.crash != "" && s.Killed():
		point, _, _ := strings.Cut(g.plan.crash, ":")
		g.env.audit.count("gateway crashed at " + point)
	case g.ready: // else the database is down: the gateway has given up, and is started again
		g.env.audit.find("a gateway ended by itself; its log ends:\n%s", s.Tail(5))
	}
	if !outage.from.IsZero() && outage.to.IsZero() {
		return outage // it was never ready
	}
	outage = &injection{from: time.Now().Add(-tolerance), losesOutcomes: g.killed || !g.stopped}
	g.env.audit.addInjection(outage)
	return outage
}

// waitReady waits until a gateway listens, and then until it answers that it is ready, which ends
// an outage, or until it has ended.
func (g *gateway) waitReady(ctx context.Context, s *system.Service, outage *injection) {
	if s.WaitListening(ctx) != nil {
		return
	}
	g.change(func() { g.listening = true })
	for ctx.Err() == nil {
		if response, _ := s.Call(ctx, http.MethodGet, "/readyz", nil); response.Status == http.StatusOK {
			g.change(func() { g.ready = true })
			g.env.audit.end(outage)
			return
		}
		select {
		case <-s.Exited():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (g *gateway) change(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	do()
}

// current returns the service if it runs and listens; nil otherwise.
func (g *gateway) current() *system.Service {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.listening {
		return nil
	}
	return g.service
}

// isReady reports whether the current run has answered that it is ready.
func (g *gateway) isReady() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.service != nil && g.ready
}

// kill sends SIGKILL to the gateway, which then stays away for a while.
func (g *gateway) kill(away time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.service == nil {
		return errNoTarget
	}
	g.killed, g.away = true, away
	return g.service.Signal(syscall.SIGKILL)
}

// restart stops the gateway in an orderly way, after which it is started again.
func (g *gateway) restart() error {
	s := g.current()
	if s == nil {
		return errNoTarget
	}
	g.change(func() { g.stopped = true })
	_ = s.Signal(syscall.SIGTERM)
	return s.Wait()
}

// setClock sets the offset of the clock of the gateway and its workers. They see either the old
// file or the new one.
func (g *gateway) setClock(offset time.Duration) error {
	if err := os.WriteFile(g.clockFile+".new", []byte(offset.String()), 0o644); err != nil {
		return err
	}
	return os.Rename(g.clockFile+".new", g.clockFile)
}
