package acceptance_test

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// What is registered while load balancers turn away is watched like any other.
func TestRegisteringWhileDraining(t *testing.T) { // 8.7
	t.Parallel()
	s := plain(t, "DRAIN_TIME=8s")
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "draining", func() bool { return look(t.Context(), s, "/readyz").status == http.StatusServiceUnavailable })
	id, err := s.Register(t.Context(), "https://www.youtube.com/watch?v="+video(), "http://127.0.0.1:9/hook", nil)
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
