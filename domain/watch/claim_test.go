package watch_test

import (
	"fmt"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// claims lists the answers that end a watch once confirmed (decision S19), with
// the event that follows and the seconds between the two answers.
var claims = []struct {
	state  watch.StreamState
	typ    event.Type
	reason string
	apart  float64
}{
	{watch.Ended, event.StreamEnded, "not_live", 10},
	{watch.Upcoming, event.StreamEnded, "not_live", 10},
	{watch.NotALiveStream, event.StreamEnded, "not_live", 10},
	{watch.Removed, event.MonitorError, "video_unavailable", 30},
	{watch.RegionLocked, event.MonitorError, "region_locked", 30},
	{watch.AgeRestricted, event.MonitorError, "age_restricted", 30},
	{watch.MembersOnly, event.MonitorError, "members_only", 30},
}

func TestAnEndThatOnlyOneAnswerClaimsNeedsConfirmation(t *testing.T) { // S19
	for _, c := range claims {
		t.Run(string(c.state), func(t *testing.T) {
			t.Run("after one 403 ends nothing when it is said once", func(t *testing.T) {
				for _, interval := range []int{2, 10, 60, 300} {
					for expires := 350.0; expires < 380; expires += 7 {
						w := scenario(t, func(w *world) {
							w.rules.CheckInterval = seconds(interval)
							w.failure, w.taskTime[watch.TaskResolve] = watch.FailureExpired, 3
							w.playlistFailsIn = map[string][]span{"/1/": {{expires, never}}}
							w.segmentsFailIn = map[string][]span{"/1/": {{expires, never}}}
							answered := false
							w.changeAnswer = func(r *watch.Resolution) {
								if sec(r.Began) > expires && !answered {
									answered, *r = true, watch.Resolution{Began: r.Began, State: c.state}
								}
							}
						}).from(100).until(2000)
						w.expect(emits(103, event.StreamStarted))
					}
				}
			})
			t.Run("while every segment is refused ends the watch when it is said twice", func(t *testing.T) {
				scenario(t, func(w *world) {
					w.failure, w.segmentsFail = watch.FailureExpired, []span{{345, never}}
					w.answers = map[span]watch.StreamState{{345, never}: c.state}
				}).from(100).until(5000).expect(
					emits(100, event.StreamStarted),
					emits(350+c.apart, c.typ, because(c.reason)),
				)
			})
			t.Run("while segments are analysed ends nothing however often it is said", func(t *testing.T) {
				for _, interval := range []int{2, 10, 60, 300} {
					w := scenario(t, func(w *world) {
						w.rules.CheckInterval = seconds(interval)
						w.taskTime[watch.TaskResolve], w.taskTime[watch.TaskSegment] = 0.5, 1
						w.answers = map[span]watch.StreamState{{350, never}: c.state}
					}).from(100).until(5000)
					w.expect(emits(100.5, event.StreamStarted))
					if n := w.begunIn(watch.TaskResolve, span{350, 5000}); n > 18 {
						t.Errorf("every %d s: asked %d times in 4650 s", interval, n)
					}
				}
			})
			t.Run("ends the watch at once when the playlist has stood still for 30 s", func(t *testing.T) {
				for name, stop := range map[string]func(*world){
					"it cannot be read": func(w *world) { w.playlistFails = []span{{362, never}} },
					"it does not move":  func(w *world) { w.stalls = []span{{362, never}} },
				} {
					t.Run(name, func(t *testing.T) {
						scenario(t, stop, func(w *world) {
							w.answers = map[span]watch.StreamState{{370, never}: c.state}
						}).from(100).until(5000).expect(
							emits(100, event.StreamStarted),
							emits(400, c.typ, because(c.reason)), // the periodic question
						)
					})
				}
			})
			t.Run("is not said twice when the contrary was said in between", func(t *testing.T) {
				scenario(t, func(w *world) {
					w.segmentsFail = []span{{395, 450}}
					w.answers = map[span]watch.StreamState{{399, 401}: c.state}
					w.changeAnswer = func(r *watch.Resolution) {
						if w.begun[watch.TaskResolve][len(w.begun[watch.TaskResolve])-1] == 400+c.apart {
							w.answers[span{400 + c.apart + 1, 400 + c.apart + 60}] = c.state
						}
					}
				}).from(100).until(5000).expect(emits(100, event.StreamStarted))
			})
			t.Run("is not said twice within a restart", func(t *testing.T) {
				scenario(t, func(w *world) {
					w.answers = map[span]watch.StreamState{{395, never}: c.state}
					w.taskTime[watch.TaskPlaylist] = 0.5
				}).from(100).until(405).resume(200).until(1200).expect(emits(100, event.StreamStarted))
			})
		})
	}
	t.Run("of one kind does not confirm another", func(t *testing.T) {
		scenario(t, func(w *world) {
			w.segmentsFail = []span{{395, 445}}
			w.answers = map[span]watch.StreamState{{399, 401}: watch.AgeRestricted, {402, 432}: watch.MembersOnly}
		}).from(100).until(5000).expect(emits(100, event.StreamStarted))
	})
	t.Run("does not count twice when it is said again sooner", func(t *testing.T) {
		w := scenario(t, func(w *world) {
			w.failure, w.segmentsFail = watch.FailureExpired, []span{{345, 380}}
			w.answers = map[span]watch.StreamState{{345, 375}: watch.AgeRestricted}
		}).from(100).until(352)
		for i := range 5 {
			w.now = 352 + float64(i)
			w.step(w.resolve(w.now))
		}
		w.until(1000).expect(emits(100, event.StreamStarted))
	})
	t.Run("is asked about again every 10 s until it is confirmed", func(t *testing.T) {
		w := scenario(t, func(w *world) {
			w.segmentsFail, w.answers = []span{{395, never}}, map[span]watch.StreamState{{350, never}: watch.Removed}
		}).from(100).until(1200)
		w.expectBegun(watch.TaskResolve, span{350, 1200}, 400, 410, 420, 430)
	})
	t.Run("is asked about every 5 min while the media contradict it", func(t *testing.T) {
		w := scenario(t, func(w *world) {
			w.answers = map[span]watch.StreamState{{350, never}: watch.Removed}
		}).from(100).until(1200)
		w.expectBegun(watch.TaskResolve, span{350, 1200}, 400, 700, 1000)
	})
}

func TestAPrivateVideoEndsTheWatchAtOnce(t *testing.T) { // S19
	for _, interval := range []int{2, 10, 300} {
		t.Run(fmt.Sprintf("checks every %d s", interval), func(t *testing.T) {
			scenario(t, func(w *world) {
				w.rules.CheckInterval = seconds(interval)
				w.answers = map[span]watch.StreamState{{350, never}: watch.Private}
			}).from(100).until(1200).expect(
				emits(100, event.StreamStarted),
				emits(400, event.MonitorError, because("video_private")),
			)
		})
	}
}

func TestOEmbedEndsTheWatchOnlyWhileNothingElseIsObserved(t *testing.T) { // 7.4
	scenario(t, func(w *world) {
		w.unanswered, w.oEmbedMissing = []span{{150, never}}, []span{{150, never}}
		w.playlistFails = []span{{200, 300}, {7200, 7300}}
	}).from(100).until(9000).expect(
		emits(100, event.StreamStarted),
		emits(320, event.SegmentError),
		emits(7320, event.SegmentError),
	)
	scenario(t, func(w *world) {
		w.answers, w.playlistFails = map[span]watch.StreamState{{150, never}: watch.Blocked}, []span{{200, never}}
		w.oEmbedMissing = []span{{250, 300}, {390, 400}} // asked at 260, 335, 395
	}).from(100).until(700).expect(
		emits(100, event.StreamStarted),
		emits(490, event.MonitorError, because("blind")),
	)
	scenario(t, func(w *world) {
		w.unanswered, w.oEmbedMissing, w.playlistFails = []span{{150, never}}, []span{{150, never}}, []span{{200, never}}
	}).from(100).until(9000).expect(
		emits(100, event.StreamStarted),
		emits(335, event.MonitorError, because("video_unavailable")),
	)
}
