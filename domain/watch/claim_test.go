package watch_test

import (
	"fmt"
	"testing"
	"time"

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
					}, expiringAfter(2*time.Hour)).from(100).until(9000)
					w.expect(emits(100.5, event.StreamStarted))
					// Once after an hour, and every 5 minutes while the manifest must be renewed.
					if n := w.begunIn(watch.TaskResolve, span{350, 9000}); n < 8 || n > 12 {
						t.Errorf("every %d s: asked %d times in 8650 s", interval, n)
					}
				}
			})
			t.Run("ends the watch at once when the playlist has stood still for 30 s", func(t *testing.T) {
				for name, tc := range map[string]struct {
					asked float64 // S17
					stop  func(*world)
				}{
					"it cannot be read": {3695, func(w *world) { w.playlistFails = []span{{3660, never}} }},
					"it does not move":  {3690, func(w *world) { w.stalls = []span{{3660, never}} }},
				} {
					t.Run(name, func(t *testing.T) {
						w := scenario(t, tc.stop, func(w *world) {
							w.answers = map[span]watch.StreamState{{3670, never}: c.state}
						}).from(100).until(5000)
						w.expectBegun(watch.TaskResolve, span{150, 5000}, tc.asked)
						w.expect(
							emits(100, event.StreamStarted),
							emits(tc.asked, c.typ, because(c.reason)),
						)
					})
				}
			})
			t.Run("is not said twice when the contrary was said in between", func(t *testing.T) {
				w := scenario(t, func(w *world) {
					w.segmentsFail = []span{{3695, 3750}}
					w.answers = map[span]watch.StreamState{{3699, 3701}: c.state}
				}).from(100).until(3712)
				w.expectBegun(watch.TaskResolve, span{150, 3712}, 3700, 3710) // the second answer is the contrary
				again := 3700 + c.apart + 5
				w.answers[span{again - 1, again + 1}] = c.state
				w.until(again)
				w.step(w.resolve(w.now))
				w.until(8000).expect(emits(100, event.StreamStarted))
			})
			t.Run("is not said twice within a restart", func(t *testing.T) {
				w := scenario(t, func(w *world) {
					w.answers = map[span]watch.StreamState{{3695, never}: c.state}
					w.taskTime[watch.TaskPlaylist] = 0.5
				}).from(100).until(3705).resume(3600).until(8000)
				w.expectBegun(watch.TaskResolve, span{150, 8000}, 3700, 7305)
				w.expect(emits(100, event.StreamStarted))
			})
		})
	}
	t.Run("of one kind does not confirm another", func(t *testing.T) {
		w := scenario(t, func(w *world) {
			w.segmentsFail = []span{{3695, 3745}}
			w.answers = map[span]watch.StreamState{{3699, 3701}: watch.AgeRestricted, {3702, 3732}: watch.MembersOnly}
		}).from(100).until(8000)
		if n := w.begunIn(watch.TaskResolve, span{3699, 3732}); n < 3 {
			t.Errorf("asked %d times", n)
		}
		w.expect(emits(100, event.StreamStarted))
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
			w.segmentsFail, w.answers = []span{{3695, never}}, map[span]watch.StreamState{{350, never}: watch.Removed}
		}).from(100).until(4500)
		w.expectBegun(watch.TaskResolve, span{350, 4500}, 3700, 3710, 3720, 3730)
	})
	t.Run("is asked about once an hour while the media contradict it", func(t *testing.T) { // S17
		w := scenario(t, func(w *world) {
			w.answers = map[span]watch.StreamState{{350, never}: watch.Removed}
		}).from(100).until(8000)
		w.expectBegun(watch.TaskResolve, span{350, 8000}, 3700, 7300)
	})
	t.Run("is asked about every 5 min while it hinders a renewal of the manifest", func(t *testing.T) { // S17
		w := scenario(t, expiringAfter(45*time.Minute), func(w *world) {
			w.answers = map[span]watch.StreamState{{350, never}: watch.Removed}
		}).from(100).until(2600)
		w.expectBegun(watch.TaskResolve, span{350, 2600}, 1900, 2200, 2500)
	})
}

func TestAPrivateVideoEndsTheWatchAtOnce(t *testing.T) { // S19
	for _, interval := range []int{2, 10, 300} {
		t.Run(fmt.Sprintf("checks every %d s", interval), func(t *testing.T) {
			scenario(t, func(w *world) {
				w.rules.CheckInterval = seconds(interval)
				w.answers = map[span]watch.StreamState{{350, never}: watch.Private}
			}).from(100).until(5000).expect(
				emits(100, event.StreamStarted),
				emits(3700, event.MonitorError, because("video_private")), // its playlist moves until then
			)
		})
	}
}

func TestOEmbedEndsTheWatchOnlyWhileNothingElseIsObserved(t *testing.T) { // 7.4
	scenario(t, func(w *world) {
		w.unanswered, w.oEmbedMissing = []span{{150, never}}, []span{{150, never}}
		w.playlistFails = []span{{200, 300}, {7800, 7900}} // asked at 260 and 7860
	}).from(100).until(9000).expect(emits(100, event.StreamStarted))
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

func TestASegmentFromBeforeAClaimDoesNotContradictIt(t *testing.T) { // S19
	for _, segment := range []float64{1, 2, 5} {
		for _, interval := range []int{2, 10, 300} {
			for name, change := range map[string]func(*world){
				"":                           func(*world) {},
				", without program time":     func(w *world) { w.noProgramTime = true },
				", published late":           func(w *world) { w.delay = 7 },
				", in copies of unequal age": func(w *world) { w.copyDelays = []int{0, 3, 0, 0} },
			} {
				t.Run(fmt.Sprintf("segments of %v s, checks every %d s%s", segment, interval, name), func(t *testing.T) {
					w := scenario(t, func(w *world) {
						w.segment, w.rules.CheckInterval = segment, seconds(interval)
						w.taskTime[watch.TaskResolve], w.taskTime[watch.TaskPlaylist], w.taskTime[watch.TaskSegment] = 3, 0.2, 0.3
					}, change).from(100).until(3699)
					w.live.to = 3699 - w.delay // asked about at 3703, when its last segment has been published
					w.until(4000)
					end := w.events[len(w.events)-1]
					if end.Type != event.StreamEnded || end.at > 3703+16.5 {
						t.Errorf("emitted %v", w.events)
					}
				})
			}
		}
	}
}

func TestASegmentFromAfterAClaimContradictsIt(t *testing.T) { // S19
	for _, segment := range []float64{1, 2, 5, 10} {
		for _, interval := range []int{2, 10, 300} {
			scenario(t, func(w *world) {
				w.segment, w.rules.CheckInterval = segment, seconds(interval)
				w.taskTime[watch.TaskResolve], w.taskTime[watch.TaskPlaylist], w.taskTime[watch.TaskSegment] = 1, 0.2, 0.3
				w.answers = map[span]watch.StreamState{{350, never}: watch.Ended}
			}).from(100).until(12000).expect(emits(101, event.StreamStarted))
		}
	}
}
