package acceptance_test

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// busy is a service of its own with two workers, and all that it has started.
// Only its flags say where yt-dlp is, and its workers have to find it at an
// address that is not the usual one: if not, it does not become busy.
func busy(t *testing.T) (*system.Service, []system.Process) {
	t.Helper()
	// The tool does not end when asked to, so that there is something to leave behind.
	tool := script(t, `trap "" HUP INT TERM; exec sleep 600`)
	s, err := system.Start(t.Context(), system.Config{Binary: binary, DataDir: filepath.Join(t.TempDir(), "data"),
		Args: []string{"--ytdlp-path=" + tool, "--internal-listen-addr=127.0.0.2:0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Stop()
		if t.Failed() {
			t.Logf("the service's log ends:\n%s", s.Tail(30))
		}
	})
	for range 2 {
		if _, err := s.Register(t.Context(), "https://www.youtube.com/watch?v="+video(), "http://127.0.0.1:9/hook", nil); err != nil {
			t.Fatal(err)
		}
	}
	var family []system.Process
	eventually(t, 60*time.Second, "workers and their tools", func() bool {
		family = s.Descendants()
		tools := 0
		for _, p := range family {
			if p.Command == "sleep 600" {
				tools++
			}
		}
		return tools >= 2
	})
	return s, family
}

func TestHowItIsAskedToEnd(t *testing.T) { // 8.3
	t.Parallel()
	// The tests may run under nohup, which must not reach the service: a signal
	// that is handled here is not ignored there.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	for name, signals := range map[string][]syscall.Signal{
		"the terminal is closed":      {syscall.SIGHUP},
		"asked twice":                 {syscall.SIGTERM, syscall.SIGTERM},
		"interrupted twice":           {syscall.SIGINT, syscall.SIGINT},
		"closed while it is stopping": {syscall.SIGTERM, syscall.SIGHUP},
	} {
		t.Run("leaves nothing behind when "+name, func(t *testing.T) {
			t.Parallel()
			s, family := busy(t)
			if len(signals) > 1 {
				for _, w := range s.Workers() { // so that they need 30 s and force to end
					_ = syscall.Kill(w.PID, syscall.SIGSTOP)
				}
			}
			for _, sig := range signals {
				if err := s.Signal(sig); err != nil {
					t.Fatal(err)
				}
				pause(t.Context(), 50*time.Millisecond)
			}
			asked := time.Now()
			ended := s.Wait()
			if ended != nil && len(signals) == 1 {
				t.Error(ended)
			}
			for _, l := range s.Log() {
				if l.Malformed {
					t.Errorf("a log line is not in the shape of section 11.2: %s", l.Raw)
				}
			}
			if err := system.KillRemaining(family); err != nil {
				t.Error(err)
			}
			if took := time.Since(asked); len(signals) > 1 && took > 10*time.Second {
				t.Errorf("hurrying took %s", took)
			}
		})
	}
}

// pause lets a little time pass: it is the time between two signals that the
// test is about.
func pause(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}
