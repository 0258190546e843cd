package watch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestAFailingRenditionIsReplaced(t *testing.T) { // S7, S8
	qualities := func(w *world) {
		w.heights, w.failure = []int{144, 360, 720}, watch.FailureExpired
		w.taskTime[watch.TaskResolve], w.taskTime[watch.TaskPlaylist] = 1, 0.1
	}
	watched := func(w *world) (url string) {
		for _, task := range w.watcher.Next() {
			if task.Kind == watch.TaskPlaylist {
				url = task.URL
			}
		}
		return url
	}
	t.Run("but not when only its URL has expired", func(t *testing.T) {
		w := scenario(t, qualities, func(w *world) { w.playlistFailsIn = map[string][]span{"/1/": {{95, never}}} }).from(50).until(400)
		w.expect(emits(51, event.StreamStarted))
		if url := watched(w); !strings.Contains(url, "/144p/") {
			t.Errorf("watches %s", url)
		}
	})
	t.Run("nor before its renewed URL has been tried", func(t *testing.T) {
		w := scenario(t, qualities, func(w *world) { w.failure, w.playlistFails = watch.FailureNetwork, []span{{95, 110}} }).from(50).until(103)
		for range 2 {
			r := w.resolve(w.now)
			w.step(r)
		}
		w.until(200)
		if url := watched(w); !strings.Contains(url, "/144p/") {
			t.Errorf("watches %s", url)
		}
	})
	t.Run("nor when there is no other", func(t *testing.T) {
		w := scenario(t, qualities, func(w *world) { w.heights, w.playlistFails = []int{144}, []span{{95, 300}} }).from(50).until(400)
		if slices.ContainsFunc(w.messages, func(n string) bool { return strings.Contains(n, "another is tried") }) {
			t.Errorf("the log says %q", w.messages)
		}
	})
	t.Run("until the outage ends and the manifest is renewed", func(t *testing.T) {
		for renewed, refused := range map[float64][]span{600: {{500, 510}}, 5*3600 + 600: nil} {
			w := scenario(t, qualities, func(w *world) {
				w.playlistFailsIn = map[string][]span{"/144p/": {{95, 300}}, "/360p/": refused}
			}).from(50).until(400)
			if url := watched(w); !strings.Contains(url, "/360p/") {
				t.Errorf("watches %s", url)
			}
			w.until(renewed)
			if url := watched(w); !strings.Contains(url, "/144p/") {
				t.Errorf("watches %s at %v", url, renewed)
			}
		}
	})
	t.Run("by the next, if it fails with a renewed URL, too", func(t *testing.T) {
		w := scenario(t, qualities, func(w *world) {
			w.playlistFailsIn = map[string][]span{"/144p/": {{95, never}}}
			w.black = []span{{100, 140}}
		}).from(50).until(400)
		w.expect(
			emits(51, event.StreamStarted),
			emits(130.2, event.Blackout, since(100)),
			emits(142, event.BlackoutRecovered, since(100), lasting(40)),
		)
		if n := w.begunIn(watch.TaskResolve, span{95, 125}); n > 3 {
			t.Errorf("asked %d times for the next", n)
		}
	})
	t.Run("by the next but one, if that one is gone, too", func(t *testing.T) {
		w := scenario(t, qualities, func(w *world) {
			w.playlistFailsIn = map[string][]span{"/144p/": {{95, never}}, "/360p/": {{95, never}}}
		}).from(50).until(400).expect(emits(51, event.StreamStarted))
		w.expectBegun(watch.TaskResolve, span{60, 400}, 101.1, 111.1, 121.1)
	})
	t.Run("and those of picture or sound each by its own", func(t *testing.T) {
		w := scenario(t, qualities, func(w *world) {
			w.changeAnswer = func(r *watch.Resolution) {
				r.Manifest = ""
				for _, track := range []string{"picture", "sound"} {
					for _, size := range []int{1, 2} {
						r.Renditions = append(r.Renditions, watch.Rendition{
							URL: fmt.Sprintf("https://media.test/%d/%s/%d/list.m3u8", w.manifestCount, track, size), Bandwidth: size,
							HasVideo: track == "picture", HasAudio: track == "sound",
						})
					}
				}
			}
			w.playlistFailsIn = map[string][]span{"/sound/1/": {{95, never}}}
		}).from(50).until(400)
		w.expect(emits(51, event.StreamStarted))
	})
	t.Run("but when all are gone it is an outage, and nobody is asked without end", func(t *testing.T) {
		w := scenario(t, qualities, func(w *world) {
			w.heights, w.playlistFails = []int{144, 160, 180, 240, 270, 360, 480, 540, 720, 1080}, []span{{95, 395}}
		}).from(50).until(600)
		w.expect(
			emits(51, event.StreamStarted),
			emits(162.1, event.SegmentError, since(101)),
		)
		if n := w.begunIn(watch.TaskResolve, span{95, 395}); n > 14 {
			t.Errorf("asked %d times in five minutes", n)
		}
	})
}

