package worker_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

// The API is asked every 30 s. The worker, whose stream waits, hears of it with the answers to its heartbeats.
func TestAWorkerAsksWhenTheOfficialStateChangesOrIsOld(t *testing.T) { // S23
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var asked []int // seconds after began
		s, g := &fakeStream{}, newFakeGateway()
		status := func(now time.Time) monitor.StreamStatus {
			if now.Sub(began) >= 45*time.Minute {
				return monitor.StreamLive
			}
			return monitor.StreamUpcoming
		}
		s.resolve = func(context.Context) watch.Resolution {
			asked = append(asked, int(time.Since(began).Seconds()))
			return watch.Resolution{State: watch.Upcoming}
		}
		g.official = func() *monitor.OfficialState {
			const ahead = -time.Hour        // the clock of the store
			const stored = 20 * time.Second // after the question
			roundAt := began.Add((time.Since(began) - stored).Truncate(30 * time.Second))
			if elapsed := time.Since(began); elapsed >= 20*time.Minute+stored && elapsed < 30*time.Minute+stored {
				roundAt = began.Add(20 * time.Minute) // the API does not answer
			}
			age := time.Since(roundAt)
			if age >= monitor.OfficialStateLife {
				return nil
			}
			return &monitor.OfficialState{Status: status(roundAt), AskedAt: roundAt.Add(ahead), AgeSec: age.Seconds()}
		}
		var recording bytes.Buffer
		stop := runWorker(t, ports(s, g), func(c *worker.Config) { c.Recording = &recording })
		time.Sleep(20 * time.Minute)
		expect.Equal(t, "questions while the API says upcoming", asked, []int{0})
		time.Sleep(10*time.Minute + 5*time.Second)
		if n := len(asked); n != 19 || asked[1] != 1290 || asked[18] != 1800 {
			t.Errorf("while the API did not answer, from 20 min on, yt-dlp was asked at %v s, want every 30 s from 90 s later on", asked)
		}
		asked = nil
		time.Sleep(14*time.Minute + 50*time.Second)
		expect.Equal(t, "questions since it answers again", len(asked), 0)
		time.Sleep(36 * time.Second)
		if len(asked) != 1 || asked[0] > 2730 {
			t.Errorf("after the state changed, which was stored at 2720 s, yt-dlp was asked at %v s", asked)
		}
		stop()
		if n := strings.Count(recording.String(), `"kind":"official_state"`); n < 70 || n > 75 {
			t.Errorf("the watcher learned %d states, want each of 72 rounds once", n)
		}
	})
}
