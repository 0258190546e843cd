package watch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// expiringAfter lets the URLs of every answer expire that long after the question.
func expiringAfter(d time.Duration) func(*world) {
	return func(w *world) {
		w.changeAnswer = func(r *watch.Resolution) { r.Expires = r.Began.Add(d) }
	}
}

// expectAsked compares the times of all questions after the first one, which is asked at
// second 100.
func (w *world) expectAsked(want ...float64) {
	w.t.Helper()
	w.expectBegun(watch.TaskResolve, span{101, never}, want...)
}

func TestAMovingPlaylistAnswersTheRegularQuestionForAnHour(t *testing.T) { // S17
	for _, interval := range []int{1, 2, 10, 29, 30, 31, 60, 300} {
		for name, change := range map[string]func(*world){
			"tasks take no time":    func(*world) {},
			"tasks take their time": withTaskTimes,
			"tasks are slow": func(w *world) {
				w.taskTime[watch.TaskResolve], w.taskTime[watch.TaskPlaylist], w.taskTime[watch.TaskSegment] = 40, 5, 6
			},
			"segments of 10 s":             func(w *world) { w.segment = 10 },
			"copies of unequal age":        func(w *world) { w.copyDelays = []int{0, 6, 4} },
			"picture and sound apart":      apart,
			"the sound stands":             func(w *world) { apart(w); w.stallsIn = map[string][]span{"/sound/": {{2000, 2050}}} },
			"the picture stands":           func(w *world) { apart(w); w.stallsIn = map[string][]span{"/picture/": {{2000, 2050}}} },
			"without program time":         func(w *world) { w.noProgramTime = true },
			"it stands for a moment":       func(w *world) { w.stalls = []span{{1000, 1015}, {2003, 2018}} },
			"a reading fails":              func(w *world) { w.playlistFails = []span{{1000, 1001}, {2000, 2001}} },
			"a segment fails":              func(w *world) { w.segmentsFail = []span{{1000, 1005}} },
			"URLs that live for a minute":  expiringAfter(time.Minute),
			"URLs that live for 20 min":    expiringAfter(20 * time.Minute),
			"URLs that expired long ago":   expiringAfter(-100 * 365 * 24 * time.Hour),
			"URLs that live for centuries": expiringAfter(100 * 365 * 24 * time.Hour),
		} {
			if name != "tasks take their time" && !slices.Contains([]int{10, 30, 300}, interval) {
				continue // one case is enough for the other intervals
			}
			t.Run(fmt.Sprintf("checks every %d s, %s", interval, name), func(t *testing.T) {
				scenario(t, change, func(w *world) { w.rules.CheckInterval = seconds(interval) }).from(100).until(11000).
					expectAsked(3700, 7300, 10900)
			})
		}
	}
}

func TestAPlaylistThatStandsStillIsAskedAbout(t *testing.T) { // S17
	for _, c := range []struct {
		name   string
		change func(*world)
		asked  []float64
	}{
		{"it stands for nearly 30 s", func(w *world) { w.stalls = []span{{1000, 1029.9}} }, []float64{3700}},
		{"it stands for 30 s", func(w *world) { w.stalls = []span{{1000, 1030.1}} }, []float64{1030, 4630}},
		{"it stands for more than 30 s", func(w *world) { w.stalls = []span{{1000, 1045}} }, []float64{1030, 4630}},
		{"it stands, checks every 300 s", func(w *world) {
			w.rules.CheckInterval, w.stalls = 5*time.Minute, []span{{1000, 1030.1}}
		}, []float64{1030, 4630}},
		{"it cannot be read for 45 s", func(w *world) { w.playlistFails = []span{{1000, 1035.1}} }, []float64{1035, 4635}}, // new media until 990
		{"it cannot be read for less", func(w *world) { w.playlistFails = []span{{1000, 1034.9}} }, []float64{1035, 4635}},
		{"it cannot be read for 15 s", func(w *world) { w.playlistFails = []span{{1000, 1014.9}} }, []float64{3700}},
		{"both of two playlists stand", func(w *world) { apart(w); w.stalls = []span{{1000, 1030.1}} }, []float64{1030, 4630}},
		{"it stands again within 5 minutes", func(w *world) {
			w.stalls = []span{{1000, 1031}, {1280, 1319.9}}
		}, []float64{1030, 4630}},
		{"it stands again after 5 minutes", func(w *world) {
			w.stalls = []span{{1000, 1031}, {1290, 1331}}
		}, []float64{1030, 1330, 4930}},
		{"it stands in the first 5 minutes", func(w *world) { w.stalls = []span{{250, 309}} }, []float64{3700}},
		{"it stands until the first 5 minutes have passed", func(w *world) { w.stalls = []span{{350, 401}} }, []float64{400, 4000}},
		{"it stands until the alert and on", func(w *world) {
			w.stalls = []span{{1000, 1999}}
		}, []float64{1030, 1060, 1360, 1660, 1960, 5560}},
		{"its segments fail until the alert and on", func(w *world) {
			w.segmentsFail = []span{{1000, 1999}}
		}, []float64{1060, 1360, 1660, 1960, 5560}},
	} {
		t.Run(c.name, func(t *testing.T) {
			scenario(t, c.change).from(100).until(5800).expectAsked(c.asked...)
		})
	}
}

