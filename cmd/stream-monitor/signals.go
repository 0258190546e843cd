package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// haste is done when whoever asked the process to end has asked again: what is
// left of a shutdown is then done by force, and still done.
type haste struct{ context.Context }

// echo is how soon after a signal another one is the same request: timeout(1)
// sends two, and so do a terminal and its shell when they go.
const echo = 20 * time.Millisecond

// obey turns the signals that ask the process to end into contexts: the first
// ends ctx, the second hurry, and a third is the system's to deal with, which
// ends the process as it is. release gives all of them back to the system.
func obey() (ctx context.Context, hurry haste, release func()) {
	asked := make(chan os.Signal, 2)
	signal.Notify(asked, endings()...)
	ctx, end := context.WithCancel(context.Background())
	hasty, hasten := context.WithCancel(context.Background())
	released := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		defer signal.Stop(asked)
		heed(asked, released, end, hasten)
	})
	return ctx, haste{hasty}, func() {
		close(released)
		listening.Wait()
		end()
		hasten()
	}
}

// heed takes a step for every signal, until none is left or released is closed.
func heed(asked <-chan os.Signal, released <-chan struct{}, steps ...func()) {
	var last time.Time
	for len(steps) > 0 {
		select {
		case <-asked:
		case <-released:
			return
		}
		if time.Since(last) > echo {
			steps[0]()
			steps = steps[1:]
		}
		last = time.Now()
	}
}

// endings are the signals that ask the process to end. SIGHUP says that its
// terminal is gone, which nohup has it ignore.
func endings() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// outliveReaders lets a watchdog go on when whoever read its log has died:
// writing to the broken pipe then fails, instead of ending the process.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
