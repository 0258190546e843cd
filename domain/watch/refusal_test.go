package watch_test

import (
	"fmt"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestARefusedStreamWhoseMediaFlowGoesOn(t *testing.T) {
	for state, over := range map[watch.StreamState]bool{watch.RegionLocked: false, watch.AgeRestricted: false, watch.MembersOnly: false, watch.Removed: true, watch.Private: true} {
		for _, interval := range []int{10, 60, 300} {
			t.Run(fmt.Sprintf("%s, checks every %d s", state, interval), func(t *testing.T) {
				w := scenario(t, func(w *world) {
					w.rules.Interval = seconds(interval)
					w.took[watch.TaskResolve], w.took[watch.TaskSegment] = 0.5, 1
					w.says = map[span]watch.StreamState{{350, never}: state}
				}).from(100).until(1200)
				if w.over != over {
					t.Errorf("over is %v: %v", w.over, w.events)
				}
				switch {
				case state == watch.Removed: // believed when said twice
					w.askedAt(watch.TaskResolve, span{350, 1200}, 400.5, 461)
				case !over:
					w.askedAt(watch.TaskResolve, span{350, 1200}, 400.5, 701, 1001.5)
				}
			})
		}
	}
	t.Run("nor are two different refusals one said twice", func(t *testing.T) {
		w := scenario(t, func(w *world) {
			w.says = map[span]watch.StreamState{{350, 420}: watch.RegionLocked, {650, 720}: watch.Removed}
		}).from(100).until(1200)
		if w.over {
			t.Errorf("ended: %v", w.events)
		}
	})
	t.Run("nor is one said twice with the contrary in between", func(t *testing.T) {
		w := scenario(t, func(w *world) {
			w.says = map[span]watch.StreamState{{350, 450}: watch.Removed, {700, 800}: watch.Removed}
		}).from(100).until(1200)
		if w.over {
			t.Errorf("ended: %v", w.events)
		}
	})
	t.Run("nor right after a restart", func(t *testing.T) {
		w := scenario(t, func(w *world) {
			w.says = map[span]watch.StreamState{{500, never}: watch.RegionLocked}
			w.took[watch.TaskPlaylist] = 0.5
		}).from(100).until(400).resume(200).until(1200)
		if w.over {
			t.Errorf("ended: %v", w.events)
		}
	})
	t.Run("but not when its media have stopped", func(t *testing.T) {
		scenario(t, func(w *world) {
			w.noList = []span{{350, never}}
			w.says = map[span]watch.StreamState{{350, never}: watch.RegionLocked}
		}).from(100).until(1200).expect(
			emits(100, event.StreamStarted),
			emits(400, event.MonitorError, because("region_locked")),
		)
	})
}

func TestOEmbedIsBelievedOnlyWhileNothingElseIsLearned(t *testing.T) { // 7.4
	scenario(t, func(w *world) {
		w.mute, w.missing = []span{{150, never}}, []span{{150, never}}
		w.noList = []span{{200, 300}, {7200, 7300}}
	}).from(100).until(9000).expect(
		emits(100, event.StreamStarted),
		emits(320, event.SegmentError),
		emits(7320, event.SegmentError),
	)
	scenario(t, func(w *world) {
		w.says, w.noList = map[span]watch.StreamState{{150, never}: watch.Blocked}, []span{{200, never}}
		w.missing = []span{{250, 300}, {390, 400}} // asked at 260, 335, 395
	}).from(100).until(700).expect(
		emits(100, event.StreamStarted),
		emits(490, event.MonitorError, because("blind")),
	)
	scenario(t, func(w *world) {
		w.mute, w.missing, w.noList = []span{{150, never}}, []span{{150, never}}, []span{{200, never}}
	}).from(100).until(9000).expect(
		emits(100, event.StreamStarted),
		emits(335, event.MonitorError, because("video_unavailable")),
	)
}
