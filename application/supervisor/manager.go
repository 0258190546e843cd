package supervisor

import (
	"context"
	"errors"
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

	finished       chan actionResult // from the actions to Run
	actionsRunning sync.WaitGroup    // actions under way

	mu                   sync.Mutex
	states               map[monitor.ID]*workerState // changed by Run alone
	promotingGenerations map[monitor.ID]int          // generations that the Promoter is promoting
	commands             []command                   // in the order in which they came
	wake                 chan struct{}               // receives when commands has grown

	asked chan struct{} // Alive sends, and Run receives; never closed
	ended chan struct{} // closed when Run ends
}

// actionResult is the result of an action.
type actionResult struct {
	id       monitor.ID
	unneeded bool // the monitor needs no worker any more, so its state is forgotten
}

// Start enqueues the launch of a worker of m's generation and returns at once, also before
// Run. A second Start of the same or an older generation does nothing. A
// monitor that is still reserved is promoted first. If this gateway dies before the
// promotion, the reservation falls due and another gateway promotes it.
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

// Stop enqueues the stop of a monitor's worker of any generation and returns at once, also
// before Run.
func (w *WorkerManager) Stop(id monitor.ID) { w.enqueue(command{id: id}) }

// stopUpTo enqueues a stop of a monitor's worker. The stop does nothing if a newer
// generation than the given one is launched first.
func (w *WorkerManager) stopUpTo(id monitor.ID, generation int) {
	w.enqueue(command{id: id, maxGeneration: generation})
}

// BeginShutdown is the first step of a shutdown. From then on no lost worker is
// replaced and no monitor fails, because the same shutdown may have ended the workers.
// In a shared runtime it does nothing: workers outlive their gateway there.
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

// Alive returns nil when Run goes on to its next input before ctx is done, or has ended. It is called
// while Run is running, or later.
func (w *WorkerManager) Alive(ctx context.Context) error {
	select {
	case w.asked <- struct{}{}:
	case <-w.ended:
	case <-ctx.Done():
		return errors.New("the supervisor of workers hangs: it did not answer in time")
	}
	return nil
}

// Run executes commands and handles exits until ctx is done. It returns when
// all of its goroutines have ended, and leaves the workers running. It is called
// once.
func (w *WorkerManager) Run(ctx context.Context) {
	defer close(w.ended)
	defer w.collectRemaining()
	defer w.actionsRunning.Wait()
	exits := w.launcher.Exits()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-w.asked:
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
			w.startNextAction(ctx, c.id, state)
		}
	}
	w.commands = nil
}

func (w *WorkerManager) handleExit(ctx context.Context, e Exit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if state := w.states[e.ID]; state != nil && state.exited(e, w.exitGrace) {
		w.startNextAction(ctx, e.ID, state)
	}
}

func (w *WorkerManager) finish(ctx context.Context, r actionResult) {
	w.mu.Lock()
	defer w.mu.Unlock()
	state := w.states[r.id]
	state.current = noAction
	switch {
	case state.next != noAction:
		w.startNextAction(ctx, r.id, state)
	case r.unneeded:
		delete(w.states, r.id)
	}
}

// startNextAction begins the next action of a worker. The caller holds mu.
func (w *WorkerManager) startNextAction(ctx context.Context, id monitor.ID, state *workerState) {
	acting, cancel := context.WithCancel(ctx)
	act := w.actions.actionFunc(state.takeNextAction(cancel), id, state)
	if act == nil {
		cancel()
		return
	}
	w.actionsRunning.Go(func() {
		defer cancel()
		unneeded := act(acting)
		select {
		case w.finished <- actionResult{id, unneeded}:
		case <-ctx.Done():
		}
	})
}

// ownedGeneration returns the newest generation of a monitor's worker that this gateway
// launches, watches for exit or promotes; 0: none. busy reports that an action for it
// is under way or queued.
func (w *WorkerManager) ownedGeneration(id monitor.ID) (generation int, busy bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	generation = w.promotingGenerations[id]
	busy = generation > 0
	if state := w.states[id]; state != nil {
		generation = max(generation, state.spec.Generation)
		busy = busy || state.current != noAction
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

// setPromotingGeneration records the generation of a monitor that the Promoter is
// promoting; 0: none. This gateway owns it meanwhile, so its worker does not count as missing.
func (w *WorkerManager) setPromotingGeneration(id monitor.ID, generation int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if generation == 0 {
		delete(w.promotingGenerations, id)
		return
	}
	w.promotingGenerations[id] = generation
}

// collectRemaining gives Handover the monitors to release when Run ends. In a private
// runtime these are all monitors with a worker, or with a command to launch one. In a
// shared runtime, running workers continue without this gateway. There these are the
// monitors whose launch has not succeeded.
func (w *WorkerManager) collectRemaining() {
	ctx, cancel := context.WithTimeout(context.Background(), exchangeTimeout)
	defer cancel()
	listed := map[monitor.ID]int{}
	workers, err := w.launcher.Workers(ctx)
	for _, worker := range workers {
		listed[worker.ID] = worker.Generation
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	remaining := maps.Clone(listed)
	for id, state := range w.states {
		if state.stopping {
			delete(remaining, id)
		} else {
			remaining[id] = max(remaining[id], state.spec.Generation)
		}
	}
	for _, c := range w.commands {
		switch {
		case c.spec != nil:
			remaining[c.id] = max(remaining[c.id], c.spec.Generation)
		case c.loss == nil:
			delete(remaining, c.id)
		}
	}
	shared := w.launcher.Runtime().Shared
	for id, generation := range remaining {
		if generation > 0 && (!shared || err == nil && generation > listed[id] && w.launching(id)) {
			w.handover.remaining = append(w.handover.remaining, Reservation{ID: id, Generation: generation})
		}
	}
}

// launching reports whether a launch is queued or under way. It is false during the
// handling of a loss, which another gateway can continue. The caller holds mu.
func (w *WorkerManager) launching(id monitor.ID) bool {
	if state := w.states[id]; state != nil && state.launching() {
		return true
	}
	return slices.ContainsFunc(w.commands, func(c command) bool { return c.id == id && c.spec != nil })
}
