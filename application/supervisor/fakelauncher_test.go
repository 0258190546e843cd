package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// fakeLauncher is what runs workers, in memory. Several gateways may share it. It records requests as
// lines such as "launch mon-a 1".
type fakeLauncher struct {
	mu             sync.Mutex
	calls          []string
	runtime        supervisor.Runtime
	listFails      bool // Workers fails
	listLacks      bool // Workers lists nothing: it is behind
	running        map[monitor.ID]int
	refused        map[monitor.ID]int // generations whose token the gateway refuses
	pendingReason  string             // workers are pending for this reason
	launchFailures int                // so many launches fail
	launchTime     time.Duration      // a launch takes
	stopTime       time.Duration      // a stop takes
	launching      int
	maxLaunching   int                    // launches at once
	gateways       []chan supervisor.Exit // all are told of every exit
}

func newFakeLauncher() *fakeLauncher {
	return &fakeLauncher{runtime: supervisor.Runtime{ID: "here", NotFoundMessage: "Worker not found here"}, running: map[monitor.ID]int{}}
}

// launcherPort is the supervisor.Launcher of one gateway.
type launcherPort struct {
	*fakeLauncher
	exits chan supervisor.Exit
}

func (l *fakeLauncher) connect() launcherPort {
	l.mu.Lock()
	defer l.mu.Unlock()
	exits := make(chan supervisor.Exit, 1000)
	l.gateways = append(l.gateways, exits)
	return launcherPort{l, exits}
}

func (p launcherPort) Exits() <-chan supervisor.Exit { return p.exits }

func (l *fakeLauncher) report(e supervisor.Exit) {
	for _, exits := range l.gateways {
		exits <- e
	}
}

func (l *fakeLauncher) set(change func(*fakeLauncher)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

func (l *fakeLauncher) requests() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

func (l *fakeLauncher) generation(id monitor.ID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running[id]
}

// Launch replaces an older worker, whose exit comes first. It is not atomic: cut
// short, it leaves a worker behind, as a real one may.
func (l *fakeLauncher) Launch(ctx context.Context, j supervisor.WorkerSpec) error {
	l.mu.Lock()
	l.calls = append(l.calls, fmt.Sprintf("launch %s %d", j.ID, j.Generation))
	l.launching++
	l.maxLaunching = max(l.maxLaunching, l.launching)
	slow, fails := l.launchTime, l.launchFailures > 0
	l.launchFailures = max(l.launchFailures-1, 0)
	if g := l.running[j.ID]; g != 0 && g < j.Generation {
		delete(l.running, j.ID)
		l.report(supervisor.Exit{ID: j.ID, Generation: g, Detail: "exit status 0", Clean: true})
	}
	l.mu.Unlock()

	var err error
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		err = ctx.Err()
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.launching--
	if fails {
		return errors.New("no room")
	}
	l.running[j.ID] = max(l.running[j.ID], j.Generation)
	return err
}

func (l *fakeLauncher) Stop(ctx context.Context, id monitor.ID) error {
	l.mu.Lock()
	l.calls = append(l.calls, fmt.Sprintf("stop %s", id))
	ending := l.stopTime
	l.mu.Unlock()
	select {
	case <-time.After(ending):
	case <-ctx.Done():
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if g := l.running[id]; g != 0 {
		delete(l.running, id)
		l.report(supervisor.Exit{ID: id, Generation: g, Detail: "exit status 0", Clean: true})
	}
	return nil
}

func (l *fakeLauncher) Runtime() supervisor.Runtime {
	return l.runtime
}

func (l *fakeLauncher) Workers(context.Context) ([]supervisor.Worker, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listFails {
		return nil, errors.New("no view")
	}
	var all []supervisor.Worker
	if l.listLacks {
		return all, nil
	}
	for id, g := range l.running {
		all = append(all, supervisor.Worker{ID: id, Generation: g, Pending: l.pendingReason != "", PendingReason: l.pendingReason, Refused: l.refused[id] == g})
	}
	return all, nil
}

func (l *fakeLauncher) Runs(_ context.Context, id monitor.ID, generation int) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listFails {
		return false, errors.New("no view")
	}
	return l.running[id] >= generation, nil
}

// exit ends a worker as if by itself.
func (l *fakeLauncher) exit(id monitor.ID, how string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.running[id]
	delete(l.running, id)
	l.report(supervisor.Exit{ID: id, Generation: g, Detail: how, Clean: how == "exit status 0"})
}
