package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// forcedShutdown is done once a second signal has asked the process to end. The rest
// of the shutdown is then forced.
type forcedShutdown struct{ context.Context }

// signalMergeWindow is the time within which two signals count as one. timeout(1) sends
// two. When a terminal closes, the kernel and the shell send one each.
const signalMergeWindow = 20 * time.Millisecond

// handleSignals turns the signals that ask the process to end into contexts. The
// first ends ctx, the second forced. A third has its default effect: it kills the
// process. release restores the default for all of them.
func handleSignals() (ctx context.Context, forced forcedShutdown, release func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals()...)
	ctx, end := context.WithCancel(context.Background())
	force, cancelForce := context.WithCancel(context.Background())
	released := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		defer signal.Stop(signals)
		onEachSignal(signals, released, end, cancelForce)
	})
	return ctx, forcedShutdown{force}, func() {
		close(released)
		listening.Wait()
		end()
		cancelForce()
	}
}

// onEachSignal calls the next action for every signal, until all have been called
// or released is closed.
func onEachSignal(signals <-chan os.Signal, released <-chan struct{}, actions ...func()) {
	var last time.Time
	for len(actions) > 0 {
		select {
		case <-signals:
		case <-released:
			return
		}
		if time.Since(last) > signalMergeWindow {
			actions[0]()
			actions = actions[1:]
		}
		last = time.Now()
	}
}

// endSignals lists the signals that ask the process to end. SIGHUP, which reports
// that the terminal was closed, stays ignored under nohup.
func endSignals() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// ignoreBrokenPipe lets the process continue after the reader of its log has died. A
// write to the broken pipe then fails instead of killing the process.
func ignoreBrokenPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
