package acceptance_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

func TestTheGatewaySurvivesABrokenLogPipe(t *testing.T) {
	runTimeline(t, 1)
	env := startEnv(t)
	if err := env.Service.CloseLogPipe(); err != nil {
		t.Fatal(err)
	}
	env.Watch(t, scenario.Video{}).EndAndAssert()
}

func TestARunningMonitorIsChangedWithoutAGap(t *testing.T) { // section 16.6
	runTimeline(t, 1)
	moved, err := webhookreceiver.Start(webhookreceiver.Config{Key: system.SigningKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = moved.Close() })
	s := shared.Watch(t, scenario.Video{Threshold: time.Hour})
	worker := onlyWorker(t, s.ID)
	s.GoBlack()
	s.SleepUntil(s.BlackAt, 12*time.Second)
	s.AssertEvents(t, s.ID, scenario.Started)
	callOK(t, s.Service, http.MethodPatch, "/api/v1/monitors/"+s.ID, map[string]any{
		"config": map[string]any{"blackout_threshold_sec": 10}, "callback_url": moved.URL(), "metadata": map[string]any{"channel_name": "changed"},
	})
	wait := func(event string) webhookreceiver.Delivery {
		t.Helper()
		d, err := moved.Wait(timeoutContext(t, time.Minute), func(d webhookreceiver.Delivery) bool { return d.EventType == event })
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	alert := wait(scenario.Blackout)
	scenario.AssertNear(t, "started_at", alert.Data.StartedAt, s.BlackAt, mediaTolerance)
	if string(alert.Metadata) != `{"channel_name":"changed"}` || alert.Data.ThresholdSec != 10 {
		t.Errorf("the webhook is %s", alert.Body)
	}
	picture := s.Black(false)
	scenario.AssertNear(t, "recovered_at", wait(scenario.BlackoutRecovered).Data.RecoveredAt, picture, mediaTolerance)
	if now := onlyWorker(t, s.ID); now.PID != worker.PID {
		t.Error("the worker was replaced")
	}
	s.AssertEvents(t, s.ID, scenario.Started) // at the old receiver
}

func TestAReservationIsPromotedOnTimeAfterARestart(t *testing.T) { // decision A10
	runTimeline(t, 1)
	const lead, ahead = 5 * time.Second, 12 * time.Second
	settings := []string{"SCHEDULE_LEAD_TIME=" + lead.String()}
	env := startEnv(t, settings...)
	v := newVideoID()
	env.YouTube.Add(v, youtube.Video{State: youtube.Upcoming})
	start := time.Now().Add(ahead)
	id := env.Register(t, v, map[string]any{"scheduled_start_time": start.Format(time.RFC3339Nano)})
	env.WaitStatus(t, id, "waiting", time.Second)
	if workers := system.WorkersOf(id); len(workers) > 0 {
		t.Errorf("the reservation has workers already: %v", workers)
	}
	if err := env.Restart(t.Context(), testenv.Config{Binary: binary, Env: settings}); err != nil {
		t.Fatal(err)
	}
	line := waitLog(t, env.Service, 30*time.Second, func(l system.Line) bool { return l.MonitorID == id && l.Message == "reservation promoted" })
	if early := start.Add(-lead).Sub(line.Timestamp); early > 100*time.Millisecond {
		t.Errorf("promoted %s before it was due", early)
	}
	scenario.Sleep(t.Context(), time.Until(start))
	stream, err := env.StartStream(t.Context(), v, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	env.WaitEvent(t, id, scenario.Started, scenario.StartTimeout)
	stream.End()
	env.WaitEvent(t, id, scenario.Ended, time.Minute)
	env.AssertEvents(t, id, scenario.Started, scenario.Ended)
}

func TestTwoGatewaysBehaveAsOne(t *testing.T) {
	runTimeline(t, 4)
	db := newDatabase(t)
	var both [2]*system.Service
	for i := range both {
		both[i] = startGateway(t, system.Config{Env: []string{db.dsn()}})
	}
	var ids []string
	for range 3 {
		id, err := both[0].Register(t.Context(), newVideoURL(), "http://127.0.0.1:9/hook", nil)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	watches := func(s *system.Service, ids []string) func() bool {
		return func() bool {
			at := map[string]bool{}
			for _, w := range s.Workers() {
				at[w.Env("MONITOR_ID")] = true
			}
			return len(at) == len(ids) && at[ids[0]] && at[ids[len(ids)-1]]
		}
	}
	eventually(t, 30*time.Second, "workers at the first gateway", watches(both[0], ids))
	eventually(t, time.Minute, "the other gateway says that no stream can be seen", func() bool { // section 17.4
		spot, _ := callOK(t, both[1], http.MethodGet, "/api/v1/service", nil)["blind_spot"].(map[string]any)
		return spot["monitors"] == 3.0 && spot["watched"] == 3.0
	})
	if a := callOK(t, both[1], http.MethodDelete, "/api/v1/monitors/"+ids[1], nil); a["status"] != "stopped" {
		t.Errorf("stopping at the second gateway is answered %v", a)
	}
	ids = []string{ids[0], ids[2]}
	eventually(t, 40*time.Second, "no worker of the stopped monitor", watches(both[0], ids))
	if err := both[0].Stop(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "workers at the gateway that stays", watches(both[1], ids))
}

func TestAGatewayWithoutTheKeyOfStoredSecretsIsRefused(t *testing.T) { // section 19.1
	runTimeline(t, 1)
	db := newDatabase(t)
	data, elsewhere := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "data")
	keys, err := system.StoreKeys(data)
	if err != nil {
		t.Fatal(err)
	}
	fromFile := system.Config{DataDir: data, Env: []string{db.dsn(), "API_KEY=", "INTERNAL_API_KEY=", "WEBHOOK_SIGNING_KEY="}}
	use := func(c system.Config, use func(*system.Service)) {
		t.Helper()
		s := startGateway(t, c)
		use(s)
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
	var id string
	use(fromFile, func(s *system.Service) {
		id = create(t, s, "/api/v1/destinations", "destination_id", map[string]any{
			"name": "board", "kind": "webhook", "config": map[string]any{}, "secrets": map[string]any{"url": "https://hooks.example.com/x", "signing_key": "the-own-signing-key"}})
	})
	refused := launchGateway(t, system.Config{DataDir: elsewhere, Env: []string{db.dsn()}}) // the other three keys are the same
	err = refused.Wait()
	if said := refused.Tail(10); err == nil || !strings.Contains(err.Error(), "exit status 2") || !strings.Contains(said, "SECRETS_KEY") || !strings.Contains(said, `"board"`) {
		t.Errorf("with three keys the gateway exits with %v and says:\n%s", err, said)
	}
	for name, c := range map[string]system.Config{
		"keys.json":   fromFile,
		"SECRETS_KEY": {DataDir: elsewhere, Env: []string{db.dsn(), "SECRETS_KEY=" + keys["SECRETS_KEY"]}},
	} {
		use(c, func(s *system.Service) {
			d := callOK(t, s, http.MethodGet, "/api/v1/destinations/"+id, nil)
			if health, _ := d["health"].(map[string]any); health["last_error"] != nil {
				t.Errorf("with %s the destination says %v", name, health)
			}
		})
	}
}
