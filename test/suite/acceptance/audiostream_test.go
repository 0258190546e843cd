package acceptance_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/icecast"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

// Each station has no encoder at first, then sound, silence, and sound. Its encoder is gone for longer than a minute and comes
// back, and ends after the scheduled end. Exact times: adapters/stream/icy and domain/watch, in virtual time.
func TestAnAudioStreamIsWatchedFromItsStartToItsEnd(t *testing.T) { // sections 5.6 and 7.6
	t.Parallel()
	const silence, silenceBack = "alert.silence", "alert.silence_recovered"
	for name, c := range map[string]struct {
		codec icecast.Codec
		mount icecast.Mount
	}{
		"AAC by Icecast":   {icecast.AAC, icecast.Mount{Burst: 8 * time.Second}},
		"MP3 by SHOUTcast": {icecast.MP3, icecast.Mount{ICY: true}},
		"Ogg by Icecast":   {icecast.Ogg, icecast.Mount{Burst: 8 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := must.Get(icecast.New(t.Context(), c.codec, c.mount))(t)
			t.Cleanup(server.Close)
			gone := http.StatusNotFound
			if c.mount.ICY {
				gone = http.StatusUnauthorized
			}
			server.Set(func(m *icecast.Mount) { m.Status = gone })
			preview := callOK(t, complete.Service, "POST", "/api/v1/preview", map[string]any{"stream_url": server.StreamURL(), "callback_url": complete.Receiver.URL()})
			expect.Equal(t, "the preview of a mount without an encoder", []any{preview["source"], preview["state"]}, []any{"icy", "upcoming"})
			id := must.Get(complete.Service.Register(t.Context(), server.StreamURL(), complete.Receiver.URL(), fastConfig()))(t)
			m := complete.WaitStatus(t, id, "waiting", time.Minute)
			expect.Equal(t, "the picture of a stream that waits", m["health"].(map[string]any)["video"], any("none"))

			server.Set(func(m *icecast.Mount) { m.Status = 0 })
			complete.WaitEvent(t, id, scenario.Started, time.Minute)
			health := func() [2]any {
				h := must.Get(complete.Service.Monitor(t.Context(), id))(t)["health"].(map[string]any)
				return [2]any{h["video"], h["audio"]}
			}
			eventually(t, time.Minute, "the sound is heard", func() bool { return health() == [2]any{"none", "ok"} })

			silent := time.Now()
			server.Set(func(m *icecast.Mount) { m.Silent = true })
			alert := complete.WaitEvent(t, id, silence, time.Minute)
			scenario.AssertNear(t, "the start of the silence", alert.Data.StartedAt, silent, 10*time.Second)
			eventually(t, time.Minute, "the silence is shown", func() bool { return health() == [2]any{"none", "silent"} })
			loud := time.Now()
			server.Set(func(m *icecast.Mount) { m.Silent = false })
			back := complete.WaitEvent(t, id, silenceBack, time.Minute)
			scenario.AssertNear(t, "its end", back.Data.RecoveredAt, loud, 10*time.Second)

			dropped := time.Now()
			server.Set(func(m *icecast.Mount) { m.Status = gone })
			server.Drop()
			outage := complete.WaitEvent(t, id, scenario.Outage, 90*time.Second)
			scenario.AssertNear(t, "the start of the outage", outage.Data.StartedAt, dropped, 10*time.Second+busyMachine)
			expect.Equal(t, "the failure", outage.Data.Failure, "manifest")
			server.Set(func(m *icecast.Mount) { m.Status = 0 })
			eventually(t, 90*time.Second, "the sound is heard again", func() bool { return health() == [2]any{"none", "ok"} })

			callOK(t, complete.Service, "PATCH", "/api/v1/monitors/"+id, map[string]any{"config": map[string]any{"scheduled_end_time": time.Now().Add(3 * time.Second)}})
			scenario.Sleep(t.Context(), 5*time.Second)
			server.Set(func(m *icecast.Mount) { m.Status = gone })
			server.Drop()
			complete.WaitEvent(t, id, scenario.Ended, 2*time.Minute)
			complete.WaitStatus(t, id, "completed", time.Minute)
			complete.AssertEvents(t, id, scenario.Started, silence, silenceBack, scenario.Outage, scenario.Ended)
			var seen []any
			for _, e := range callOK(t, complete.Service, "GET", "/api/v1/evidence?event_id="+alert.EventID, nil)["evidence"].([]any) {
				record := e.(map[string]any)
				seen = append(seen, record["phase"], record["note"])
				for _, v := range record["variants"].([]any) {
					seen = append(seen, v.(map[string]any)["variant"])
				}
			}
			expect.Equal(t, "the evidence of the silence, which lacks nothing", seen, []any{"alert", nil, "level", "levels", "clip"})
		})
	}
}
