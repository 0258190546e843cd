package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// startTimeout bounds a start, recovery after a crash included.
	startTimeout = 60 * time.Second

	// stopGrace is how long a fast shutdown may take, killGrace an immediate one.
	stopGrace = 5 * time.Second
	killGrace = 2 * time.Second

	// poll is how often the server's state is looked at while it starts or ends.
	poll = 5 * time.Millisecond

	// drainTimeout bounds the wait for the last log lines after the exit.
	drainTimeout = 2 * time.Second

	// remnantTimeout is how long children of a killed server may hold its
	// shared memory.
	remnantTimeout = 10 * time.Second
)

// process is one run of the server.
type process struct {
	cmd    *exec.Cmd
	lines  *lines
	exited chan struct{} // closed when it has been reaped
}

// launch starts the server and blocks until it accepts connections.
func (s *Server) launch(ctx context.Context) (*process, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	deadline := time.Now().Add(remnantTimeout)
	for {
		p, err := s.try(ctx)
		var r *refusal
		if errors.As(err, &r) && r.remnants && time.Now().Before(deadline) {
			// What a killed server left of itself is about to go.
			if err := sleep(ctx, 20*poll); err != nil {
				return nil, err
			}
			continue
		}
		return p, err
	}
}

// refusal is a server that ended before it was ready.
type refusal struct {
	how, said string
	remnants  bool
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the server did not start: %s: %.500s", r.how, r.said)
}

func (s *Server) try(ctx context.Context) (*process, error) {
	c := s.cluster
	dir, err := os.Open(c.dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()

	p := &process{lines: &lines{log: s.log, full: &s.full}, exited: make(chan struct{})}
	// It outlives ctx, which bounds the start only; end ends it.
	p.cmd = exec.CommandContext(context.WithoutCancel(ctx), c.bin.postgres(), append([]string{"-D", c.handOver(dir)}, settings(c, s.socket.forPG)...)...)
	c.prepare(p.cmd, dir)
	p.cmd.Stderr = p.lines
	p.cmd.WaitDelay = drainTimeout
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s as user %d: %w", c.bin.postgres(), c.who.uid(), err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // how it ended is in ProcessState
	}()

	for {
		select {
		case <-p.exited:
			said := p.lines.last()
			return nil, &refusal{p.how(), said, strings.Contains(said, "shared memory block")}
		case <-ctx.Done():
			p.end(ctx.Done())
			return nil, fmt.Errorf("wait for the server to start: %w", context.Cause(ctx))
		case <-time.After(poll):
		}
		if st, ok := c.readPID(); ok && st.pid == p.pid() && st.ready {
			return p, nil
		}
	}
}

// settings are small: this is one gateway's database. They are given on the
// command line, so the cluster itself holds none that could grow old.
func settings(c cluster, socketDir string) []string {
	sets := []string{
		ownParameter + "=" + c.dir,
		"cluster_name=stream-monitor",
		"listen_addresses=",
		"unix_socket_directories=" + socketDir,
		"unix_socket_permissions=0700",
		"port=" + port,
		"max_connections=40",
		"shared_buffers=32MB",
		"huge_pages=off",
		"fsync=on",
		"synchronous_commit=on",
		"wal_level=minimal",
		"max_wal_senders=0",
		"min_wal_size=16MB",
		"max_wal_size=128MB",
		"jit=off",
		"max_parallel_workers_per_gather=0",
		"logging_collector=off",
		"log_destination=stderr",
		"log_line_prefix=",
		"log_min_messages=warning",
		"log_min_error_statement=panic", // statements may hold what callers registered
		"timezone=UTC",
	}
	if runtime.GOOS == "linux" && c.bin.major >= 14 {
		// A start after a crash writes through all files of the cluster: one by one
		// that takes a second or two, at once a tenth of it.
		sets = append(sets, "recovery_init_sync_method=syncfs")
	}
	var args []string
	for _, set := range sets {
		args = append(args, "-c", set)
	}
	return args
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// how tells, for people, how it ended; only after exited.
func (p *process) how() string { return p.cmd.ProcessState.String() }

// end ends the process and blocks until it is gone: fast shutdown, immediate
// shutdown after stopGrace or once force is closed, SIGKILL at last.
func (p *process) end(force <-chan struct{}) {
	p.lines.stopping.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGINT) // gone already: the wait below returns
	select {
	case <-p.exited:
		return
	case <-force:
	case <-time.After(stopGrace):
	}
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-p.exited:
		return
	case <-time.After(killGrace):
	}
	_ = p.cmd.Process.Kill()
	<-p.exited
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