func TestPlaylistsMayMergeInAnOutage(t *testing.T) { // S6: it stays one outage
	w := scenario(t, apart, func(w *world) {
		w.playlistFailsIn = map[string][]span{"/sound/": {{95, never}}, "/picture/": {{125, never}}, "/144p/": {{95, 170}}}
		w.failure = watch.FailureExpired
	}).from(50).until(140)
	w.separateTracks, w.heights = false, []int{144}
	w.until(400).expect(
		emits(50, event.StreamStarted),
		emits(160, event.SegmentError, since(100)),
	)
}

func TestAMasterPlaylistInsideAMasterPlaylistIsRefused(t *testing.T) {
	nested := func(depth int) *watch.Watcher {
		w := watch.New(rules(), at(0))
		w.Step(at(0), watch.Resolution{Began: at(0), State: watch.Live, Manifest: "0"})
		for i := range depth {
			w.Step(at(0), watch.Playlist{Began: at(0), URL: fmt.Sprint(i), Renditions: []watch.Rendition{{URL: fmt.Sprint(i + 1), HasVideo: true, HasAudio: true}}})
		}
		return w
	}
	nextPlaylist := func(w *watch.Watcher) string {
		for _, task := range w.Next() {
			if task.Kind == watch.TaskPlaylist && !task.At.After(at(0)) {
				return task.URL
			}
		}
		return ""
	}
	if got := nextPlaylist(nested(1)); got != "1" {
		t.Errorf("one master playlist: reads %q next", got)
	}
	if got := nextPlaylist(nested(2)); got != "" {
		t.Errorf("a master playlist inside another: reads %q at once", got)
	}
}

func TestARenewedManifestIsReadBeforeItIsUsed(t *testing.T) { // S7
	list := func(url string, listed ...string) watch.Playlist {
		p := watch.Playlist{Began: at(400), URL: url}
		for _, u := range listed {
			p.Renditions = append(p.Renditions, watch.Rendition{URL: u, HasVideo: u != "subtitles", HasAudio: u != "subtitles"})
		}
		return p
	}
	refused := func(url string) watch.Playlist {
		return watch.Playlist{Began: at(400), URL: url, Failure: watch.NewFailure(watch.FailureExpired, "403")}
	}
	// next returns the playlists that the media lane reads after these readings. The
	// feed before them comes from a master playlist.
	next := func(readings ...watch.Playlist) string {
		w := scenario(t, func(w *world) { w.heights, w.viaMaster = []int{144}, true }).from(50).until(399.9)
		w.now = 400
		w.step(refused("https://media.test/1/144p/list.m3u8"))
		w.step(watch.Resolution{Began: at(400), State: watch.Live, Manifest: "renewed"})
		for _, p := range readings {
			w.step(p)
		}
		for _, task := range w.watcher.Next() {
			if task.Kind == watch.TaskPlaylist {
				return task.URL
			}
		}
		return ""
	}
	const before = "https://media.test/1/144p/list.m3u8"
	for _, c := range []struct {
		name     string
		readings []watch.Playlist
		reads    string
	}{
		{"is read at once", nil, "renewed"},
		{"and then what it lists", []watch.Playlist{list("renewed", "144p")}, "144p"},
		{"is no reason to forget the old one when it cannot be read", []watch.Playlist{refused("renewed")}, before},
		{"nor when there is nothing to watch in it", []watch.Playlist{list("renewed", "subtitles")}, before},
		{"may not be nested either", []watch.Playlist{list("renewed", "144p"), list("144p", "deeper")}, "144p"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := next(c.readings...); got != c.reads {
				t.Errorf("reads %q next, want %q", got, c.reads)
			}
		})
	}
}

