package supervisor

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// WorkerManager launches, stops and replaces workers. For each monitor it runs at
// most one action at a time; a newer command cancels an older action. It is a
// registry.WorkerManager.
type WorkerManager struct {
	launcher     Launcher
	exitGrace    time.Duration
	actions      *actionRunner
	promoter     *Promoter
	handover     *Handover
	shuttingDown *atomic.Bool

	finished chan actionResult // from the actions to Run
	running  sync.WaitGroup    // actions under way

	mu        sync.Mutex
	states    map[monitor.ID]*workerState // changed by Run alone
	promoting map[monitor.ID]int          // generations that the Promoter is promoting
	commands  []command                   // in the order in which they came
	wake      chan struct{}               // receives when commands has grown
}

// actionResult is how an action ended.
type actionResult struct {
	id   monitor.ID
	gone bool // the monitor needs no worker any more
}

// Start asks for a worker of m's generation and returns at once; commands before
// Run are remembered. Asking again, or for an older generation, does nothing. A
// monitor that is still reserved is promoted first. If this gateway does not get
// to that, the reservation falls due and another gateway does.
func (w *WorkerManager) Start(m monitor.Monitor) {
	if !m.ReservedUntil.IsZero() {
		w.promoter.enqueue(Reservation{ID: m.ID, Generation: m.Generation})
		return
	}
	w.enqueue(command{id: m.ID, spec: &WorkerSpec{
		ID:          m.ID,
		Generation:  m.Generation,
		StreamURL:   m.StreamURL,
		CallbackURL: m.CallbackURL,
		Config:      m.Config,
	}})
}

// Stop asks for the end of a monitor's worker of any generation and returns at
// once; commands before Run are remembered.
func (w *WorkerManager) Stop(id monitor.ID) { w.enqueue(command{id: id}) }

// stopUpTo asks for the end of a monitor's worker, unless a generation newer than
// the given one has been asked for meanwhile.
func (w *WorkerManager) stopUpTo(id monitor.ID, generation int) {
	w.enqueue(command{id: id, maxGeneration: generation})
}

// BeginShutdown is the first step of a shutdown. From then on no missing worker is
// replaced and no monitor fails, because the same shutdown may have ended the workers.
// In a shared runtime it changes nothing, and the gateway goes on until it ends.
func (w *WorkerManager) BeginShutdown() { w.shuttingDown.Store(!w.launcher.Runtime().Shared) }

func (w *WorkerManager) enqueue(c command) {
	w.mu.Lock()
	w.commands = append(w.commands, c)
	w.mu.Unlock()
	notify(w.wake)
}

// notify wakes the receiver of a channel that has room for one value.
func notify(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// Run carries commands out and handles exits until ctx is done. It returns when
// all of its goroutines have ended, and leaves the workers running. It is called
// once.
func (w *WorkerManager) Run(ctx context.Context) {
	defer w.collectHeld()
	defer w.running.Wait()
	exits := w.launcher.Exits()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-w.wake:
			w.applyCommands(ctx)
		case e, open := <-exits:
			if !open {
				exits = nil
				continue
			}
			w.handleExit(ctx, e)
		case r := <-w.finished:
			w.finish(ctx, r)
		}
	}
}

func (w *WorkerManager) applyCommands(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.commands {
		state := w.states[c.id]
		if state == nil {
			state = &workerState{}
			w.states[c.id] = state
		}
		if state.apply(c) {
			w.proceed(ctx, c.id, state)
		}
	}
	w.commands = nil
}

func (w *WorkerManager) handleExit(ctx context.Context, e Exit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if state := w.states[e.ID]; state != nil && state.exited(e, w.exitGrace) {
		w.proceed(ctx, e.ID, state)
	}
}

func (w *WorkerManager) finish(ctx context.Context, r actionResult) {
	w.mu.Lock()
	defer w.mu.Unlock()
	state := w.states[r.id]
	state.current = none
	switch {
	case state.next != none:
		w.proceed(ctx, r.id, state)
	case r.gone:
		delete(w.states, r.id)
	}
}

// proceed begins the next action. The caller holds mu.
func (w *WorkerManager) proceed(ctx context.Context, id monitor.ID, state *workerState) {
	acting, cancel := context.WithCancel(ctx)
	act := w.actions.prepare(state.begin(cancel), id, state)
	if act == nil {
		cancel()
		return
	}
	w.running.Go(func() {
		defer cancel()
		gone := act(acting)
		select {
		case w.finished <- actionResult{id, gone}:
		case <-ctx.Done():
		}
	})
}

// owned returns the newest generation of a monitor's worker that this gateway
// looks after, 0 for none. busy reports that an action for it is under way or due.
func (w *WorkerManager) owned(id monitor.ID) (generation int, busy bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	generation = w.promoting[id]
	busy = generation > 0
	if state := w.states[id]; state != nil {
		generation = max(generation, state.spec.Generation)
		busy = busy || state.current != none
	}
	for _, c := range w.commands {
		if c.id == id {
			busy = true
			if c.spec != nil {
				generation = max(generation, c.spec.Generation)
			}
		}
	}
	return generation, busy
}

// setPromoting records which generation of a monitor is being promoted, 0 for none.
// Until that is decided this gateway owns it, so its worker is not missed.
func (w *WorkerManager) setPromoting(id monitor.ID, generation int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if generation == 0 {
		delete(w.promoting, id)
		return
	}
	w.promoting[id] = generation
}

// collectHeld tells Handover which monitors Run leaves behind. In a runtime of its
// own these are the monitors whose workers were asked for or are not adopted yet. In a
// shared runtime workers go on and other gateways find them, so these are the monitors
// whose launch has not succeeded.
func (w *WorkerManager) collectHeld() {
	ctx, cancel := context.WithTimeout(context.Background(), exchangeTimeout)
	defer cancel()
	running := map[monitor.ID]int{}
	workers, err := w.launcher.Workers(ctx)
	for _, worker := range workers {
		running[worker.ID] = worker.Generation
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	held := maps.Clone(running)
	for id, state := range w.states {
		if state.stopping {
			delete(held, id)
		} else {
			held[id] = max(held[id], state.spec.Generation)
		}
	}
	for _, c := range w.commands {
		switch {
		case c.spec != nil:
			held[c.id] = max(held[c.id], c.spec.Generation)
		case c.loss == nil:
			delete(held, c.id)
		}
	}
	shared := w.launcher.Runtime().Shared
	for id, generation := range held {
		if generation > 0 && (!shared || err == nil && generation > running[id] && w.launching(id)) {
			w.handover.held = append(w.handover.held, Reservation{ID: id, Generation: generation})
		}
	}
}

// launching reports whether a launch was asked for and has not succeeded. A lost
// worker is not one of these: other gateways find it. The caller holds mu.
func (w *WorkerManager) launching(id monitor.ID) bool {
	if state := w.states[id]; state != nil && state.launching() {
		return true
	}
	return slices.ContainsFunc(w.commands, func(c command) bool { return c.id == id && c.spec != nil })
}
