package ytdlp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
)

// forkProcess is one process of a ForkServer:
//
//	serve ─ start ─▶ ready ─▶ runs, several at a time ─▶ retired ─ the last run ends ─▶ done
//	          └────────────────────┴─ it fails, hangs, or ctx is done ─ killed ─▶ done
type forkProcess struct {
	limits      forkLimits
	confinement *subprocess.Confinement
	ready       chan struct{} // closed when it takes runs
	done        chan struct{} // closed when it has ended and its ForkServer has recorded why
	err         error         // why it ended; set before done is closed
	kill        context.CancelCauseFunc
	ctx         context.Context // until kill

	stdin    *io.PipeReader // what the process reads
	requests *io.PipeWriter // the other end
	files    [2]*os.File    // a socket by which runs get their files: the end of this process, and the other
	sending  sync.Mutex     // held while a line, and the file before it, is written

	mu      sync.Mutex
	runs    map[int]*forkedRun // that have not ended
	lastID  int
	memory  int64    // bytes that it has held at most
	watched []fileID // files that an upgrade changes, as they were when it was ready
	lastUse time.Time
	retired bool
}

// forkedRun is a run that a process was asked for.
type forkedRun struct {
	began chan struct{}          // closed when it has a process
	isOn  bool                   // began is closed
	ended chan subprocess.Result // has room for the only result
}

// forkRequest is a line for forkserver.py, and reply is one of it; its comment describes both.
type forkRequest struct {
	ID     int              `json:"id"`
	Args   []string         `json:"args,omitempty"`   // without a Signal
	Env    []string         `json:"env,omitempty"`    // of the run, NAME=VALUE; empty: that of the process
	File   bool             `json:"file,omitempty"`   // it has one, which was sent before
	Limits map[string]int64 `json:"limits,omitempty"` // of the run, by the names of setrlimit(2) without RLIMIT_
	Signal syscall.Signal   `json:"signal,omitempty"`
}

type reply struct {
	Files     []string `json:"files"`
	ID        int      `json:"id"`
	Status    *int     `json:"status"`
	Stdout    int      `json:"stdout"`
	Stderr    int      `json:"stderr"`
	Truncated bool     `json:"truncated"`
	CPU       float64  `json:"cpu"`
	Memory    int64    `json:"memory"`
}

// Reasons for the end of a process, and of a run without a result.
var (
	errHung    = errors.New("it does not answer")
	errRetired = errors.New("it was replaced")
	errCrashed = errors.New("the run was ended by a signal")
	errTwice   = errors.New("it says the same twice")
)

// newForkProcess makes a process, which serve starts. Error: there is no socket for files.
func newForkProcess(ctx context.Context, l forkLimits, c *subprocess.Confinement) (*forkProcess, error) {
	files, err := fileSocket()
	if err != nil {
		return nil, err
	}
	p := &forkProcess{files: files, limits: l, confinement: c, ready: make(chan struct{}), done: make(chan struct{}), runs: map[int]*forkedRun{}, lastUse: time.Now()}
	p.ctx, p.kill = context.WithCancelCause(ctx)
	p.stdin, p.requests = io.Pipe()
	return p, nil
}

// serve starts the process and blocks until it has ended.
func (p *forkProcess) serve(command []string) {
	ctx := p.ctx
	replies, stdout := io.Pipe()
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := p.readReplies(bufio.NewReader(replies)); err != nil {
			p.kill(fmt.Errorf("its answer cannot be read: %w", err))
		}
		_ = replies.Close()
	})
	watching.Go(func() { p.watch(ctx) })

	res, err := subprocess.Run(ctx, subprocess.Command{
		Path: command[0], Args: command[1:], Stdin: p.stdin, Stdout: stdout, File: p.files[1], Limits: serverLimits, Confinement: p.confinement,
		OnExit: func() { _ = p.requests.Close() },
	})
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case res.Signal != "":
		err = fmt.Errorf("it was ended by a signal (%s)", res.Signal)
	case res.ExitCode != 0:
		err = fmt.Errorf("it failed: %s", pythontool.LastLine(res.Stderr))
	case err == nil:
		err = errRetired
	}
	p.err = err
	_, _ = p.stdin.Close(), stdout.Close()
	p.closeFiles()
	p.kill(nil)
	watching.Wait()
}

// watch ends the process if it does not get ready, and retires it when it was not used
// for long. It returns when ctx is done.
func (p *forkProcess) watch(ctx context.Context) {
	starting := time.NewTimer(p.limits.ready)
	defer starting.Stop()
	select {
	case <-ctx.Done():
		return
	case <-starting.C:
		p.kill(fmt.Errorf("it did not load yt-dlp within %v", p.limits.ready))
		return
	case <-p.ready:
	}
	idle := time.NewTicker(p.limits.idle / 10)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-idle.C:
			p.retireIdle()
		}
	}
}

// readReplies reads what the process writes, until its end. Error: it is no reply.
func (p *forkProcess) readReplies(from *bufio.Reader) error {
	for {
		line, err := from.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var r reply
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		if r.Files != nil && p.wasReady() {
			return errTwice
		}
		if r.Files != nil {
			p.watched = identify(r.Files)
			close(p.ready)
			continue
		}
		if r.Stdout < 0 || r.Stdout > MaxOutput || r.Stderr < 0 || r.Stderr > MaxOutput {
			return errors.New("an output is too long")
		}
		output := make([]byte, r.Stdout+r.Stderr)
		if _, err := io.ReadFull(from, output); err != nil {
			return err
		}
		if err := p.handle(r, output); err != nil {
			return err
		}
	}
}

