package acceptance_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// startBusyGateway starts a gateway with two workers, and returns it with all its
// processes. Flags alone name yt-dlp and an unusual internal address, so the
// workers start only if they are given both.
func startBusyGateway(t *testing.T) (*system.Service, []system.Process) {
	t.Helper()
	// The tool ignores signals, so that it could be left behind.
	tool := writeScript(t, `trap "" HUP INT TERM; exec sleep 600`)
	s, err := system.Start(t.Context(), system.Config{Binary: binary, DataDir: filepath.Join(t.TempDir(), "data"),
		Args: []string{"--ytdlp-path=" + tool, "--internal-listen-addr=127.0.0.2:0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Stop()
		if t.Failed() {
			t.Logf("the gateway's log ends:\n%s", s.Tail(30))
		}
	})
	for range 2 {
		if _, err := s.Register(t.Context(), "https://www.youtube.com/watch?v="+newVideoID(), "http://127.0.0.1:9/hook", nil); err != nil {
			t.Fatal(err)
		}
	}
	var processes []system.Process
	eventually(t, 60*time.Second, "the workers and their tools run", func() bool {
		processes = s.Descendants()
		tools := 0
		for _, p := range processes {
			if p.Command == "sleep 600" {
				tools++
			}
		}
		return tools >= 2
	})
	return s, processes
}

// waitStopping waits until a signal has stopped the gateway, and until another one would not
// count as a repetition of it.
func waitStopping(t *testing.T, s *system.Service) {
	t.Helper()
	if _, err := s.WaitLog(timeoutContext(t, time.Minute), func(l system.Line) bool { return l.Message == "the gateway stops" }); err != nil {
		t.Fatal(err)
	}
	sleep(t.Context(), 200*time.Millisecond)
}

func TestAStoppingGatewayLeavesNoProcess(t *testing.T) { // section 8.3
	t.Parallel()
	// Under nohup the gateway would inherit an ignored SIGHUP; a signal that is
	// handled here is not inherited.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	for name, signals := range map[string][]syscall.Signal{
		"the terminal is closed":      {syscall.SIGHUP},
		"asked twice":                 {syscall.SIGTERM, syscall.SIGTERM},
		"interrupted twice":           {syscall.SIGINT, syscall.SIGINT},
		"closed while it is stopping": {syscall.SIGTERM, syscall.SIGHUP},
	} {
		t.Run(name, func(t *testing.T) {
			runTimeline(t, 2, 20*time.Second)
			s, processes := startBusyGateway(t)
			if len(signals) > 1 {
				for _, w := range s.Workers() { // so that they have to be killed after 30 s
					_ = syscall.Kill(w.PID, syscall.SIGSTOP)
				}
			}
			for _, sig := range signals {
				if err := s.Signal(sig); err != nil {
					t.Fatal(err)
				}
				waitStopping(t, s)
			}
			asked := time.Now()
			ended := s.Wait()
			took := time.Since(asked)
			if ended != nil && len(signals) == 1 {
				t.Error(ended)
			}
			for _, l := range s.Log() {
				if l.Malformed {
					t.Errorf("a log line is not in the format of section 11.2: %s", l.Raw)
				}
			}
			if err := system.KillRemaining(processes); err != nil {
				t.Error(err)
			}
			if len(signals) > 1 && took > 25*time.Second { // 30 s without the second signal
				t.Errorf("the forced shutdown took %s", took)
			}
		})
	}
}
