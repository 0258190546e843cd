package acceptance_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/pgpair"
)

// The database's address leads to the old primary, which has become a standby, and to the new
// one in turn for 20 s after a switch-over in good order.
func TestADatabaseThatMovesLosesNoEvent(t *testing.T) { // section 10.4
	runOutageTimeline(t, 1, 75*time.Second)
	pair, err := pgpair.Start(t.Context(), databaseDir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after its service's
		if err := pair.Close(); err != nil {
			t.Error(err)
		}
	})
	env := startEnv(t, "DB_DSN="+pair.DSN())
	p := watchStream(t, env, livestream.Config{}, nil)
	p.goBlack()
	p.waitEvent("alert.blackout", 30*time.Second)
	if err := pair.Switch(t.Context()); err != nil {
		t.Fatal(err)
	}
	promoted := time.Now()
	p.Black(false)
	recovered := p.waitEvent("alert.blackout_recovered", 20*time.Second)
	t.Logf("the recovery was delivered %.1f s after the new primary took over", recovered.Received.Sub(promoted).Seconds())
	p.sleepUntil(promoted, 20*time.Second)
	ready := 0
	for range 10 {
		if get(t.Context(), env.Service, "/readyz").status == http.StatusOK {
			ready++
		}
		sleep(t.Context(), 600*time.Millisecond) // the answer of a probe is used for half a second
	}
	if ready < 8 {
		t.Errorf("%d of 10 probes find the gateway ready", ready)
	}
	pair.Settle()
	p.waitHealthy(10 * time.Second)
	assertEvents(t, env, p.id, "stream.started", "alert.blackout", "alert.blackout_recovered")
}
