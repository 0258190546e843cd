package main

import (
	"context"
	"io"
	"os"
	"sync"
	"time"
)

// component is a part of the gateway that runs in a goroutine of its own.
type component struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when run has returned
}

// start runs a component in a goroutine. stop waits for it.
func start(run func(context.Context)) component {
	ctx, cancel := context.WithCancel(context.Background())
	c := component{cancel, make(chan struct{})}
	go func() {
		defer close(c.done)
		run(ctx)
	}()
	return c
}

func (c component) stop() {
	c.cancel()
	<-c.done
}

// withTimeout limits the time of a step of the shutdown. A forced shutdown cancels
// the step.
func withTimeout(forced forcedShutdown, limit time.Duration, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(forced, limit)
	defer cancel()
	return step(ctx)
}

// lockedWriter lets the gateway and its workers write whole log lines to one writer.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// Fd returns the file descriptor of the writer, or an invalid one if it is no file.
func (l *lockedWriter) Fd() uintptr {
	if f, is := l.w.(*os.File); is {
		return f.Fd()
	}
	return ^uintptr(0)
}
