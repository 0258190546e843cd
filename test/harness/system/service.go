package system

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Keys that every service is started with.
const (
	APIKey      = "an-api-key-for-tests"
	InternalKey = "an-internal-key-for-tests"
	SigningKey  = "a-signing-key-for-tests"
)

// Config holds the settings with which the service is started.
type Config struct {
	Binary  string    // required
	DataDir string    // required
	Env     []string  // after the inherited environment and the defaults for tests
	Args    []string  // flags of serve
	Log     io.Writer // gets every log line as well; nil: it is dropped
}

// StoreKeys makes a data directory with a keys.json as a first start leaves it, with the keys
// of the tests. It returns all five. Another user may enter the directory, which the private
// database needs.
func StoreKeys(dataDir string) (keys map[string]string, err error) {
	keys = map[string]string{
		"API_KEY": APIKey, "INTERNAL_API_KEY": InternalKey, "WEBHOOK_SIGNING_KEY": SigningKey,
		"EVIDENCE_LINK_KEY": "a-link-key-for-tests", "SECRETS_KEY": "a-secrets-key-for-tests",
	}
	content, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dataDir, 0o755); err != nil {
		return nil, err
	}
	return keys, os.WriteFile(filepath.Join(dataDir, "keys.json"), content, 0o600)
}

// Service is a gateway that runs.
type Service struct {
	cmd      *exec.Cmd
	out      io.Closer // the reading end of the log's pipe
	client   client
	exited   chan struct{} // closed when the process has been reaped
	exit     error
	scanning sync.WaitGroup

	mu    sync.Mutex
	lines []Line
	news  chan struct{} // closed and replaced at each line
}

// Line is a line of the log (section 11.2).
type Line struct {
	Timestamp time.Time      `json:"timestamp"`
	Level     string         `json:"level"`
	MonitorID string         `json:"monitor_id"`
	Component string         `json:"component"`
	Message   string         `json:"message"`
	Data      map[string]any `json:"data"`
	Raw       string         `json:"-"`
	Malformed bool           `json:"-"` // not in the specified format
}

// Start starts the service and blocks until it listens. Error: ctx's; the service
// has exited.
func Start(ctx context.Context, c Config) (*Service, error) {
	s, err := Launch(c)
	if err != nil {
		return nil, err
	}
	if err := s.WaitListening(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// Launch starts the service and does not wait. Its API may be called after
// WaitListening has returned nil.
func Launch(c Config) (*Service, error) {
	cmd := exec.Command(c.Binary, append([]string{"serve"}, c.Args...)...)
	cmd.Env = append(slices.Clone(os.Environ()),
		"LISTEN_ADDR=127.0.0.1:0", "INTERNAL_LISTEN_ADDR=127.0.0.1:0",
		"DATA_DIR="+c.DataDir, "CALLBACK_ALLOWED_NETWORKS=127.0.0.0/8",
		"RATE_LIMIT_CREATE_PER_MIN=0", "RATE_LIMIT_QUERY_PER_MIN=0",
		"API_KEY="+APIKey, "INTERNAL_API_KEY="+InternalKey, "WEBHOOK_SIGNING_KEY="+SigningKey,
	)
	cmd.Env = append(append(cmd.Env, toolEnv()...), c.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	s := &Service{cmd: cmd, out: out, exited: make(chan struct{}), news: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Binary, err)
	}
	s.scanning.Go(func() { s.scan(out, c.Log) })
	go func() {
		s.scanning.Wait()
		s.exit = cmd.Wait()
		close(s.exited)
	}()
	return s, nil
}

// WaitListening blocks until the service listens. Error: ctx's; the service has
// exited.
func (s *Service) WaitListening(ctx context.Context) error {
	var at [2]string
	for i, server := range [...]string{"public", "internal"} {
		line, err := s.WaitLog(ctx, func(l Line) bool {
			return strings.HasPrefix(l.Message, "listening") && l.Data["server"] == server
		})
		if err != nil {
			return fmt.Errorf("the service does not listen: %w; its log ends:\n%s", err, s.Tail(20))
		}
		at[i] = fmt.Sprint("http://", line.Data["addr"])
	}
	s.client = newClient(at[0], at[1])
	return nil
}

// scan reads the log until the process has exited.
func (s *Service) scan(out io.Reader, copyTo io.Writer) {
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 64<<10), 4<<20)
	for lines.Scan() {
		line := Line{Raw: lines.Text()}
		err := json.Unmarshal(lines.Bytes(), &line)
		line.Malformed = err != nil || line.Timestamp.IsZero() || line.Level == "" || line.Message == "" || line.Component == ""
		s.mu.Lock()
		s.lines = append(s.lines, line)
		close(s.news)
		s.news = make(chan struct{})
		s.mu.Unlock()
		if copyTo != nil {
			fmt.Fprintln(copyTo, line.Raw)
		}
	}
}

// Log returns all lines so far.
func (s *Service) Log() []Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

// Tail returns the last n lines of the log.
func (s *Service) Tail(n int) string {
	var text []string
	for _, l := range s.Log() {
		text = append(text, l.Raw)
	}
	return strings.Join(text[max(0, len(text)-n):], "\n")
}

// WaitLog waits for a line, and also finds one that has come already. Error:
// ctx's; the service has exited.
func (s *Service) WaitLog(ctx context.Context, wanted func(Line) bool) (Line, error) {
	for seen := 0; ; {
		s.mu.Lock()
		lines, news := s.lines, s.news
		s.mu.Unlock()
		for _, l := range lines[seen:] {
			if wanted(l) {
				return l, nil
			}
		}
		seen = len(lines)
		select {
		case <-news:
		case <-s.exited:
			return Line{}, errors.New("the service has ended")
		case <-ctx.Done():
			return Line{}, ctx.Err()
		}
	}
}

// CloseLogPipe closes the reading end of the log's pipe, as when a log collector
// has died. Log gets no more lines.
func (s *Service) CloseLogPipe() error { return s.out.Close() }

// PID is the id of the service's process.
func (s *Service) PID() int { return s.cmd.Process.Pid }

// Signal sends the service a signal.
func (s *Service) Signal(sig syscall.Signal) error { return s.cmd.Process.Signal(sig) }

// Kill ends the service with SIGKILL, but not its workers, and returns when the
// process is gone.
func (s *Service) Kill() {
	_ = s.Signal(syscall.SIGKILL)
	<-s.exited
}

// Exited is closed when the service has exited.
func (s *Service) Exited() <-chan struct{} { return s.exited }

// Killed reports whether the service, which has exited, was ended by SIGKILL.
func (s *Service) Killed() bool {
	status, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// Wait waits for the service to exit, and kills it after 45 s. Error: it was
// killed, or its exit status is not 0.
func (s *Service) Wait() error {
	select {
	case <-s.exited:
		if s.exit != nil {
			return fmt.Errorf("the service ended with %w", s.exit)
		}
		return nil
	case <-time.After(45 * time.Second):
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.exited
		return errors.New("the service had to be killed: it did not end within 45 s of being asked to")
	}
}

// Stop sends SIGTERM and waits for the service to exit. A Remote one is left as it is. Error: as
// Wait's, or a process was left behind.
func (s *Service) Stop() error {
	if s.cmd == nil {
		return nil
	}
	descendants := s.Descendants()
	_ = s.Signal(syscall.SIGTERM)
	return errors.Join(s.Wait(), KillRemaining(descendants))
}