// handle records that a run has begun or ended. Error: it had begun already.
func (p *forkProcess) handle(r reply, output []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	run := p.runs[r.ID]
	switch {
	case run == nil:
	case r.Status == nil && run.isOn:
		return errTwice
	case r.Status == nil:
		run.isOn = true
		close(run.began)
	default:
		delete(p.runs, r.ID)
		p.memory = r.Memory
		res := subprocess.Result{
			Stdout: output[:r.Stdout:r.Stdout], Stderr: output[r.Stdout:], Truncated: r.Truncated, ExitCode: *r.Status,
			CPUTime: time.Duration(r.CPU * float64(time.Second)),
		}
		if *r.Status < 0 {
			res.ExitCode, res.Signal = -1, syscall.Signal(-*r.Status).String()
		}
		run.ended <- res
		p.endIfUnused()
	}
	return nil
}

// run runs yt-dlp in a fork. It blocks until the run has ended, and for at most twice
// the grace period after ctx is done. Errors: ctx's cause; the run was lost.
func (p *forkProcess) run(ctx context.Context, c subprocess.Command) (subprocess.Result, error) {
	id, run, err := p.add()
	if err != nil {
		return subprocess.Result{}, err
	}
	env := c.Env
	if len(env) > 0 {
		env = p.confinement.Environ(env)
	}
	if err := p.sendWithFile(forkRequest{ID: id, Args: c.Args, Env: env, Limits: limitsOf(c.Limits)}, c.File); err != nil {
		p.kill(fmt.Errorf("it takes no file: %w", err))
		<-p.done
		return subprocess.Result{}, p.err
	}
	beginning := time.NewTimer(p.limits.begin)
	defer beginning.Stop()
	began := run.began
	for {
		select {
		case <-began:
			beginning.Stop()
			began = nil
		case <-beginning.C:
			p.kill(errHung)
			<-p.done
			return subprocess.Result{}, p.err
		case res := <-run.ended:
			if res.Signal != "" && res.Signal != syscall.SIGXCPU.String() {
				return res, fmt.Errorf("%w (%s)", errCrashed, res.Signal)
			}
			return res, nil
		case <-p.done:
			return subprocess.Result{}, p.err
		case <-ctx.Done():
			return p.cancel(id, run), context.Cause(ctx)
		}
	}
}

// limitsOf returns the limits of a run for a request.
func limitsOf(l subprocess.Limits) map[string]int64 {
	limits := map[string]int64{}
	for name, value := range map[string]int64{
		"DATA": l.DataBytes, "CPU": int64((l.CPUTime + time.Second - 1) / time.Second), "NOFILE": int64(l.OpenFiles), "FSIZE": l.FileBytes,
	} {
		if value > 0 {
			limits[name] = value
		}
	}
	return limits
}

// cancel ends a run and returns what it has printed. A process that does not end the run
// is killed.
func (p *forkProcess) cancel(id int, run *forkedRun) subprocess.Result {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		p.send(forkRequest{ID: id, Signal: s})
		ending := time.NewTimer(p.limits.grace)
		select {
		case res := <-run.ended:
			ending.Stop()
			return res
		case <-p.done:
			ending.Stop()
			return subprocess.Result{}
		case <-ending.C:
		}
	}
	p.kill(errHung)
	<-p.done
	return subprocess.Result{}
}

// add makes a run. Error: the process takes none any more.
func (p *forkProcess) add() (id int, run *forkedRun, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.retired {
		return 0, nil, errRetired
	}
	p.lastID++
	p.lastUse = time.Now()
	run = &forkedRun{began: make(chan struct{}), ended: make(chan subprocess.Result, 1)}
	p.runs[p.lastID] = run
	return p.lastID, run, nil
}

// send writes a line. It fails only when the process ends, which its run notices.
func (p *forkProcess) send(r forkRequest) { _ = p.sendWithFile(r, nil) }

// sendWithFile sends a file, if there is one, and then writes a line. The process only passes the file on: what it holds
// never gets into the memory that all later runs inherit. Error: the file cannot be sent.
func (p *forkProcess) sendWithFile(r forkRequest, file *os.File) error {
	r.File = file != nil
	var line bytes.Buffer
	if err := json.NewEncoder(&line).Encode(r); err != nil {
		panic(err) // numbers and strings
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	if file != nil {
		if err := sendFile(p.files[0], file); err != nil {
			return err
		}
	}
	_, _ = p.requests.Write(line.Bytes())
	return nil
}

func (p *forkProcess) closeFiles() {
	p.sending.Lock()
	defer p.sending.Unlock()
	for _, f := range p.files {
		_ = f.Close()
	}
}

// reasonToReplace returns why the process must be replaced, or nothing if it need not.
func (p *forkProcess) reasonToReplace() string {
	if !p.wasReady() {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.retired:
		return "it was not used"
	case p.lastID >= p.limits.runs:
		return "it has run yt-dlp often"
	case p.memory > p.limits.memory:
		return "it has grown"
	}
	paths := make([]string, len(p.watched))
	for i, f := range p.watched {
		paths[i] = f.path
	}
	if !slices.Equal(identify(paths), p.watched) {
		return "yt-dlp has changed"
	}
	return ""
}

// retire lets the process end after its last run.
func (p *forkProcess) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired = true
	p.endIfUnused()
}

func (p *forkProcess) retireIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.runs) == 0 && time.Since(p.lastUse) >= p.limits.idle {
		p.retired = true
		p.endIfUnused()
	}
}

// endIfUnused ends a retired process without runs, by the end of its input.
func (p *forkProcess) endIfUnused() {
	if p.retired && len(p.runs) == 0 {
		_ = p.requests.Close()
	}
}

// wasReady reports whether the process could run yt-dlp at any time.
func (p *forkProcess) wasReady() bool {
	select {
	case <-p.ready:
		return true
	default:
		return false
	}
}
