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

// gateway is a gateway as on a machine of its own. All gateways of an environment share a
// database.
type gateway struct {
	*gatewayRunner
	dataDir   string
	clockFile string // holds the offset of its clock and of that of its workers
	clock     []clockSetting
	recorder  *reportRecorder
	link      *link // from its workers to the recorder
}

// gatewayRunner runs a gateway and starts it again when it has ended, like
// systemd.
type gatewayRunner struct {
	config func(n int) system.Config // of the nth run, from 0
	loop   sync.WaitGroup
	cancel context.CancelFunc

	mu     sync.Mutex
	runs   []*gatewayRun
	down   time.Duration // how long it stays away after it was killed; 0: restartDelay
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

func startGateway(index int, config func(n int) system.Config, crashes []crash) *gatewayRunner {
	ctx, cancel := context.WithCancel(context.Background())
	r := &gatewayRunner{config: config, cancel: cancel}
	r.loop.Go(func() { r.runAll(ctx, index, crashes) })
	return r
}

func (r *gatewayRunner) runAll(ctx context.Context, index int, crashes []crash) {
	for n := 0; ctx.Err() == nil; n++ {
		s, err := system.Launch(r.config(n))
		if err != nil {
			r.addError(err.Error())
			pause(ctx, time.Second)
			continue
		}
		run := &gatewayRun{gateway: index, service: s, startedAt: time.Now()}
		if n < len(crashes) {
			run.crash = crashes[n]
		}
		r.mu.Lock()
		r.runs = append(r.runs, run)
		r.mu.Unlock()
		r.runOne(ctx, run)
		pause(ctx, r.takeDown())
	}
}

// takeDown returns how long the gateway that has ended stays away.
func (r *gatewayRunner) takeDown() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	down := max(r.down, restartDelay)
	r.down = 0
	return down
}

// runOne follows one gateway until it has ended. It stops the gateway when ctx
// is done.
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
	run.crashed = run.crash.point != "" && !run.killed && !run.stopped && run.service.Killed()
}

// waitReady records when a gateway first answers that it is ready.
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

// latest is the run that was started last, which may have ended; nil before the
// first start.
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

// service is the current gateway; nil if none is listening.
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

var errNoGateway = errors.New("no gateway is running")

// isReady reports whether the current gateway has answered that it is ready.
func (r *gatewayRunner) isReady() bool {
	run := r.latest()
	r.mu.Lock()
	defer r.mu.Unlock()
	return run != nil && !run.readyAt.IsZero()
}

// kill sends SIGKILL to the current gateway, which then stays away for a while.
func (r *gatewayRunner) kill(down time.Duration) error {
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
	run.killed, r.down = true, down
	r.mu.Unlock()
	run.service.Kill()
	return nil
}

// restart stops the current gateway in an orderly way. The runner starts the
// next one.
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

// history returns every run so far and the errors of starting and stopping
// them.
func (r *gatewayRunner) history() (lives []gatewayRun, failures []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, run := range r.runs {
		lives = append(lives, *run)
	}
	return lives, append([]string(nil), r.errors...)
}

// close stops the current gateway in an orderly way and ends the runner.
func (r *gatewayRunner) close() {
	if r != nil {
		r.cancel()
		r.loop.Wait()
	}
}
