package acceptance_test

import (
	"context"
	"encoding/json"
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

// plain is a service of its own that watches nothing.
func plain(t *testing.T, env ...string) *system.Service {
	t.Helper()
	s, err := system.Start(t.Context(), system.Config{Binary: binary, DataDir: filepath.Join(t.TempDir(), "data"),
		Env: append([]string{"YTDLP_PATH=/bin/true", "STREAMLINK_PATH=/bin/true"}, env...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Stop() // most tests have ended it
		if t.Failed() {
			t.Logf("the service's log ends:\n%s", s.Tail(30))
		}
	})
	eventually(t, 30*time.Second, "ready", func() bool { return look(t.Context(), s, "/readyz").status == http.StatusOK })
	return s
}

// glimpse is one request on a connection of its own, and what came of it.
type glimpse struct {
	began  time.Time
	status int  // 0: it was refused
	closes bool // the answer ends its connection
	err    error
}

func look(ctx context.Context, s *system.Service, path string) glimpse {
	g := glimpse{began: time.Now()}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+path, nil)
	if err != nil {
		g.err = err
		return g
	}
	req.Header.Set("X-API-Key", system.APIKey)
	res, err := transport.RoundTrip(req)
	if err != nil {
		g.err = err
		return g
	}
	defer res.Body.Close()
	g.status, g.closes = res.StatusCode, res.Close
	return g
}

// looking looks again and again until the service refuses.
func looking(ctx context.Context, s *system.Service, path string) <-chan []glimpse {
	done := make(chan []glimpse, 1)
	go func() {
		var all []glimpse
		for {
			g := look(ctx, s, path)
			all = append(all, g)
			if g.err != nil {
				done <- all
				return
			}
			pause(ctx, 10*time.Millisecond)
		}
	}()
	return done
}

// pending has the service do something that takes as long as the test wants: it
// sends a test webhook to a receiver that does not answer until release. answer
// then gives the service's answer.
func pending(t *testing.T, s *system.Service) (release func(), answer func() (system.Response, error)) {
	t.Helper()
	arrived, released := make(chan struct{}), make(chan struct{})
	release = sync.OnceFunc(func() { close(released) })
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
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
	case <-arrived:
	case r := <-answered:
		t.Fatalf("the test webhook was answered at once: %v %v", r.Response, r.error)
	case <-time.After(20 * time.Second):
		t.Fatal("the test webhook does not arrive")
	}
	return release, func() (system.Response, error) { r := <-answered; return r.Response, r.error }
}

func finished(t *testing.T, answer func() (system.Response, error)) {
	t.Helper()
	a, err := answer()
	if err != nil || a.Status != http.StatusOK || a.Body["delivered"] != true {
		t.Errorf("the request under way was answered with %v %v", a, err)
	}
}

func refuses(s *system.Service) func() bool {
	return func() bool { return look(context.Background(), s, "/healthz").err != nil }
}

func TestDraining(t *testing.T) { // 8.7
	t.Parallel()
	const drain = 3 * time.Second
	s := plain(t, fmt.Sprint("DRAIN_TIME=", drain))
	release, answer := pending(t, s)
	probes, requests := looking(t.Context(), s, "/readyz"), looking(t.Context(), s, "/api/v1/monitors")
	pause(t.Context(), 500*time.Millisecond)
	asked := time.Now()
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	var turned time.Time
	for _, g := range <-probes {
		switch {
		case g.status == http.StatusServiceUnavailable && turned.IsZero():
			turned = g.began
		case g.began.Before(asked) && g.status != http.StatusOK:
			t.Fatalf("the readiness probe was answered with %d %v before anything was asked", g.status, g.err)
		case g.began.After(asked.Add(time.Second)) && g.status == http.StatusOK:
			t.Fatal("the readiness probe says ready a second after the service was asked to end")
		}
	}
	if turned.IsZero() {
		t.Fatal("the readiness probe never said 503")
	}
	seen := <-requests
	refused := seen[len(seen)-1].began
	if served := refused.Sub(turned); served < drain-500*time.Millisecond {
		t.Errorf("requests are refused %s after the readiness probe has turned, want %s", served, drain)
	}
	dismissed := 0
	for _, g := range seen[:len(seen)-1] {
		if g.status != http.StatusOK {
			t.Errorf("a request was answered with %d", g.status)
		}
		if g.closes {
			dismissed++
		}
		if g.closes && g.began.Before(asked) {
			t.Error("an answer ended its connection before anything was asked")
		}
	}
	if dismissed < 10 {
		t.Errorf("%d of %d answers ended their connections, want all of the draining", dismissed, len(seen))
	}
	t.Logf("%d requests in all, %d of them while draining; refused %s after the probe turned", len(seen), dismissed, refused.Sub(turned))
	release()
	finished(t, answer)
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
}

func TestDrainingIsCutShort(t *testing.T) {
	t.Parallel()
	s := plain(t, "DRAIN_TIME=5m")
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "not ready", func() bool { return look(t.Context(), s, "/readyz").status != http.StatusOK })
	pause(t.Context(), 200*time.Millisecond) // a signal at once would be taken for the echo of the first
	if refuses(s)() {
		t.Fatal("it does not drain")
	}
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "refusing", refuses(s))
	_ = s.Wait() // whoever hurries it is told that it could not end in good order
}

func TestRequestsUnderWayAreFinished(t *testing.T) {
	t.Parallel()
	s := plain(t) // which drains no time at all
	release, answer := pending(t, s)
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "refusing", refuses(s))
	pause(t.Context(), 2*time.Second) // it has time to give up the request
	release()
	finished(t, answer)
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
}

// The envelope is that of section 3.5 while draining, too.
func TestNotReadyIsSaidInTheEnvelope(t *testing.T) {
	t.Parallel()
	s := plain(t, "DRAIN_TIME=2s")
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
