package watch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// playlistTask is the URL of the playlist that is read next, or "".
func playlistTask(w *watch.Watcher) string {
	for _, task := range w.Next() {
		if task.Kind == watch.TaskPlaylist {
			return task.URL
		}
	}
	return ""
}

func TestAFailingRenditionIsReplaced(t *testing.T) { // S7, S8
	qualities := func(w *world) {
		w.heights, w.failure = []int{144, 360, 720}, watch.FailureExpired
		w.taskTime[watch.TaskResolve], w.taskTime[watch.TaskPlaylist] = 1, 0.1
	}
	expectWatched := func(t *testing.T, w *world, rendition string) {
		t.Helper()
		if url := playlistTask(w.watcher); !strings.Contains(url, rendition) {
			t.Errorf("watches %s at %v, want %s", url, w.now, rendition)
		}
	}
	t.Run("but not when only its URL has expired", func(t *testing.T) {
		w := scenario(t, qualities, noPlaylistIn("/1/", 95, never)).from(50).until(400).expect("51 started since 0")
		expectWatched(t, w, "/144p/")
	})
	t.Run("nor before its renewed URL has been tried", func(t *testing.T) {
		w := scenario(t, qualities, failing(watch.FailureNetwork), noPlaylist(95, 110)).from(50).until(103)
		for range 2 {
			w.step(w.resolve(w.now))
		}
		expectWatched(t, w.until(200), "/144p/")
	})
	t.Run("nor when there is no other", func(t *testing.T) {
		w := scenario(t, qualities, renditions(144), noPlaylist(95, 300)).from(50).until(400)
		for _, e := range w.log {
			if strings.Contains(e.Message, "another is tried") {
				t.Errorf("the log says %q", e.Message)
			}
		}
	})
	t.Run("until the outage ends and the manifest is renewed", func(t *testing.T) {
		for renewed, refused := range map[float64][]float64{600: {500, 510}, 5*3600 + 600: nil} {
			w := scenario(t, qualities, noPlaylistIn("/144p/", 95, 300), noPlaylistIn("/360p/", refused...)).from(50).until(400)
			expectWatched(t, w, "/360p/")
			expectWatched(t, w.until(renewed), "/144p/")
		}
	})
	t.Run("by its copy on another server, if there is one", func(t *testing.T) {
		copies := func(w *world) {
			w.changeAnswer = func(r *watch.Resolution) {
				r.Manifest, r.Renditions = "", nil
				for at, height := range map[string]int{"1/b": 144, "1/a": 144, "1/c": 720} {
					r.Renditions = append(r.Renditions, watch.Rendition{
						URL: "https://media.test/" + at + "/list.m3u8", Height: height, HasVideo: true, HasAudio: true,
					})
				}
			}
		}
		w := scenario(t, qualities, copies, noPlaylistIn("/a/", 95, never)).from(50).until(400).expect("51 started since 0")
		expectWatched(t, w, "/b/")
		w = scenario(t, qualities, copies, noPlaylistIn("/a/", 95, never), noPlaylistIn("/b/", 200, never)).from(50).until(500).expect("51 started since 0")
		expectWatched(t, w, "/c/")
	})
	follow(t, []timeline{
		{"by the next, if it fails with a renewed URL, too", []option{qualities, noPlaylistIn("/144p/", 95, never), black(100, 140)}, 50, 400,
			"51 started since 0, 130.2 blackout since 100 for 30, 142 blackout_recovered since 100 until 140 for 40", []tasks{asked(95, 125, 101.1, 111.1)}},
		{"by the next but one, if that one is gone, too", []option{qualities, noPlaylistIn("/144p/", 95, never), noPlaylistIn("/360p/", 95, never)}, 50, 400,
			"51 started since 0",
			[]tasks{asked(60, 400, 101.1, 111.1, 121.1)}},
		{"and those of picture or sound each by its own", []option{qualities, noPlaylistIn("/sound/1/", 95, never), func(w *world) {
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
		}}, 50, 400, "51 started since 0", nil},
	})
	t.Run("but when all are gone it is an outage, and nobody is asked without end", func(t *testing.T) {
		w := scenario(t, qualities, renditions(144, 160, 180, 240, 270, 360, 480, 540, 720, 1080), noPlaylist(95, 395)).from(50).until(600).
			expect("51 started since 0, 162.1 segment_error since 101 for 61 by manifest")
		if n := w.begunIn(watch.TaskResolve, span{95, 395}); n > 14 {
			t.Errorf("asked %d times in five minutes", n)
		}
	})
}

