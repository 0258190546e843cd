package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/adapters/runtime/internal/workerenv"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// outputDrainTimeout limits how long the output of an ended worker is read. Another process
// may hold it open.
const outputDrainTimeout = 2 * time.Second

// worker is the process of a worker.
type worker struct {
	cmd       *exec.Cmd
	input     io.Closer // the other end of its standard input; it is at its end when this process ends
	output    *os.File
	forwarded chan struct{} // closed when its output has been read to the end
}

// start starts a worker.
func (c Config) start(spec supervisor.WorkerSpec, output *outputForwarder) (_ *worker, err error) {
	env, err := c.environment(spec)
	if err != nil {
		return nil, err
	}
	// For people who look at processes: no other process of the user can read the environment of a worker.
	args := append(slices.Clip(c.Args), "--monitor-id="+string(spec.ID), "--generation="+strconv.Itoa(spec.Generation))
	cmd := exec.Command(c.Path, args...) //nolint:noctx // Ask and Force end it
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	w := &worker{cmd: cmd, forwarded: make(chan struct{})}
	if w.input, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("input of the worker: %w", err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		_ = w.input.Close()
		return nil, fmt.Errorf("output of the worker: %w", err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	err = subprocess.StartBound(cmd)
	_ = out.Close()
	if err != nil {
		_ = w.input.Close()
		_ = in.Close()
		return nil, fmt.Errorf("start the worker: %w", err)
	}
	w.output = in
	go func() {
		defer close(w.forwarded)
		output.forward(in, spec, c.Log.With("component", "worker", "monitor_id", string(spec.ID)))
	}()
	return w, nil
}

// environment returns a worker's environment. The assignment comes last, so it wins over other
// variables of the same name.
func (c Config) environment(spec supervisor.WorkerSpec) ([]string, error) {
	assignment, err := workerenv.Assignment(spec, c.Tokens)
	if err != nil {
		return nil, err
	}
	env := append(subprocess.Environment(), c.Environ...)
	for _, v := range append(assignment,
		workerenv.Variable{Name: workerenv.GatewayURL, Value: c.GatewayURL},
		workerenv.Variable{Name: workerenv.GatewayCA, Value: c.GatewayCA},
		workerenv.Variable{Name: workerenv.LogLevel, Value: c.LogLevel},
		workerenv.Variable{Name: "END_WITH_INPUT", Value: "on"},
	) {
		env = append(env, v.Name+"="+v.Value)
	}
	return env, nil
}

// Run waits for the end of the process and of its output.
func (w *worker) Run() error {
	err := subprocess.WaitBound(w.cmd)
	_ = w.output.SetReadDeadline(time.Now().Add(outputDrainTimeout))
	<-w.forwarded
	_ = w.output.Close()
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		return errors.New(exitDetail(exit.ProcessState))
	}
	return err
}

func (w *worker) Ask() {
	_ = w.cmd.Process.Signal(syscall.SIGTERM)
	_ = w.cmd.Process.Signal(syscall.SIGCONT) // a stopped process could not handle SIGTERM
}

func (w *worker) Force() { _ = w.cmd.Process.Kill() }

// exitDetail says how a process ended: "exit status 1", "killed by SIGKILL".
func exitDetail(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		if name := unix.SignalName(ws.Signal()); name != "" {
			return "killed by " + name
		}
		return "killed by signal " + ws.Signal().String()
	}
	return fmt.Sprintf("exit status %d", state.ExitCode())
}
