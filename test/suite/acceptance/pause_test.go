package acceptance_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// A black stream is paused, is good again and goes on, and is resumed. Nothing is told a second time, and no end of what the pause
// has ended.
func TestAPausedStreamIsToldNothingOfAndNothingTwice(t *testing.T) { // section 16.9
	runTimeline(t, 1)
	s := shared.Watch(t, scenario.Video{})
	worker := onlyWorker(t, s.ID)
	s.GoBlack()
	s.WaitEvent(scenario.Blackout, time.Minute)
	path := "/api/v1/monitors/" + s.ID
	until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	if m := callOK(t, s.Service, http.MethodPatch, path, map[string]any{"paused_until": until}); m["paused_until"] == nil || m["status"] != "monitoring" {
		t.Errorf("the paused monitor is %v", m)
	}
	all := callOK(t, s.Service, http.MethodGet, "/api/v1/incidents?monitor_id="+s.ID, nil)["incidents"].([]any)
	if i := all[0].(map[string]any); len(all) != 1 || i["state"] != "resolved" || i["resolved_by_pause"] != true {
		t.Errorf("the incidents are %v", all)
	}
	waitLog(t, s.Service, 20*time.Second, func(l system.Line) bool {
		return l.MonitorID == s.ID && strings.HasPrefix(l.Message, "The stream is paused")
	})
	s.Black(false)
	checks, questions := s.Analysed(t, s.ID), s.Questions()
	s.SleepUntil(time.Now(), 12*time.Second) // a heartbeat, and six checks of a stream that is watched
	if n := s.Analysed(t, s.ID); n > checks+1 || s.Questions() != questions || s.Health("video") != "unknown" {
		t.Errorf("in the pause %v more segments were analysed and %d more questions asked, the picture is %v", n-checks, s.Questions()-questions, s.Health("video"))
	}
	callOK(t, s.Service, http.MethodPatch, path, map[string]any{"paused_until": nil})
	s.WaitChecks(2, time.Minute)
	eventually(t, 20*time.Second, "the picture is good", func() bool { return s.Health("video") == "ok" })
	if now := onlyWorker(t, s.ID); now.PID != worker.PID {
		t.Error("the worker was replaced")
	}
	s.EndAndAssert(scenario.Blackout)
}
