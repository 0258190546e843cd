package decoder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
)

// process is one segment-decoder. One goroutine at a time uses it.
type process struct {
	*subprocess.Process

	segments int   // that it has answered
	memory   int64 // bytes after the last answer
}

// stopGrace is how long the end of a process waits for a descendant that holds its stderr.
const stopGrace = 200 * time.Millisecond

// startProcess starts a process and lets it answer for a byte that is no segment. So a
// program that does not work is not mistaken for a segment that breaks it.
func startProcess(ctx context.Context, c Config) (*process, error) {
	started, err := subprocess.Start(subprocess.Command{
		Path: c.Path, Env: environment(), GracePeriod: stopGrace, MaxOutput: maxComplaint,
		Limits:      subprocess.Limits{DataBytes: c.MaxMemory, CPUTime: maxCPU, OpenFiles: maxFiles, NoFileWrites: true},
		Confinement: subprocess.NewConfinement(c.Files, false),
	})
	if err != nil {
		return nil, err
	}
	p := &process{Process: started}
	limited, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("segment-decoder did not answer within %v", c.Timeout))
	defer cancel()
	if _, err := p.exchange(limited, Job{Media: []byte{0}}); !errors.Is(err, ErrUnusual) {
		if err == nil {
			p.end()
			err = errProtocol
		}
		return nil, err
	}
	return p, nil
}

func (p *process) isWorn() bool {
	return p.segments >= maxSegments || p.memory > maxResident
}

func (p *process) cpuTime() time.Duration { return p.CPUTime() }

func (p *process) end() { p.Stop() }

// exchange lets the process decode a segment. Errors: ErrUnusual; after any other, the
// process has been stopped.
func (p *process) exchange(ctx context.Context, j Job) (Result, error) {
	var result Result
	var unusual error
	err := p.WithDeadline(ctx, func() error {
		if err := writeRequest(p, j); err != nil {
			return err
		}
		var err error
		result, p.memory, err = readAnswer(p)
		if errors.Is(err, ErrUnusual) {
			unusual = err
			return nil
		}
		return err
	})
	if err == nil {
		p.segments++
		return result, unusual
	}
	ended := p.Stop()
	switch {
	case ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case errors.Is(err, errProtocol):
		return Result{}, err
	case ended.ExitCode >= 0 && len(ended.Stderr) > 0:
		return Result{}, fmt.Errorf("segment-decoder ended with code %d: %s", ended.ExitCode, readable(ended.Stderr))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Result{}, errors.New("segment-decoder ended before it answered")
	}
	return Result{}, err
}

// environment returns the variables that a process gets. It does not inherit the
// worker's, which hold keys.
func environment() []string {
	env := []string{"LC_ALL=C"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