func TestAnEndWithoutEndlistIsNoticedBeforeItIsAnOutage(t *testing.T) { // 7.6, S17
	for interval, noticed := range map[int]float64{1: 2030, 10: 2030, 30: 2050, 60: 2050, 300: 2050} {
		t.Run(fmt.Sprintf("checks every %d s", interval), func(t *testing.T) {
			scenario(t, func(w *world) {
				w.rules.CheckInterval, w.live.to = seconds(interval), 2000
			}).from(100).until(3000).expect(
				emits(100, event.StreamStarted),
				emits(noticed, event.StreamEnded, because("not_live"), lasting(2000)),
			)
		})
	}
}

func TestAnEndSoonAfterAStandstillIsNoticedByItsOutage(t *testing.T) { // S6, S17
	for interval, noticed := range map[int]float64{10: 1170, 300: 1180} {
		t.Run(fmt.Sprintf("checks every %d s", interval), func(t *testing.T) {
			w := scenario(t, func(w *world) {
				w.rules.CheckInterval, w.stalls, w.live.to = seconds(interval), []span{{1000, 1031}}, 1102
			}).from(100).until(3000).expect(emits(100, event.StreamStarted), emits(noticed, event.StreamEnded, because("not_live")))
			w.expectAsked(1030, noticed)
		})
	}
}

func TestAReadingThatHangsProvesNothingAfter15Seconds(t *testing.T) { // S16, S17
	for _, c := range []struct {
		takes float64
		asked []float64
	}{{34.9, nil}, {35.1, []float64{1045}}, {never, []float64{1045, 1345}}} {
		t.Run(fmt.Sprintf("%v s", c.takes), func(t *testing.T) {
			w := scenario(t).from(100).until(1005)
			w.taskTime[watch.TaskPlaylist] = c.takes // of the reading at 1010; there was new media at 1000
			w.until(1011)
			w.taskTime[watch.TaskPlaylist] = 0
			w.until(1400).expectAsked(c.asked...)
		})
	}
}

func TestTheManifestIsRenewedBeforeItsURLsExpire(t *testing.T) { // S7, S17
	const minute, hour = 60.0, 3600.0
	for _, c := range []struct {
		lives   float64 // seconds from the question to the expiry; zero: unknown
		asked   []float64
		renewed int // manifests read after the first one
	}{
		{0, []float64{hour, 2 * hour, 3 * hour, 4 * hour, 5 * hour}, 1},
		{6 * hour, []float64{hour, 2 * hour, 3 * hour, 4 * hour, 5 * hour}, 1},
		{5*hour + 14*minute, []float64{hour, 2 * hour, 3 * hour, 4 * hour, 5*hour - minute}, 1},
		{2 * hour, []float64{hour, 105 * minute, 165 * minute, 210 * minute, 270 * minute}, 2},
		{hour + 15*minute, []float64{hour, 2 * hour, 3 * hour, 4 * hour, 5 * hour}, 5},
		{hour + 14*minute, []float64{59 * minute, 118 * minute, 177 * minute, 236 * minute, 295 * minute}, 5},
		{hour + 16*minute, []float64{hour, 65 * minute, 125 * minute, 130 * minute, 190 * minute, 195 * minute, 255 * minute, 260 * minute}, 4},
	} {
		t.Run(fmt.Sprintf("URLs that live for %v s", c.lives), func(t *testing.T) {
			w := scenario(t)
			if c.lives > 0 {
				expiringAfter(time.Duration(c.lives * float64(time.Second)))(w)
			}
			w.from(100).until(100 + 5*hour + 30)
			for i := range c.asked {
				c.asked[i] += 100
			}
			w.expectAsked(c.asked...)
			if len(w.urls)-1 != c.renewed {
				t.Errorf("renewed %d times, want %d", len(w.urls)-1, c.renewed)
			}
		})
	}
}

func TestAStreamHourTakesAtMostOneAndAHalfQuestions(t *testing.T) { // S17
	for _, hours := range []float64{6, 12, 24} {
		for _, interval := range []int{10, 300} {
			t.Run(fmt.Sprintf("%v hours, checks every %d s", hours, interval), func(t *testing.T) {
				w := scenario(t, withTaskTimes, expiringAfter(6*time.Hour), func(w *world) {
					w.rules.CheckInterval = seconds(interval)
				}).from(100).until(100 + hours*3600)
				if n := float64(len(w.begun[watch.TaskResolve])); n < hours || n > 1.5*hours {
					t.Errorf("asked %v times", n)
				}
			})
		}
	}
}

