package watch_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestABlackoutIsAlertedAtItsThresholdAndAtItsRecovery(t *testing.T) { // 6.3, S1-S3
	scenario(t, func(w *world) { w.black = []span{{100.5, 152.3}} }).
		from(50).until(300).
		expect(
			emits(50, event.StreamStarted, since(0)),
			emits(132, event.Blackout, since(100.5), lasting(31)),
			emits(154, event.BlackoutRecovered, since(100.5), lasting(51)),
		)
}

func TestSilenceIsAlertedAtItsThresholdAndAtItsRecovery(t *testing.T) { // 6.4
	scenario(t, func(w *world) { w.silent = []span{{100, 140}} }).
		from(50).until(300).
		expect(
			emits(50, event.StreamStarted),
			emits(130, event.Silence, since(100), lasting(30)),
			emits(142, event.SilenceRecovered, since(100), lasting(40)),
		)
}

func TestABlackoutShorterThanItsThresholdIsNotAlerted(t *testing.T) { // S3
	scenario(t, func(w *world) { w.black = []span{{100, 129.9}} }).
		from(50).until(300).
		expect(emits(50, event.StreamStarted))
}

func TestEndlistEndsTheStream(t *testing.T) { // 7.6
	scenario(t, func(w *world) { w.live.to, w.endlist = 200, true }).
		from(50).until(600).
		expect(
			emits(50, event.StreamStarted),
			emits(200, event.StreamEnded, because("endlist"), lasting(200)),
		)
}

func TestAStalledPlaylistOfAnEndedStreamEndsIt(t *testing.T) { // 7.6, S6
	scenario(t, func(w *world) { w.live.to = 200 }).
		from(50).until(600).
		expect(
			emits(50, event.StreamStarted),
			emits(260, event.StreamEnded, because("not_live"), lasting(200)),
		)
}

func TestAStalledPlaylistOfALiveStreamIsAlertedOnce(t *testing.T) { // 6.6, S6
	scenario(t, func(w *world) { w.stalls = []span{{100, 400}} }).
		from(50).until(500).
		expect(
			emits(50, event.StreamStarted),
			emits(160, event.SegmentError, since(100), lasting(60), because("stalled")),
		)
}

func TestADelayIsAlertedOnce(t *testing.T) { // 7.3, S13
	scenario(t, func(w *world) {
		w.live.from = 450
		w.rules.ScheduledStart = at(100)
		w.taskTime[watch.TaskResolve] = 0.5
	}).
		from(0).until(500).
		expect(
			emits(400.5, event.StreamDelayed, lasting(300)),
			emits(453, event.StreamStarted, since(450)),
		)
}

func TestAStartIsEmittedOnceWhicheverAnswerComesFirst(t *testing.T) { // 7.5
	w := scenario(t).from(50).findManifest() // the playlist is being read when the answer comes
	w.step(watch.Resolution{Began: at(50), State: watch.Live, Manifest: w.manifest()})
	w.until(100).expect(emits(50, event.StreamStarted))
}
