package acceptance_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// demuxed is a stream whose picture and sound have playlists of their own.
var demuxed = livestream.Config{Renditions: []livestream.Rendition{livestream.Video144p, livestream.AudioOnly}}

func TestTroubleWithPictureAndSoundApart(t *testing.T) { // S1, S4
	t.Parallel()
	p, _ := lossy(t, demuxed)
	p.blackout(0)
	silence := p.Silence(true)
	alert := p.arrives("alert.silence", 60*time.Second)
	near(t, "silence: started_at", alert.Data.StartedAt, silence, exact)
	sound := p.Silence(false)
	back := p.arrives("alert.silence_recovered", 60*time.Second)
	near(t, "silence: recovered_at", back.Data.RecoveredAt, sound, exact)
	p.ends(blackout, recovered, "alert.silence", "alert.silence_recovered")
}

func TestTroubleWithTheSoundAlone(t *testing.T) { // 6.6
	t.Parallel()
	p, source := lossy(t, demuxed)
	lost := time.Now()
	source.set(false, livestream.AudioOnly)
	p.blackout(0) // the picture is watched meanwhile
	e := p.arrives(broke, outage+30*time.Second)
	if took := e.Received.Sub(lost); took < outage-sign || took > outage+20*time.Second {
		t.Errorf("told %s after the outage began", took)
	}
	if e.Data.Failure != "manifest" || e.Data.LastError == "" {
		t.Errorf("failure %q, last error %q", e.Data.Failure, e.Data.LastError)
	}
	near(t, "started_at", e.Data.StartedAt, lost, 5*time.Second)
	m := becomes(t, common, p.id, "monitoring", 5*time.Second)
	if h, _ := m["health"].(map[string]any); h["video"] != "ok" || h["audio"] != "unknown" {
		t.Errorf("health while nothing can be heard: %v", h)
	}
	p.lasts(lost, 75*time.Second)
	source.set(false)
	eventually(t, 75*time.Second, "heard again", func() bool {
		m, err := common.Service.Monitor(t.Context(), p.id)
		return err == nil && m["health"].(map[string]any)["audio"] == "ok"
	})
	p.ends(blackout, recovered, broke)
}
