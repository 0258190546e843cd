package main

import (
	"context"
	"io"
	"sync"
	"time"
)

// part is something that runs.
type part struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when run has returned
}

// start runs a part in a goroutine that stop waits for.
func start(run func(context.Context)) part {
	ctx, cancel := context.WithCancel(context.Background())
	p := part{cancel, make(chan struct{})}
	go func() {
		defer close(p.done)
		run(ctx)
	}()
	return p
}

func (p part) stop() {
	p.cancel()
	<-p.done
}

// bounded gives a step of the shutdown its time, which haste cuts short.
func bounded(hurry haste, limit time.Duration, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(hurry, limit)
	defer cancel()
	return step(ctx)
}

// lineWriter lets the gateway and its workers write their log lines to one
// place, each whole.
type lineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
