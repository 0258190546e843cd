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

	"github.com/stream-monitor/stream-monitor/application/wait"
)

const (
	// startTimeout limits a start, including the recovery after a crash.
	startTimeout = 60 * time.Second

	fastShutdownTimeout      = 5 * time.Second
	immediateShutdownTimeout = 2 * time.Second

	// pollInterval is how often the server's state is read while it starts or ends.
	pollInterval = 5 * time.Millisecond

	// drainTimeout limits the wait for the last log lines after the exit.
	drainTimeout = 2 * time.Second

	// sharedMemoryTimeout limits the wait until the backends of a killed server release its
	// shared memory. A new server cannot start before.
	sharedMemoryTimeout = 10 * time.Second
)

// process is one run of the server.
type process struct {
	cmd    *exec.Cmd
	output *logWriter
	exited chan struct{} // closed when the process has been reaped
}

// launch starts the server and blocks until it accepts connections.
func (s *Server) launch(ctx context.Context) (*process, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	deadline := time.Now().Add(sharedMemoryTimeout)
	for {
		p, err := s.launchOnce(ctx)
		var failed *startError
		if errors.As(err, &failed) && failed.sharedMemoryInUse && time.Now().Before(deadline) {
			if !wait.For(ctx, 20*pollInterval) {
				return nil, context.Cause(ctx)
			}
			continue
		}
		return p, err
	}
}

// startError says that the server ended before it was ready.
type startError struct {
	exitStatus, message string
	sharedMemoryInUse   bool // by the backends of an earlier server, which are about to end
}

func (e *startError) Error() string {
	return fmt.Sprintf("the server did not start: %s: %.500s", e.exitStatus, e.message)
}

// launchOnce is one try of launch.
func (s *Server) launchOnce(ctx context.Context) (*process, error) {
	c := s.cluster
	dir, err := os.Open(c.dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()

	p := &process{output: &logWriter{log: s.log, diskFull: &s.diskFull}, exited: make(chan struct{})}
	// The process outlives ctx, which bounds only the start; end ends it.
	p.cmd = exec.CommandContext(context.WithoutCancel(ctx), c.bin.postgres(), append([]string{"-D", c.dataDirArg(dir)}, settings(c, s.socket.serverDir)...)...)
	c.configure(p.cmd, dir)
	p.cmd.Stderr = p.output
	p.cmd.WaitDelay = drainTimeout
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s as user %d: %w", c.bin.postgres(), c.user.uid(), err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // the exit status is in ProcessState
	}()

	for {
		select {
		case <-p.exited:
			message := p.output.lastMessage()
			return nil, &startError{p.exitStatus(), message, strings.Contains(message, "shared memory block")}
		case <-ctx.Done():
			p.end(ctx.Done())
			return nil, fmt.Errorf("wait for the server to start: %w", context.Cause(ctx))
		case <-time.After(pollInterval):
		}
		if st, ok := c.readPID(); ok && st.pid == p.pid() && st.ready {
			return p, nil
		}
	}
}

// settings returns the server's settings, with low limits because only one gateway uses the
// database. They are arguments of the command line, so that the cluster keeps none of
// them.
func settings(c cluster, socketDir string) []string {
	values := []string{
		markerSetting + "=" + c.dir,
		"cluster_name=stream-monitor",
		"listen_addresses=",
		"unix_socket_directories=" + socketDir,
		"unix_socket_permissions=0700",
		"port=" + port,
		"max_connections=60", // two gateways, and connections that end late
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
		"log_min_error_statement=panic", // statements may contain data of callers
		"timezone=UTC",
	}
	if runtime.GOOS == "linux" && c.bin.major >= 14 {
		// A start after a crash syncs all files of the cluster. One call for the whole
		// file system takes a tenth of the time: 0.1 to 0.2 s instead of 1 to 2 s.
		values = append(values, "recovery_init_sync_method=syncfs")
	}
	var args []string
	for _, value := range values {
		args = append(args, "-c", value)
	}
	return args
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// exitStatus describes how the process ended, for people; call it after exited is
// closed.
func (p *process) exitStatus() string { return p.cmd.ProcessState.String() }

// end ends the process and blocks until it is gone. It asks for a fast shutdown,
// for an immediate one after fastShutdownTimeout or when force is closed, and then
// sends SIGKILL.
func (p *process) end(force <-chan struct{}) {
	p.output.stopping.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGINT) // if it has ended already, the wait below returns
	select {
	case <-p.exited:
		return
	case <-force:
	case <-time.After(fastShutdownTimeout):
	}
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-p.exited:
		return
	case <-time.After(immediateShutdownTimeout):
	}
	_ = p.cmd.Process.Kill()
	<-p.exited
}