func TestPlaylistsMayMergeInAnOutage(t *testing.T) { // S6: it stays one outage
	w := scenario(t, apart, failing(watch.FailureExpired),
		noPlaylistIn("/sound/", 95, never), noPlaylistIn("/picture/", 125, never), noPlaylistIn("/144p/", 95, 170)).from(50).until(140)
	w.separateTracks, w.heights = false, []int{144}
	w.until(400).expect("50 started since 0, 160 segment_error since 100 for 60 by manifest")
}

func TestAMasterPlaylistInsideAMasterPlaylistIsRefused(t *testing.T) {
	w := watch.New(rules(), at(0))
	w.Step(at(0), watch.Resolution{Began: at(0), State: watch.Live, Manifest: "0"})
	for i, want := range []string{"1", ""} { // what is read at once, after one master playlist, and after one inside it
		w.Step(at(0), watch.Playlist{Began: at(0), URL: fmt.Sprint(i), Renditions: []watch.Rendition{{URL: fmt.Sprint(i + 1), HasVideo: true, HasAudio: true}}})
		got := ""
		for _, task := range w.Next() {
			if task.Kind == watch.TaskPlaylist && !task.At.After(at(0)) {
				got = task.URL
			}
		}
		if got != want {
			t.Errorf("after %d master playlists: reads %q at once, want %q", i+1, got, want)
		}
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
		w := scenario(t, renditions(144), func(w *world) { w.viaMaster = true }).from(50).until(399.9)
		w.now = 400
		w.step(refused("https://media.test/1/144p/list.m3u8"))
		w.step(watch.Resolution{Began: at(400), State: watch.Live, Manifest: "renewed"})
		for _, p := range readings {
			w.step(p)
		}
		return playlistTask(w.watcher)
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

// The manifest is renewed while the second of three segments is analysed.
func TestSamplesAreAppliedBeforeAnotherPlaylistIsRead(t *testing.T) { // S1
	follow(t, []timeline{{"", []option{renditions(144), threshold(detector.Blackout, 3), black(1893, 1899.9), expiringAfter(45*time.Minute + 1500*time.Millisecond),
		takes(watch.TaskResolve, 1.5), takes(watch.TaskSegment, 0.6)}, 98.5, 1950, "100 started since 0, 1901.5 blackout since 1894 for 5, 1901 blackout_recovered since 1894 until 1899.9 for 5", nil}})
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
		for _, c := range []struct {
			life     float64
			interval int
		}{{7, 2}, {10, 10}, {25, 2}, {39, 10}, {59, 2}} {
			t.Run(fmt.Sprintf("for %v s, playlists too: %v, checks every %d s", c.life, playlistToo, c.interval), func(t *testing.T) {
				w := scenario(t, livingFor(c.life, playlistToo), checksEvery(c.interval)).from(50).until(1840)
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
				if c.life >= 10 {
					w.expect("53 started since 0")
				}
			})
		}
	}
	for name, c := range map[string]struct {
		set      []option
		until    float64
		complain int // how often the log names the pattern
	}{
		"of picture and sound, and the log names the pattern once": {[]option{apart, livingFor(20, true)}, 1840, 1},
		"but not if the questions are refused, too":                {[]option{refused(400, 900)}, 1840, 0},
		"but seldom refused ones at once, and without a word":      {[]option{livingFor(400, true)}, 4000, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, c.set...).from(50).until(c.until)
			if n := len(w.logged(refusedSoon)); n != c.complain {
				t.Errorf("the log names the pattern %d times", n)
			}
			if c.until < 4000 {
				return
			}
			w.expect("53 started since 0")
			asked := w.begun[watch.TaskResolve]
			for i := 1; i < len(asked); i++ {
				if pause := asked[i] - asked[i-1]; pause > 412 {
					t.Errorf("asked at %v and %v", asked[i-1], asked[i])
				}
			}
		})
	}
}

func TestAURLThatIsRefusedAgainIsRenewedAfterABackoff(t *testing.T) { // S7
	for name, fails := range map[string]option{"playlists": noPlaylist(149, 250, 700, never), "segments": noSegment(149, 250, 700, never)} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, renditions(144), failing(watch.FailureExpired), fails).from(50).until(738)
			w.expectBegun(watch.TaskResolve, span{140, 208}, 150, 160, 180)
			w.expectBegun(watch.TaskResolve, span{600, 738}, 700, 700, 710, 730) // by then a URL has lived for more than 5 minutes
		})
	}
}
