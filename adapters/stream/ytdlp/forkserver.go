package ytdlp

import (
	"context"
	_ "embed" // the program of the fork server
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
)

//go:embed forkserver.py
var forkServerProgram string

// forkLimits say when a process of the fork server is replaced, and when it counts as hung.
type forkLimits struct {
	runs   int           // of one process; then it is replaced
	memory int64         // bytes; a process that has held more is replaced
	idle   time.Duration // without a run; then it ends, and the next run starts another
	ready  time.Duration // to import yt-dlp
	begin  time.Duration // to fork
	pause  time.Duration // for which the command is run after a failure
	grace  time.Duration // between SIGTERM and SIGKILL of a run
}

// defaultForkLimits suit a process that holds 50 MB. The grace period is that of
// subprocess.Run.
var defaultForkLimits = forkLimits{
	runs: 1000, memory: 512 << 20, idle: 10 * time.Minute,
	ready: 30 * time.Second, begin: 5 * time.Second, pause: time.Minute, grace: 2 * time.Second,
}

// serverLimits are those of the process itself, which runs inherit before they get their own.
// It needs three open files for each run.
var serverLimits = subprocess.Limits{DataBytes: 1 << 30, OpenFiles: 4096, FileBytes: pythontool.MaxFile}

// errUnsupported means that yt-dlp cannot be run in forks on this system.
var errUnsupported = errors.New("forks of a process that stays up need Linux")

// ForkServer runs yt-dlp in forks of a Python process that has imported it once. That
// saves three quarters of the CPU time of a run. Each run has a process of its own, and nothing
// passes from one run to the next. It runs the command if forks cannot be used here or a
// run is lost. One ForkServer is shared by all Resolvers of a host.
//
// Its process is started by the first run. It is replaced after 1,000 runs, when it has
// grown to 512 MiB, and when yt-dlp has changed on disk. It ends after 10 minutes without
// a run.
type ForkServer struct {
	files  []string // that runs may read; nil: they are not confined
	path   string
	limits forkLimits
	log    *slog.Logger
	ctx    context.Context // until Close
	stop   context.CancelFunc
	all    sync.WaitGroup // counts processes

	mu       sync.Mutex
	current  *forkProcess // takes new runs; nil: none
	failedAt time.Time    // when the last start failed
	reason   string       // why yt-dlp is run as a command; logged once
}

// NewForkServer makes a ForkServer for the yt-dlp at path, or with that name in PATH. It
// starts no process. files are further files and folders that runs may read; with nil they
// are not confined. The caller must Close it.
func NewForkServer(path string, files []string, log *slog.Logger) *ForkServer {
	ctx, stop := context.WithCancel(context.Background())
	return &ForkServer{path: path, files: files, limits: defaultForkLimits, log: log.With("component", "yt-dlp"), ctx: ctx, stop: stop}
}

// Close ends the process and its runs, and waits for their ends.
func (s *ForkServer) Close() {
	s.stop()
	s.all.Wait()
}

// Check starts a process and returns when it could run yt-dlp. Errors: it cannot; ctx's.
func (s *ForkServer) Check(ctx context.Context) error {
	_, err := s.process(ctx)
	return err
}

// Run runs yt-dlp as subprocess.Run does. It uses Args, Env, File and Limits of c, and its
// MaxOutput is that of this package.
func (s *ForkServer) Run(ctx context.Context, c subprocess.Command) (subprocess.Result, error) {
	for range 2 { // a process may be replaced before it gets the run
		p, err := s.process(ctx)
		if err != nil {
			break
		}
		res, err := p.run(ctx, c)
		switch {
		case err == nil || ctx.Err() != nil:
			return res, err
		case errors.Is(err, errCrashed):
			s.log.Warn("A run of yt-dlp crashed in the process that stays up, the command is run instead: update yt-dlp and Python if it goes on", "error", err.Error())
		}
		if !errors.Is(err, errRetired) {
			break
		}
	}
	return subprocess.Run(ctx, c)
}

// process returns a process that is ready for a run. It starts the first one, and the
// replacement of one with a reason to be replaced. Error: the command must be run.
func (s *ForkServer) process(ctx context.Context) (*forkProcess, error) {
	p, err := s.startedProcess()
	if err != nil {
		return nil, err
	}
	select {
	case <-p.ready:
		return p, nil
	case <-p.done:
		return nil, p.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *ForkServer) startedProcess() (*forkProcess, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.current; p != nil {
		why := p.reasonToReplace()
		if why == "" {
			return p, nil
		}
		s.log.Debug("the process that stays up is replaced", "because", why)
		p.retire()
		s.current = nil
	}
	if s.ctx.Err() != nil {
		return nil, s.ctx.Err()
	}
	if !s.failedAt.IsZero() && time.Since(s.failedAt) < s.limits.pause {
		return nil, errors.New(s.reason)
	}
	command, err := pythonCommand(s.path, s.files != nil)
	if err != nil {
		s.failed(err)
		return nil, err
	}
	p, err := newForkProcess(s.ctx, s.limits, subprocess.NewConfinement(s.files, true))
	if err != nil {
		s.failed(err)
		return nil, err
	}
	s.current = p
	s.all.Go(func() {
		p.serve(command)
		s.ended(p)
		close(p.done)
	})
	return p, nil
}

// ended records why a process has ended. After a failure the command is run for limits.pause.
func (s *ForkServer) ended(p *forkProcess) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == p {
		s.current = nil
	}
	switch {
	case s.ctx.Err() != nil:
	case !p.wasReady():
		s.failed(p.err)
	case !errors.Is(p.err, errRetired):
		s.failedAt, s.reason = time.Now(), p.err.Error()
		s.log.Warn("The process that stays up for yt-dlp has failed, the command is run for a minute: update yt-dlp and Python if it goes on", "error", p.err.Error())
	default:
		s.failedAt, s.reason = time.Time{}, ""
	}
}

// failed records that no process is started for limits.pause, and logs each new reason once.
func (s *ForkServer) failed(err error) {
	s.failedAt = time.Now()
	if reason := pythontool.OneLine(err.Error()); reason != s.reason {
		s.reason = reason
		s.log.Info("yt-dlp is started for every question, because no process that has loaded it can stay up", "reason", reason)
	}
}

// pythonCommand returns the command of a fork server for a yt-dlp, whose runs may be confined, each for itself.
func pythonCommand(path string, confined bool) ([]string, error) {
	if runtime.GOOS != "linux" {
		return nil, errUnsupported
	}
	found, err := exec.LookPath(path)
	if err != nil {
		return nil, err
	}
	command, err := interpreter(found)
	if err != nil {
		return nil, err
	}
	each := ""
	if confined {
		each = "confined"
	}
	return slices.Concat(command, []string{"-c", forkServerProgram, found, strconv.Itoa(MaxOutput), each}), nil
}

// fileID identifies the content of a file or directory.
type fileID struct {
	path    string
	size    int64
	changed time.Time
}

// identify returns what files are now. A file that does not exist has no size and time.
func identify(paths []string) []fileID {
	ids := make([]fileID, len(paths))
	for i, path := range paths {
		ids[i].path = path
		if info, err := os.Stat(path); err == nil {
			ids[i].size, ids[i].changed = info.Size(), info.ModTime()
		}
	}
	return ids
}
