package decoder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Config sets the limits of a Pool. A field that is zero or negative has its default.
type Config struct {
	Path      string        // of the program; default "segment-decoder", in PATH
	Files     []string      // further files and folders that the tool may read; nil: it is not confined (Linux only)
	Processes int           // at most; default one for each core
	Timeout   time.Duration // of one segment in one process; default DefaultTimeout
	Share     time.Duration // of CPU time of one segment in one process while others wait; default DefaultShare
	MaxMemory int64         // bytes that a process may allocate, Linux only; default DefaultMaxMemory
}

// Defaults of Config. A process has 30 to 40 MB with the libraries of a distribution. It
// takes 20 ms for a segment of 144p, and 700 ms for one of 1080p.
const (
	DefaultTimeout   = 5 * time.Second
	DefaultShare     = time.Second
	DefaultMaxMemory = 192 << 20
)

// Limits that cannot be configured.
const (
	maxSegments  = 1000             // after which a process is replaced
	maxResident  = 128 << 20        // bytes of memory with which a process is replaced
	maxCPU       = 20 * time.Minute // of a process in its whole life
	maxFiles     = 64               // each library is open while it is loaded
	maxComplaint = 64 << 10         // bytes of stderr
	retryAfter   = time.Minute      // when the program does not work
)

func (c Config) withDefaults() Config {
	c.Path = cmp.Or(c.Path, "segment-decoder")
	c.Processes = cmp.Or(max(c.Processes, 0), runtime.GOMAXPROCS(0))
	c.Timeout = cmp.Or(max(c.Timeout, 0), DefaultTimeout)
	c.Share = cmp.Or(max(c.Share, 0), DefaultShare)
	c.MaxMemory = cmp.Or(max(c.MaxMemory, 0), DefaultMaxMemory)
	return c
}

// Pool holds a few processes, which it starts when they are first needed. It is safe for
// concurrent use.
type Pool struct {
	start   func(context.Context) (runner, error)
	config  Config
	log     *slog.Logger
	tokens  chan struct{} // one for each process that may decode now
	waiting chan struct{} // a segment that waits for a process sends; one that has had its Share receives, and is stopped

	closing sync.Once
	mu      sync.Mutex
	idle    []runner
	broken  bool      // the last start has failed
	retryAt time.Time // when to try again, if broken
}

// runner is a process that decodes segments.
type runner interface {
	// exchange decodes a segment. Errors: ErrUnusual; after any other, the process has been
	// stopped.
	exchange(context.Context, Job) (Result, error)
	isWorn() bool // it is to be replaced
	cpuTime() time.Duration
	end()
}

// New returns a Pool without a process. Close ends it.
func New(c Config, log *slog.Logger) *Pool {
	c = c.withDefaults()
	return newPool(c, log, func(ctx context.Context) (runner, error) { return startProcess(ctx, c) })
}

func newPool(c Config, log *slog.Logger, start func(context.Context) (runner, error)) *Pool {
	p := &Pool{start: start, config: c, log: log, tokens: make(chan struct{}, c.Processes), waiting: make(chan struct{})}
	for range c.Processes {
		p.tokens <- struct{}{}
	}
	return p
}

// Reasons for which a segment is left to the command.
var (
	errBroken    = errors.New("segment-decoder does not work")
	errAbandoned = errors.New("segment-decoder could not decode the segment")
	errTooSlow   = errors.New("too slow") // a cause of errAbandoned
)

// decode lets a process decode a segment. It blocks until one is free and has answered,
// or ctx is done. Errors: ErrUnusual; the cause of ctx; errBroken; errAbandoned.
//
// The deadline of ctx limits the wait, but stops no process. In a long queue the next segment
// has little time left, and stopping it would cost the start of another process.
//
// A segment that is too slow is not tried again. One that ended a process has another try
// if that process had answered others: an earlier segment may have damaged it.
func (p *Pool) decode(ctx context.Context, j Job) (Result, error) {
	if err := p.acquire(ctx); err != nil {
		return Result{}, err
	}
	defer func() { p.tokens <- struct{}{} }()
	ctx, release := withoutDeadline(ctx)
	defer release()
	running := p.takeIdle()
	for {
		isFresh := running == nil
		if isFresh {
			var err error
			if running, err = p.startOne(ctx); err != nil {
				return Result{}, err
			}
		}
		result, err := p.decodeIn(ctx, running, j)
		switch {
		case err == nil, errors.Is(err, ErrUnusual):
			p.keep(running)
			return result, err
		case ctx.Err() != nil:
			return Result{}, context.Cause(ctx)
		case isFresh, errors.Is(err, errTooSlow):
			return Result{}, fmt.Errorf("%w: %w", errAbandoned, err)
		}
		running = nil
	}
}

