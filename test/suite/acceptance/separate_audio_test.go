package acceptance_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// demuxed is a stream whose video and audio have playlists of their own.
var demuxed = livestream.Config{Renditions: []livestream.Rendition{livestream.Video144p, livestream.AudioOnly}}

func TestSeparateVideoAndAudioAreBothWatched(t *testing.T) { // decisions S1, S4
	runTimeline(t, 1, 45*time.Second)
	p, _ := watchLossyStream(t, demuxed)
	p.assertBlackoutCycle(0)
	silence := p.Silence(true)
	alert := p.waitEvent("alert.silence", 60*time.Second)
	assertNear(t, "silence: started_at", alert.Data.StartedAt, silence, mediaTolerance)
	sound := p.Silence(false)
	back := p.waitEvent("alert.silence_recovered", 60*time.Second)
	assertNear(t, "silence: recovered_at", back.Data.RecoveredAt, sound, mediaTolerance)
	p.endAndAssert(blackoutAlert, blackoutRecovered, "alert.silence", "alert.silence_recovered")
}

func TestAnOutageOfTheAudioAloneIsReported(t *testing.T) { // section 6.6
	runTimeline(t, 1, 130*time.Second)
	p, source := watchLossyStream(t, demuxed)
	lost := time.Now()
	source.setLost(false, livestream.AudioOnly)
	p.assertBlackoutCycle(0) // the picture is watched meanwhile
	e := p.waitEvent(outageAlert, outageThreshold+30*time.Second)
	if took := e.Received.Sub(lost); took > outageThreshold+20*time.Second+busyMachine {
		t.Errorf("alerted %s after the outage began", took)
	}
	if since := e.Received.Sub(e.Data.StartedAt); since < outageThreshold {
		t.Errorf("alerted %s after started_at, want %s", since, outageThreshold)
	}
	if e.Data.Failure != "manifest" || e.Data.LastError == "" {
		t.Errorf("failure %q, last error %q", e.Data.Failure, e.Data.LastError)
	}
	assertNear(t, "started_at", e.Data.StartedAt, lost, 5*time.Second+busyMachine)
	m := waitStatus(t, shared, p.id, "monitoring", 5*time.Second)
	if h, _ := m["health"].(map[string]any); h["video"] != "ok" || h["audio"] != "unknown" {
		t.Errorf("health while the audio cannot be analysed: %v", h)
	}
	p.sleepUntil(lost, 75*time.Second)
	source.setLost(false)
	eventually(t, 75*time.Second, "the audio is ok again", func() bool {
		m, err := shared.Service.Monitor(t.Context(), p.id)
		return err == nil && m["health"].(map[string]any)["audio"] == "ok"
	})
	p.endAndAssert(blackoutAlert, blackoutRecovered, outageAlert)
}
