//go:build linux

package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// keeper runs the gateway and starts it again at once when it has died, as
// systemd does.
type gatewayRunner struct {
	config func(n int) system.Config // of the nth gateway, from 0
	loop   sync.WaitGroup
	cancel context.CancelFunc

	mu     sync.Mutex
	runs   []*gatewayRun
	errors []string // starts and ends that nobody asked for
}

// life is a gateway from its start to its end.
type gatewayRun struct {
	service       *system.Service
	crashExpected bool // it is to end itself
	listening     bool
	startedAt     time.Time
	readyAt       time.Time // zero: it never answered that it is
	endedAt       time.Time
	killed        bool // by us
	crashed       bool // by itself, as it was to
	stopped       bool // by us, in good order
}

// backAfter is systemd's RestartSec.
const restartDelay = 100 * time.Millisecond

func startGateways(config func(n int) system.Config, crashes []crash) *gatewayRunner {
	ctx, cancel := context.WithCancel(context.Background())
	r := &gatewayRunner{config: config, cancel: cancel}
	r.loop.Go(func() { r.runAll(ctx, crashes) })
	return r
}

func (r *gatewayRunner) runAll(ctx context.Context, crashes []crash) {
	for n := 0; ctx.Err() == nil; n++ {
		s, err := system.Launch(r.config(n))
		if err != nil {
			r.addError(err.Error())
			pause(ctx, time.Second)
			continue
		}
		run := &gatewayRun{service: s, startedAt: time.Now(), crashExpected: n < len(crashes) && crashes[n].point != ""}
		r.mu.Lock()
		r.runs = append(r.runs, run)
		r.mu.Unlock()
		r.runOne(ctx, run)
		pause(ctx, restartDelay)
	}
}

// accompany is a gateway's life.
func (r *gatewayRunner) runOne(ctx context.Context, run *gatewayRun) {
	if run.service.WaitListening(ctx) == nil {
		r.mu.Lock()
		run.listening = true
		r.mu.Unlock()
		r.waitReady(ctx, run)
	}
	select {
	case <-run.service.Exited():
	case <-ctx.Done():
		r.mu.Lock()
		run.stopped = true
		r.mu.Unlock()
		if err := run.service.Stop(); err != nil {
			r.addError(err.Error())
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	run.endedAt = time.Now()
	run.crashed = run.crashExpected && !run.killed && !run.stopped && run.service.Killed()
}

// awaitReady notes when a gateway first says that it is ready.
func (r *gatewayRunner) waitReady(ctx context.Context, run *gatewayRun) {
	for {
		if response, _ := run.service.Call(ctx, http.MethodGet, "/readyz", nil); response.Status == http.StatusOK {
			r.mu.Lock()
			run.readyAt = time.Now()
			r.mu.Unlock()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-run.service.Exited():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (r *gatewayRunner) addError(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors = append(r.errors, time.Now().Format("15:04:05.000 ")+text)
}

// newest is the latest gateway, which may just have died; nil: none was started.
func (r *gatewayRunner) latest() *gatewayRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.runs) == 0 {
		return nil
	}
	return r.runs[len(r.runs)-1]
}

func (r *gatewayRunner) isListening(run *gatewayRun) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return run.listening
}

// service is the latest gateway if it listens.
func (r *gatewayRunner) service() *system.Service {
	run := r.latest()
	if run == nil || !r.isListening(run) {
		return nil
	}
	select {
	case <-run.service.Exited():
		return nil
	default:
		return run.service
	}
}

var errNoGateway = errors.New("no gateway runs just now")

// kill ends the gateway that runs.
func (r *gatewayRunner) kill() error {
	run := r.latest()
	if run == nil {
		return errNoGateway
	}
	select {
	case <-run.service.Exited():
		return errNoGateway
	default:
	}
	r.mu.Lock()
	run.killed = true
	r.mu.Unlock()
	run.service.Kill()
	return nil
}

// restart ends the gateway that runs in good order; it comes back.
func (r *gatewayRunner) restart() error {
	run := r.latest()
	if run == nil || !r.isListening(run) {
		return errNoGateway
	}
	r.mu.Lock()
	run.stopped = true
	r.mu.Unlock()
	_ = run.service.Signal(syscall.SIGTERM)
	return run.service.Wait()
}

// history is every gateway so far.
func (r *gatewayRunner) history() (lives []gatewayRun, failures []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, run := range r.runs {
		lives = append(lives, *run)
	}
	return lives, append([]string(nil), r.errors...)
}

// close ends the gateway in good order.
func (r *gatewayRunner) close() {
	if r != nil {
		r.cancel()
		r.loop.Wait()
	}
}
