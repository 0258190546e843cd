package acceptance_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// response is the result of a request on a new connection.
type response struct {
	start, ended time.Time // ended is zero: the connection failed
	status       int       // 0: the connection failed
	closes       bool      // the answer has Connection: close
	err          error
}

// get makes a request on a new connection. Without an answer it fails after 20 s.
func get(ctx context.Context, s *system.Service, path string) response {
	r := response{start: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+path, nil)
	if err != nil {
		r.err = err
		return r
	}
	req.Header.Set("X-API-Key", system.APIKey)
	res, err := transport.RoundTrip(req)
	if err != nil {
		r.err = err
		return r
	}
	defer res.Body.Close()
	r.status, r.closes, r.ended = res.StatusCode, res.Close, time.Now()
	return r
}

// pollUntilRefused repeats a request until the connection is refused, for a minute.
func pollUntilRefused(ctx context.Context, s *system.Service, path string) <-chan []response {
	done := make(chan []response, 1)
	go func() {
		var all []response
		for began := time.Now(); ; {
			r := get(ctx, s, path)
			all = append(all, r)
			if r.err != nil || time.Since(began) > time.Minute {
				done <- all
				return
			}
			scenario.Sleep(ctx, 10*time.Millisecond)
		}
	}()
	return done
}

// startSlowRequest makes the gateway send a test webhook to a receiver that does
// not answer until release is called. answer waits for the gateway's answer.
func startSlowRequest(t *testing.T, s *system.Service) (release func(), answer func() (system.Response, error)) {
	t.Helper()
	received, released := make(chan struct{}), make(chan struct{})
	release = sync.OnceFunc(func() { close(released) })
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(received)
		<-released
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(receiver.Close)
	t.Cleanup(release)
	type result struct {
		system.Response
		error
	}
	answered := make(chan result, 1)
	go func() {
		a, err := s.Call(context.Background(), http.MethodPost, "/api/v1/webhooks/test", map[string]any{"callback_url": receiver.URL})
		answered <- result{a, err}
	}()
	select {
	case <-received:
	case r := <-answered:
		t.Fatalf("the test webhook was answered at once: %v %v", r.Response, r.error)
	case <-timeoutContext(t, 20*time.Second).Done():
		t.Fatal("the receiver got no test webhook")
	}
	return release, func() (system.Response, error) { r := <-answered; return r.Response, r.error }
}

// A monitor is registered meanwhile, and watched.
func TestADrainingGatewayServesUntilTheDrainTimeIsOver(t *testing.T) { // section 8.7
	runTimeline(t, 1)
	const drain = 5 * time.Second
	s := startGateway(t, system.Config{Env: []string{fmt.Sprint("DRAIN_TIME=", drain)}})
	eventually(t, 30*time.Second, "ready", func() bool { return get(t.Context(), s, "/readyz").status == http.StatusOK })
	release, answer := startSlowRequest(t, s)
	probes, requests := pollUntilRefused(t.Context(), s, "/readyz"), pollUntilRefused(t.Context(), s, "/api/v1/monitors")
	scenario.Sleep(t.Context(), 500*time.Millisecond)
	signalled := time.Now()
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitLog(t, s, 10*time.Second, hasPrefix("the gateway stops"))
	id, err := s.Register(t.Context(), newVideoURL(), "http://127.0.0.1:9/hook", nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "a worker", func() bool { return len(system.WorkersOf(id)) == 1 })

	notReadySince := assertProbes(t, <-probes, signalled)
	assertServed(t, <-requests, signalled, notReadySince.Add(drain))
	release()
	if a, err := answer(); err != nil || a.Status != http.StatusOK || a.Body["delivered"] != true {
		t.Errorf("the slow request was answered with %v %v", a, err)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	if n := len(system.WorkersOf(id)); n != 0 {
		t.Errorf("%d workers are left", n)
	}
}

// assertProbes asserts that a gateway was ready until it was signalled, and never again. It
// returns the first time at which it was not.
func assertProbes(t *testing.T, probes []response, signalled time.Time) (notReadySince time.Time) {
	t.Helper()
	for _, r := range probes {
		switch {
		case r.status == http.StatusServiceUnavailable && notReadySince.IsZero():
			notReadySince = r.start
		case r.start.Before(signalled) && r.status != http.StatusOK:
			t.Fatalf("the readiness probe was answered with %d %v before the signal", r.status, r.err)
		case !notReadySince.IsZero() && r.status == http.StatusOK:
			t.Fatal("the readiness probe answers 200 after a 503")
		}
	}
	if notReadySince.IsZero() {
		t.Fatal("the readiness probe never answered 503")
	}
	return notReadySince
}

// assertServed asserts that requests were answered until a time, and that from the signal on
// each answer closes its connection.
func assertServed(t *testing.T, answers []response, signalled, until time.Time) {
	t.Helper()
	last := len(answers) - 1
	if early := until.Sub(answers[last].start); answers[last].err == nil || early > 500*time.Millisecond {
		t.Errorf("the last request ended with %v, %s before the drain time was over", answers[last].err, early)
	}
	closing := 0
	for _, r := range answers[:last] {
		if r.status != http.StatusOK {
			t.Errorf("a request was answered with %d", r.status)
		}
		if r.closes {
			closing++
		}
		if r.closes && r.ended.Before(signalled) || !r.closes && closing > 0 {
			t.Errorf("an answer closes its connection: %t, %s after the signal", r.closes, r.ended.Sub(signalled))
		}
	}
	if closing == 0 {
		t.Error("no answer has closed its connection")
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
