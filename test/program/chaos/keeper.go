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
type keeper struct {
	config  func(n int) system.Config // of the nth gateway, from 0
	keeping sync.WaitGroup
	cancel  context.CancelFunc

	mu       sync.Mutex
	lives    []*life
	failures []string // starts and ends that nobody asked for
}

// life is a gateway from its start to its end.
type life struct {
	system  *system.Service
	crash   bool // it is to end itself
	listens bool
	began   time.Time
	ready   time.Time // zero: it never answered that it is
	ended   time.Time
	killed  bool // by us
	crashed bool // by itself, as it was to
	stopped bool // by us, in good order
}

// backAfter is systemd's RestartSec.
const backAfter = 100 * time.Millisecond

func startKeeper(config func(n int) system.Config, crashes []crash) *keeper {
	ctx, cancel := context.WithCancel(context.Background())
	k := &keeper{config: config, cancel: cancel}
	k.keeping.Go(func() { k.keep(ctx, crashes) })
	return k
}

func (k *keeper) keep(ctx context.Context, crashes []crash) {
	for n := 0; ctx.Err() == nil; n++ {
		s, err := system.Launch(k.config(n))
		if err != nil {
			k.fail(err.Error())
			pause(ctx, time.Second)
			continue
		}
		l := &life{system: s, began: time.Now(), crash: n < len(crashes) && crashes[n].point != ""}
		k.mu.Lock()
		k.lives = append(k.lives, l)
		k.mu.Unlock()
		k.accompany(ctx, l)
		pause(ctx, backAfter)
	}
}

// accompany is a gateway's life.
func (k *keeper) accompany(ctx context.Context, l *life) {
	if l.system.WaitListening(ctx) == nil {
		k.mu.Lock()
		l.listens = true
		k.mu.Unlock()
		k.awaitReady(ctx, l)
	}
	select {
	case <-l.system.Exited():
	case <-ctx.Done():
		k.mu.Lock()
		l.stopped = true
		k.mu.Unlock()
		if err := l.system.Stop(); err != nil {
			k.fail(err.Error())
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	l.ended = time.Now()
	l.crashed = l.crash && !l.killed && !l.stopped && l.system.Killed()
}

// awaitReady notes when a gateway first says that it is ready.
func (k *keeper) awaitReady(ctx context.Context, l *life) {
	for {
		if a, _ := l.system.Call(ctx, http.MethodGet, "/readyz", nil); a.Status == http.StatusOK {
			k.mu.Lock()
			l.ready = time.Now()
			k.mu.Unlock()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-l.system.Exited():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (k *keeper) fail(text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failures = append(k.failures, time.Now().Format("15:04:05.000 ")+text)
}

// newest is the latest gateway, which may just have died; nil: none was started.
func (k *keeper) newest() *life {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.lives) == 0 {
		return nil
	}
	return k.lives[len(k.lives)-1]
}

func (k *keeper) listens(l *life) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return l.listens
}

// service is the latest gateway if it listens.
func (k *keeper) service() *system.Service {
	l := k.newest()
	if l == nil || !k.listens(l) {
		return nil
	}
	select {
	case <-l.system.Exited():
		return nil
	default:
		return l.system
	}
}

var errNoGateway = errors.New("no gateway runs just now")

// kill ends the gateway that runs.
func (k *keeper) kill() error {
	l := k.newest()
	if l == nil {
		return errNoGateway
	}
	select {
	case <-l.system.Exited():
		return errNoGateway
	default:
	}
	k.mu.Lock()
	l.killed = true
	k.mu.Unlock()
	l.system.Kill()
	return nil
}

// restart ends the gateway that runs in good order; it comes back.
func (k *keeper) restart() error {
	l := k.newest()
	if l == nil || !k.listens(l) {
		return errNoGateway
	}
	k.mu.Lock()
	l.stopped = true
	k.mu.Unlock()
	_ = l.system.Signal(syscall.SIGTERM)
	return l.system.Wait()
}

// history is every gateway so far.
func (k *keeper) history() (lives []life, failures []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, l := range k.lives {
		lives = append(lives, *l)
	}
	return lives, append([]string(nil), k.failures...)
}

// close ends the gateway in good order.
func (k *keeper) close() {
	if k != nil {
		k.cancel()
		k.keeping.Wait()
	}
}
