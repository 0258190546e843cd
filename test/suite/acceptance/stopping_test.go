package acceptance_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// statusOf requests a path and returns the status of the answer, or 0 without an answer.
func statusOf(ctx context.Context, s *system.Service, path string) int {
	answer, _ := s.Call(ctx, http.MethodGet, path, nil)
	return answer.Status
}

// A monitor is registered meanwhile, and watched. How connections and requests in progress end:
// adapters/httpapi.
func TestADrainingGatewayServesUntilTheDrainTimeIsOver(t *testing.T) { // section 8.7
	runTimeline(t, 1)
	const drain = 10 * time.Second
	s := startGateway(t, system.Config{Env: []string{fmt.Sprint("DRAIN_TIME=", drain)}})
	eventually(t, 30*time.Second, "ready", func() bool { return statusOf(t.Context(), s, "/readyz") == http.StatusOK })
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	stops := waitLog(t, s, 10*time.Second, hasPrefix("the gateway stops")).Timestamp
	id, err := s.Register(t.Context(), newVideoURL(), "http://127.0.0.1:9/hook", nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "a worker", func() bool { return len(system.WorkersOf(id)) == 1 })
	var notReady bool
	var served time.Time
	for listens := true; listens; scenario.Sleep(t.Context(), 10*time.Millisecond) {
		switch statusOf(t.Context(), s, "/readyz") {
		case http.StatusServiceUnavailable:
			notReady = true
		case http.StatusOK:
			if notReady {
				t.Fatal("the readiness probe answers 200 after a 503")
			}
		}
		began := time.Now()
		switch status := statusOf(t.Context(), s, "/api/v1/monitors"); status {
		case http.StatusOK:
			served = began
		case 0:
			listens = false
		default:
			t.Errorf("a request was answered with %d", status)
		}
	}
	if early := drain - served.Sub(stops); !notReady || early > time.Second {
		t.Errorf("the readiness probe said so: %t; the last request was served %s before the drain time was over", notReady, early)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	if n := len(system.WorkersOf(id)); n != 0 {
		t.Errorf("%d workers are left", n)
	}
}

// startBusyGateway starts a gateway with two workers, and returns it with all its
// processes. Flags alone name yt-dlp and an unusual internal address, so the
// workers start only if they are given both.
func startBusyGateway(t *testing.T) (*system.Service, []system.Process) {
	t.Helper()
	// The tool ignores signals, so that it could be left behind.
	tool := writeScript(t, `trap "" HUP INT TERM; exec sleep 600`)
	s := startGateway(t, system.Config{Args: []string{"--ytdlp-path=" + tool, "--internal-listen-addr=127.0.0.2:0"}})
	for range 2 {
		if _, err := s.Register(t.Context(), newVideoURL(), "http://127.0.0.1:9/hook", nil); err != nil {
			t.Fatal(err)
		}
	}
	var processes []system.Process
	eventually(t, time.Minute, "the workers and their tools run", func() bool {
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

func TestAStoppingGatewayLeavesNoProcess(t *testing.T) { // section 8.3
	t.Parallel()
	// Under nohup the gateway would inherit an ignored SIGHUP; a signal that is
	// handled here is not inherited.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	for name, signals := range map[string][]syscall.Signal{
		"the terminal is closed":      {syscall.SIGHUP},
		"interrupted twice":           {syscall.SIGINT, syscall.SIGINT},
		"closed while it is stopping": {syscall.SIGTERM, syscall.SIGHUP},
	} {
		t.Run(name, func(t *testing.T) {
			runTimeline(t, 2)
			s, processes := startBusyGateway(t)
			if len(signals) > 1 {
				for _, w := range s.Workers() { // so that they have to be killed after 30 s
					w.Signal(syscall.SIGSTOP)
				}
			}
			for _, sig := range signals {
				if err := s.Signal(sig); err != nil {
					t.Fatal(err)
				}
				waitLog(t, s, time.Minute, hasPrefix("the gateway stops"))
				scenario.Sleep(t.Context(), 200*time.Millisecond) // another signal at once would count as a repetition
			}
			asked := time.Now()
			ended := s.Wait()
			if ended != nil && len(signals) == 1 {
				t.Error(ended)
			}
			if took := time.Since(asked); len(signals) > 1 && took > 25*time.Second { // 30 s without the second signal
				t.Errorf("the forced shutdown took %s", took)
			}
			for _, l := range s.Log() {
				if l.Malformed {
					t.Errorf("a log line is not in the format of section 11.2: %s", l.Raw)
				}
			}
			if err := system.KillRemaining(processes); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAGatewayThatWaitsForItsDatabaseStopsOnSIGTERM(t *testing.T) { // section 8.3
	t.Parallel()
	s := startGateway(t, system.Config{Env: []string{"DB_DSN=host=/nonexistent"}})
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}