func TestTheHourOfTheRegularQuestionGoesOnAcrossRestarts(t *testing.T) { // S11, S17
	for _, c := range []struct {
		name   string
		change func(*world)
		run    func(*world)
		asked  []float64
	}{
		{"its playlist moves", nil, func(w *world) { w.until(2000).resume(3) }, []float64{3700}},
		{"for 10 minutes", nil, func(w *world) { w.until(2000).resume(600) }, []float64{3700}},
		{"until the hour has passed", nil, func(w *world) { w.until(2000).resume(2000) }, []float64{4000}},
		{"every 20 minutes", nil, func(w *world) { w.until(1200).resume(1).until(2400).resume(1).until(3600).resume(1) }, []float64{3700}},
		{"its playlist is read late", func(w *world) { w.taskTime[watch.TaskPlaylist] = 14 }, func(w *world) { w.until(2000).resume(3) }, []float64{3700}},
		{"the manifest must be renewed", expiringAfter(45 * time.Minute), func(w *world) { w.until(1000).resume(3) }, []float64{1900, 3700}},
		{"in the first 5 minutes", nil, func(w *world) { w.until(200).resume(3) }, []float64{3700}},
		// The time after the last step, at 2000, proves nothing.
		{"its playlist stands", func(w *world) { w.stalls = []span{{2000, 2040}} }, func(w *world) { w.until(2005).resume(3) }, []float64{2038}},
		{"its playlist cannot be read", func(w *world) { w.playlistFails = []span{{2001, 2050}} }, func(w *world) { w.until(2005).resume(3) }, []float64{2053}},
		{"in an alerted outage", func(w *world) { w.stalls = []span{{1000, 2100}} }, func(w *world) { w.until(2000).resume(3) }, []float64{1030, 1060, 1360, 1660, 1960, 2003}},
		{"a claim is open", func(w *world) {
			w.segmentsFail, w.answers = []span{{3695, 3720}}, map[span]watch.StreamState{{3695, 3705}: watch.Removed}
		}, func(w *world) { w.until(3702).resume(3) }, []float64{3700, 3705}},
		{"the clock is set forward", nil, func(w *world) { w.until(1000).setClock(600) }, []float64{4300}},
		{"the clock is set back", nil, func(w *world) { w.until(1000).setClock(-600) }, []float64{3100}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := scenario(t)
			if c.change != nil {
				c.change(w)
			}
			c.run(w.from(100))
			w.until(4400).expectAsked(c.asked...)
		})
	}
}

// askEvery5Minutes lets time pass in a world that is also asked about 5 minutes after
// each answer, as the original says (section 7.6).
func (w *world) askEvery5Minutes(end float64) *world {
	for {
		asked := w.begun[watch.TaskResolve]
		next := asked[len(asked)-1] + w.taskTime[watch.TaskResolve] + 300
		if next > end || w.over {
			return w.until(end)
		}
		w.until(max(w.now, next))
		if asked = w.begun[watch.TaskResolve]; w.over || w.busy(watch.LaneResolve) || asked[len(asked)-1]+300 > w.now {
			w.until(w.now + 1)
			continue
		}
		w.begun[watch.TaskResolve] = append(asked, w.now)
		w.step(w.resolve(w.now))
	}
}

// maxLater is how many seconds later an event may come than with a question every 5 minutes: 30 s
// until a reading sees the last segment, and 60 s until the outage, if the regular question was
// asked within the 5 minutes before, because of a standstill.
// The times of the tasks come on top: a reading waits for that of the other playlist and for
// an analysis. So does the age of the oldest copy of a playlist, which moves for as long after
// the end. The questions every 5 minutes are answered at once. The media stop with the stream.
const maxLater = 90

// oldestCopy returns by how many seconds the oldest copy of a playlist is behind the newest one.
func (w *world) oldestCopy() (seconds float64) {
	for _, delay := range w.copyDelays {
		seconds = max(seconds, float64(delay)*w.segment)
	}
	return seconds
}

func TestNoEventComesMuchLaterThanWithAQuestionEvery5Minutes(t *testing.T) { // S17
	const end = 4000
	rapid.Check(t, func(r *rapid.T) {
		w := anyWorld(r, t, end)
		w.live.from, w.unanswered, w.refused, w.playlistFailsIn, w.stallsIn = 0, nil, nil, nil, nil
		before := *w
		before.begun, before.urls = map[watch.TaskKind][]float64{}, map[string]bool{}
		before.from(10).until(20).askEvery5Minutes(end + 700)
		w.from(10).until(end + 700)
		if t.Failed() {
			r.Fatal("see above")
		}
		oldest := w.oldestCopy()
		count := map[event.Type]int{}
		for _, e := range before.events {
			count[e.Type]++
			at, n := float64(never), 0
			for _, x := range w.events {
				if x.Type == e.Type {
					if n++; n == count[e.Type] {
						at = x.at
					}
				}
			}
			latest := e.at + maxLater + oldest + 2*w.taskTime[watch.TaskPlaylist] + w.taskTime[watch.TaskSegment] + w.taskTime[watch.TaskResolve]
			if at > latest && !(w.over && w.events[len(w.events)-1].at < latest) {
				r.Fatalf("%s comes at %v, with a question every 5 minutes at %v\n%+v\n%+v", e.Type, at, e.at, w.events, before.events)
			}
		}
	})
}