// acquire takes a token. While it waits for one, a segment that has had its Share gives up its
// own.
func (p *Pool) acquire(ctx context.Context) error {
	for {
		if p.isBroken() {
			return errBroken
		}
		select {
		case <-p.tokens:
			return nil
		default:
		}
		select {
		case <-p.tokens:
			if !p.isBroken() {
				return nil
			}
			p.tokens <- struct{}{}
		case p.waiting <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// withoutDeadline returns a context that is done when ctx is cancelled before its deadline.
func withoutDeadline(ctx context.Context) (outliving context.Context, release func()) {
	outliving, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			cancel(context.Cause(ctx))
		}
	})
	return outliving, func() { stop(); cancel(nil) }
}

// takeIdle returns the process that has been idle for longest, or nil. So each is used now and
// then, and one that has died is found and reaped.
func (p *Pool) takeIdle() runner {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	running := p.idle[0]
	p.idle = slices.Delete(p.idle, 0, 1)
	return running
}

// startOne starts a process. Errors: the cause of ctx; errBroken.
func (p *Pool) startOne(ctx context.Context) (runner, error) {
	running, err := p.start(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p.recordStart(err)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	return running, nil
}

// recordStart records whether the program works. One that does not is not started again for
// retryAfter.
func (p *Pool) recordStart(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && !p.broken {
		p.log.Warn("segment-decoder does not work; ffmpeg analyses every segment, which takes more CPU time and measures nothing for the optional detectors", "error", err.Error())
	}
	p.broken = err != nil
	if p.broken {
		p.retryAt = time.Now().Add(retryAfter)
	}
}

// isBroken reports whether it is too early to start the program again.
func (p *Pool) isBroken() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken && len(p.idle) == 0 && time.Now().Before(p.retryAt)
}

// decodeIn lets a process decode a segment within Timeout, and within Share while others wait.
// On a busy host a calm segment can take longer than Share, though it needs little CPU time.
// Errors: those of exchange.
func (p *Pool) decodeIn(ctx context.Context, running runner, j Job) (Result, error) {
	limited, cancel := context.WithTimeoutCause(ctx, p.config.Timeout, fmt.Errorf("%w: more than %v", errTooSlow, p.config.Timeout))
	defer cancel()
	sharing, stop := context.WithCancelCause(limited)
	stopped, usedBefore := make(chan struct{}), running.cpuTime()
	share := time.AfterFunc(p.config.Share, func() {
		defer close(stopped)
		for sharing.Err() == nil {
			left := p.config.Share - (running.cpuTime() - usedBefore)
			if left <= 0 {
				break
			}
			select {
			case <-time.After(left):
			case <-sharing.Done():
			}
		}
		select {
		case <-p.waiting:
			stop(fmt.Errorf("%w: more than %v, and others wait", errTooSlow, p.config.Share))
		case <-sharing.Done():
		}
	})
	result, err := running.exchange(sharing, j)
	stop(nil)
	if !share.Stop() {
		<-stopped
	}
	return result, err
}

// keep keeps a process for later segments, or ends it.
func (p *Pool) keep(running runner) {
	if running.isWorn() {
		running.end()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, running)
}

// Close ends the processes. It waits for those that decode. A nil Pool has none.
func (p *Pool) Close() {
	if p != nil {
		p.closing.Do(p.close)
	}
}

func (p *Pool) close() {
	for range p.config.Processes {
		<-p.tokens
	}
	for _, running := range p.idle {
		running.end()
	}
}