func TestAManifestWithoutAReadablePlaylistIsDropped(t *testing.T) { // 5.2, 7.1
	w := scenario(t, func(w *world) {
		w.answers, w.playlistFails = map[span]watch.StreamState{{0, never}: watch.ManifestFound}, []span{{0, 100}}
	}).from(50).findManifest().until(60).findManifest().until(120).findManifest().until(130)
	w.expect(emits(120, event.StreamStarted))
}

func TestSamplesAreAppliedBeforeAnotherPlaylistIsRead(t *testing.T) { // S1
	r := rules()
	r.Thresholds[detector.Blackout] = 3 * time.Second
	w := watch.New(r, at(0))
	w.Step(at(0), watch.Resolution{Began: at(0), State: watch.Live, Renditions: []watch.Rendition{{URL: "old", HasVideo: true, HasAudio: true}}})
	read := func(now float64, url string) {
		p := watch.Playlist{Began: at(now), URL: url, TargetDuration: 2 * time.Second}
		for n := int(now)/2 - 10; n < int(now)/2; n++ {
			p.Segments = append(p.Segments, watch.Segment{URI: fmt.Sprint(n), Duration: 2 * time.Second, ProgramTime: at(float64(2 * n))})
		}
		w.Step(at(now), p)
	}
	analyse := func(now float64, bad map[detector.Name][]watch.Interval) {
		for _, task := range w.Next() {
			if task.Kind == watch.TaskSegment {
				w.Step(at(now), watch.Analysis{Began: at(now), Segment: task.Segment.ID(), Video: decoded, Audio: decoded, Intervals: bad})
			}
		}
	}
	const late = 5 * 3600
	black := map[detector.Name][]watch.Interval{detector.Blackout: wholeSegment}
	read(late, "old")
	analyse(late, nil)
	read(late+10, "old")
	analyse(late+10, black)
	analyse(late+10, black)
	emitted := ""
	for _, e := range w.Step(at(late+10), watch.Resolution{Began: at(late + 10), State: watch.Live, Renditions: []watch.Rendition{{URL: "new", HasVideo: true, HasAudio: true}}}) {
		if e, ok := e.(watch.EventEmitted); ok {
			emitted += string(e.Event.Type)
		}
	}
	if emitted != string(event.Blackout) {
		t.Errorf("emitted %q", emitted)
	}
}

// livingFor lets the server refuse the URLs of each answer some seconds after it.
func livingFor(life float64, playlistToo bool) func(w *world) {
	return func(w *world) {
		w.failure, w.taskTime[watch.TaskResolve] = watch.FailureExpired, 3
		w.playlistFailsIn, w.segmentsFailIn = map[string][]span{}, map[string][]span{}
		w.changeAnswer = func(r *watch.Resolution) {
			refused := []span{{sec(r.Began) + life, never}}
			url := fmt.Sprintf("/%d/", w.manifestCount)
			w.segmentsFailIn[url] = refused
			if playlistToo {
				w.playlistFailsIn[url] = refused
			}
		}
	}
}

