package acceptance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// startIdleGateway starts a gateway whose tools find no stream.
func startIdleGateway(t *testing.T, env ...string) *system.Service {
	t.Helper()
	s, err := system.Start(t.Context(), system.Config{Binary: binary, DataDir: filepath.Join(t.TempDir(), "data"),
		Env: append([]string{"YTDLP_PATH=/bin/true", "STREAMLINK_PATH=/bin/true"}, env...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Stop() // most tests have stopped it
		if t.Failed() {
			t.Logf("the gateway's log ends:\n%s", s.Tail(30))
		}
	})
	eventually(t, 30*time.Second, "ready", func() bool { return get(t.Context(), s, "/readyz").status == http.StatusOK })
	return s
}

// response is the result of a request on a new connection.
type response struct {
	start  time.Time
	ended  time.Time // zero: the connection failed
	status int       // 0: the connection failed
	closes bool      // the answer has Connection: close
	err    error
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
			sleep(ctx, 10*time.Millisecond)
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

// assertFinished fails the test unless a slow request was answered with success.
func assertFinished(t *testing.T, answer func() (system.Response, error)) {
	t.Helper()
	a, err := answer()
	if err != nil || a.Status != http.StatusOK || a.Body["delivered"] != true {
		t.Errorf("the slow request was answered with %v %v", a, err)
	}
}

// isRefusing returns a condition: the gateway refuses connections.
func isRefusing(s *system.Service) func() bool {
	return func() bool { return get(context.Background(), s, "/healthz").err != nil }
}

func TestADrainingGatewayServesUntilTheDrainTimeIsOver(t *testing.T) { // section 8.7
	runTimeline(t, 1, 12*time.Second)
	const drain = 3 * time.Second
	s := startIdleGateway(t, fmt.Sprint("DRAIN_TIME=", drain))
	release, answer := startSlowRequest(t, s)
	probes, requests := pollUntilRefused(t.Context(), s, "/readyz"), pollUntilRefused(t.Context(), s, "/api/v1/monitors")
	sleep(t.Context(), 500*time.Millisecond)
	signalled := time.Now()
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	var notReadySince time.Time
	for _, r := range <-probes {
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
	answers := <-requests
	if err := answers[len(answers)-1].err; err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("requests are not refused, the last one ended with %v", err)
	}
	refused := answers[len(answers)-1].start
	if served := refused.Sub(notReadySince); served < drain-500*time.Millisecond {
		t.Errorf("requests are refused %s after the first 503 of the readiness probe, want %s", served, drain)
	}
	closing := 0
	for _, r := range answers[:len(answers)-1] {
		if r.status != http.StatusOK {
			t.Errorf("a request was answered with %d", r.status)
		}
		if r.closes {
			closing++
		} else if closing > 0 {
			t.Error("an answer leaves its connection open after one that closed its own")
		}
		if r.closes && r.ended.Before(signalled) {
			t.Error("an answer closed its connection before the signal")
		}
	}
	if closing == 0 {
		t.Error("no answer has closed its connection")
	}
	t.Logf("%d requests in all, %d of them while draining; refused %s after the first 503", len(answers), closing, refused.Sub(notReadySince))
	release()
	assertFinished(t, answer)
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
}

func TestASecondSignalEndsTheDraining(t *testing.T) {
	runTimeline(t, 0, 10*time.Second)
	s := startIdleGateway(t, "DRAIN_TIME=5m")
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "not ready", func() bool { return get(t.Context(), s, "/readyz").status != http.StatusOK })
	sleep(t.Context(), 200*time.Millisecond) // a signal at once would count as a repetition of the first
	if isRefusing(s)() {
		t.Fatal("the gateway does not drain")
	}
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "refusing", isRefusing(s))
	_ = s.Wait() // the exit status is not 0 after a forced stop
}

func TestAStoppingGatewayFinishesItsRequests(t *testing.T) {
	runTimeline(t, 0, 10*time.Second)
	s := startIdleGateway(t) // without draining
	release, answer := startSlowRequest(t, s)
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "refusing", isRefusing(s))
	sleep(t.Context(), 2*time.Second) // it could abandon the request meanwhile
	release()
	assertFinished(t, answer)
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
}

func TestTheReadinessProbeAnswersInTheErrorEnvelope(t *testing.T) { // section 3.5
	runTimeline(t, 0, 10*time.Second)
	s := startIdleGateway(t, "DRAIN_TIME=2s")
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "503 in the envelope", func() bool {
		res, err := http.Get(s.URL() + "/readyz")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		var body struct {
			Error struct{ Code, Message string }
		}
		return res.StatusCode == http.StatusServiceUnavailable && json.NewDecoder(res.Body).Decode(&body) == nil &&
			body.Error.Code == "UNAVAILABLE" && strings.Contains(body.Error.Message, "not ready") && res.Header.Get("Retry-After") != ""
	})
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
}

func TestAMonitorRegisteredWhileDrainingIsWatched(t *testing.T) { // section 8.7
	runTimeline(t, 1, 30*time.Second)
	s := startIdleGateway(t, "DRAIN_TIME=20s")
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "draining", func() bool { return get(t.Context(), s, "/readyz").status == http.StatusServiceUnavailable })
	id, err := s.Register(t.Context(), "https://www.youtube.com/watch?v="+newVideoID(), "http://127.0.0.1:9/hook", nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "a worker", func() bool { return len(system.WorkersOf(id)) == 1 })
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	if n := len(system.WorkersOf(id)); n != 0 {
		t.Errorf("%d workers are left", n)
	}
}
