package watch_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

func TestAStreamApartIsOverWhenBothTracksAre(t *testing.T) { // 7.6
	t.Run("both at once", func(t *testing.T) {
		scenario(t, apart, func(w *world) { w.live.to, w.endlist = 200, true }).from(50).until(600).expect(
			emits(50, event.StreamStarted),
			emits(200, event.StreamEnded, because("endlist"), lasting(200)),
		)
	})
	t.Run("the second a moment later", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.ends = map[string]span{"/picture/": {200, never}, "/sound/": {205, never}}
		}).from(50).until(600).expect(
			emits(50, event.StreamStarted),
			emits(210, event.StreamEnded, because("endlist")),
		)
	})
	t.Run("the other is read at once when one is", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.silent, w.ends = []span{{171, never}}, map[string]span{"/picture/": {200.5, never}, "/sound/": {200.5, never}}
		}).from(50).until(600).expect(
			emits(50, event.StreamStarted),
			emits(201, event.StreamEnded, because("endlist"), lasting(200)),
		)
	})
	t.Run("with the last media of either", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.stands = map[string][]span{"/sound/": {{180, never}}}
			w.ends = map[string]span{"/picture/": {200, never}, "/sound/": {200, never}}
		}).from(50).until(600).expect(
			emits(50, event.StreamStarted),
			emits(200, event.StreamEnded, lasting(200)),
		)
	})
	t.Run("one that went on after all is not over", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.ends = map[string]span{"/sound/": {195, 215}, "/picture/": {300, never}}
		}).from(50).until(340).expect(
			emits(50, event.StreamStarted),
		)
	})
	t.Run("one alone has come to a standstill", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.ends, w.stands = map[string]span{"/sound/": {200, never}}, map[string][]span{"/sound/": {{200, never}}}
		}).from(50).until(600).expect(
			emits(50, event.StreamStarted),
			emits(250, event.SegmentError, since(190), because("stalled")),
		)
	})
}
