package decoder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
)

// Config sets the limits of a Pool. A field that is zero or negative has its default.
type Config struct {
	Path        string        // of the program; default "segment-decoder", in PATH
	Processes   int           // at most; default one for each core
	MaxSegments int           // after which a process is replaced; default DefaultMaxSegments
	Timeout     time.Duration // of one segment in one process; default DefaultTimeout
	MaxResident int64         // bytes of memory with which a process is replaced; default DefaultMaxResident
	MaxMemory   int64         // bytes that a process may allocate, Linux only; default DefaultMaxMemory
}

// Defaults of Config. A process has 30 to 40 MB with the libraries of a distribution. It
// takes 20 ms for a segment of 144p, and 700 ms for one of 1080p.
const (
	DefaultMaxSegments = 1000
	DefaultTimeout     = 5 * time.Second
	DefaultMaxResident = 128 << 20
	DefaultMaxMemory   = 192 << 20
)

// Limits that cannot be configured.
const (
	maxCPU       = 20 * time.Minute // of a process in its whole life
	maxFiles     = 64               // each library is open while it is loaded
	maxComplaint = 64 << 10         // bytes of stderr
	attempts     = 2                // for one segment
	maxFailures  = 4                // segments in a row without an answer
	pause        = time.Minute      // after which the program is tried again
)

func (c Config) withDefaults() Config {
	c.Path = cmp.Or(c.Path, "segment-decoder")
	c.Processes = cmp.Or(max(c.Processes, 0), runtime.GOMAXPROCS(0))
	c.MaxSegments = cmp.Or(max(c.MaxSegments, 0), DefaultMaxSegments)
	c.Timeout = cmp.Or(max(c.Timeout, 0), DefaultTimeout)
	c.MaxResident = cmp.Or(max(c.MaxResident, 0), DefaultMaxResident)
	c.MaxMemory = cmp.Or(max(c.MaxMemory, 0), DefaultMaxMemory)
	return c
}

// Pool decodes segments in a few processes, which it starts when they are first needed.
// It is safe for concurrent use.
type Pool struct {
	config Config
	log    *slog.Logger
	slots  chan *process // each process that is free; nil: not started

	closing  sync.Once
	mu       sync.Mutex
	failures int       // segments in a row that had no answer
	pausing  bool      // since the last answer, Decode has paused
	until    time.Time // when to try again
}

// New returns a Pool without a process. Close ends it.
func New(c Config, log *slog.Logger) *Pool {
	c = c.withDefaults()
	p := &Pool{config: c, log: log, slots: make(chan *process, c.Processes)}
	for range c.Processes {
		p.slots <- nil
	}
	return p
}

// errPaused means that segment-decoder did not work within the last minute.
var errPaused = errors.New("segment-decoder does not work")

// Decode lets a process decode a segment. It blocks until one is free and has answered,
// or ctx is done. After any error the command ffmpeg decides about the segment. Errors:
// ErrUnusual; the cause of ctx; the program does not work, or the segment ended two
// processes.
func (p *Pool) Decode(ctx context.Context, j Job) (Result, error) {
	if p.paused() {
		return Result{}, errPaused
	}
	var running *process
	select {
	case running = <-p.slots:
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	}
	defer func() { p.slots <- running }()

	var err error
	for range attempts {
		if running == nil {
			if running, err = start(p.config); err != nil {
				break
			}
		}
		var result Result
		result, err = p.once(ctx, running, j)
		if err == nil || errors.Is(err, ErrUnusual) {
			running = p.keep(running)
			return result, err
		}
		running = nil
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
	}
	p.failed(err)
	return Result{}, fmt.Errorf("decode segment: %w", err)
}

// once lets a process decode a segment. Its errors are those of exchange.
func (p *Pool) once(ctx context.Context, running *process, j Job) (Result, error) {
	limited, cancel := context.WithTimeoutCause(ctx, p.config.Timeout, fmt.Errorf("segment-decoder did not finish within %v", p.config.Timeout))
	defer cancel()
	result, err := running.exchange(limited, j)
	if err == nil || errors.Is(err, ErrUnusual) {
		p.answered()
	}
	return result, err
}

// keep returns the process, or nil if it was to be replaced.
func (p *Pool) keep(running *process) *process {
	if running.segments < p.config.MaxSegments && running.memory <= p.config.MaxResident {
		return running
	}
	running.Stop()
	return nil
}

// Close ends the processes. It waits for those that decode. A nil Pool has none.
func (p *Pool) Close() {
	if p != nil {
		p.closing.Do(p.close)
	}
}

func (p *Pool) close() {
	for range p.config.Processes {
		if running := <-p.slots; running != nil {
			running.Stop()
		}
	}
}

// paused reports whether it is too early to try the program again.
func (p *Pool) paused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pausing && time.Now().Before(p.until)
}

// failed notes that a segment had no answer. A program that is missing, or that answered
// none of several segments, is left alone for a while.
func (p *Pool) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures++
	if p.failures < maxFailures && !errors.Is(err, subprocess.ErrNotInstalled) {
		p.log.Info("segment-decoder could not decode a segment; ffmpeg analyses it", "error", err.Error())
		return
	}
	if !p.pausing {
		p.log.Warn("segment-decoder does not work; ffmpeg analyses every segment, which takes more CPU time", "error", err.Error())
	}
	p.pausing, p.until = true, time.Now().Add(pause)
}

// answered notes that the program works.
func (p *Pool) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures, p.pausing = 0, false
}