const refusedSoon = "The stream's URLs are refused soon after each renewal; they are renewed at most 60 times an hour: let yt-dlp and the media use one address, or update yt-dlp"

func TestURLsThatLiveForSecondsAreRenewedEverLessOften(t *testing.T) { // S7
	for _, playlistToo := range []bool{false, true} {
		for _, life := range []float64{7, 10, 25, 39, 59} {
			for _, interval := range []int{2, 10} {
				t.Run(fmt.Sprintf("for %v s, playlists too: %v, checks every %d s", life, playlistToo, interval), func(t *testing.T) {
					w := scenario(t, livingFor(life, playlistToo), func(w *world) { w.rules.CheckInterval = seconds(interval) }).from(50).until(1840)
					if w.busy(watch.LaneResolve) {
						w.until(1850) // a successor would not know of that question
					}
					w.resume(2).until(3650)
					asked := w.begun[watch.TaskResolve]
					if n := len(asked); n > 60 || n < 55 {
						t.Errorf("asked %d times in an hour", n)
					}
					shortest := []float64{0, 10, 20, 40, 60} // before each of the first renewals
					for i := 1; i < len(asked); i++ {
						if pause := asked[i] - asked[i-1]; pause < shortest[min(i, len(shortest))-1] && (asked[i] < 1842 || asked[i] > 1912) { // a successor asks by itself
							t.Errorf("asked at %v and %v", asked[i-1], asked[i])
						}
					}
					if n := len(w.logged(refusedSoon)); n != 1 {
						t.Errorf("the log names the pattern %d times", n)
					}
					if n := w.watcher.Report().Statistics.TotalSegmentsAnalyzed; n < 58 {
						t.Errorf("analysed %d segments", n)
					}
					if life >= 10 {
						w.expect(emits(53, event.StreamStarted))
					}
				})
			}
		}
	}
	t.Run("of picture and sound, and the log names the pattern once", func(t *testing.T) {
		w := scenario(t, apart, livingFor(20, true)).from(50).until(1840)
		if n := len(w.logged(refusedSoon)); n != 1 {
			t.Errorf("the log names the pattern %d times", n)
		}
	})
	t.Run("but not if the questions are refused, too", func(t *testing.T) {
		w := scenario(t, func(w *world) { w.refused = []span{{400, 900}} }).from(50).until(1840)
		if n := len(w.logged(refusedSoon)); n != 0 {
			t.Error("the log complains")
		}
	})
	t.Run("but seldom refused ones at once, and without a word", func(t *testing.T) {
		w := scenario(t, livingFor(400, true)).from(50).until(4000)
		asked := w.begun[watch.TaskResolve]
		for i := 1; i < len(asked); i++ {
			if pause := asked[i] - asked[i-1]; pause > 412 {
				t.Errorf("asked at %v and %v", asked[i-1], asked[i])
			}
		}
		if n := len(w.logged(refusedSoon)); n != 0 {
			t.Error("the log complains")
		}
		w.expect(emits(53, event.StreamStarted))
	})
}

func TestAURLThatIsRefusedAgainIsRenewedAfterABackoff(t *testing.T) { // S7
	for _, part := range []func(*world, []span){
		func(w *world, refused []span) { w.playlistFails = refused },
		func(w *world, refused []span) { w.segmentsFail = refused },
	} {
		w := scenario(t, func(w *world) {
			w.heights, w.failure = []int{144}, watch.FailureExpired
			part(w, []span{{149, 250}, {700, never}})
		}).from(50).until(208)
		w.expectBegun(watch.TaskResolve, span{140, 208}, 150, 160, 180)
		w.until(738) // by then a URL has lived for more than 5 minutes
		w.expectBegun(watch.TaskResolve, span{600, 738}, 700, 700, 710, 730)
	}
}
