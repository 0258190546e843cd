package watch_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// judged is a made-up detector that judges other renditions. It finds nothing.
func judged() detector.Detector {
	d := detectortest.Optional
	d.Track, d.Needs = detector.Video, detector.Renditions
	d.Rule = func(json.RawMessage, time.Time, detector.Sample, func(string) float64) (json.RawMessage, detector.Verdict) {
		return nil, detector.Verdict{}
	}
	return d
}

// looksAtOthers switches the made-up detector on, with this threshold in seconds.
func looksAtOthers(sec int) option { return threshold(detectortest.Optional.Name, sec) }

// ofOthers describes the states of the other renditions in health, such as "720p ok at 60".
func (w *world) ofOthers() string {
	var all []string
	for _, r := range w.watcher.Report().Health.Renditions {
		text := fmt.Sprintf("%dp %s", r.Height, r.State)
		if !r.LookedAt.IsZero() {
			text += fmt.Sprint(" at ", sec(r.LookedAt))
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func TestOtherRenditionsAreLookedAtInTurn(t *testing.T) { // S22
	detectortest.Add(t, judged())
	looked := func(at ...float64) tasks { return tasks{watch.TaskRendition, span{0, 500}, at} }
	const started = "50 started since 0"
	follow(t, []timeline{
		// Each is looked at again after a minute, until two looks agree that it is good.
		{"one each minute", []option{looksAtOthers(90), renditions(144, 360, 720)}, 50, 440, started, []tasks{looked(110, 170, 170, 230, 230, 290, 350, 410)}},
		{"and the list each minute, if there is one", []option{looksAtOthers(90), renditions(144, 360), func(w *world) { w.viaMaster = true }}, 50, 240, started,
			[]tasks{looked(50, 110, 110, 170, 170, 230, 230)}},
		{"more often if the threshold is shorter", []option{looksAtOthers(20), renditions(144, 360)}, 50, 135, started, []tasks{looked(70, 90, 110, 130)}},
		{"not unless a detector judges them", []option{renditions(144, 360)}, 50, 400, started, []tasks{looked()}},
		{"none of a stream with one rendition", []option{looksAtOthers(90), renditions(144)}, 50, 400, started, []tasks{looked()}},
		{"nor sound that has a playlist of its own", []option{looksAtOthers(90), apart}, 50, 400, started, []tasks{looked()}},
		{"not in an outage", []option{looksAtOthers(90), renditions(144, 360), noPlaylistIn("/144p/", 130, 260)}, 50, 310,
			started + ", 190 segment_error since 130 for 60 by manifest", []tasks{looked(110, 310)}},
	})
}

func TestWhatALookAtARenditionFinds(t *testing.T) { // S22
	detectortest.Add(t, judged())
	viaMaster := func(w *world) { w.viaMaster = true }
	for name, c := range map[string]struct {
		set  []option
		want map[float64]string // by the second
	}{
		"it is good":                      {nil, map[float64]string{70: "720p unknown", 135: "720p ok at 120", 260: "720p ok at 240"}},
		"it is black":                     {[]option{blackIn("/720p/", 150, 290)}, map[float64]string{175: "720p ok at 120", 195: "720p black at 180", 315: "720p ok at 300"}},
		"it is black as the watched one":  {[]option{black(150, 290)}, map[float64]string{195: "720p unknown at 180", 315: "720p ok at 300"}},
		"its playlist fails":              {[]option{failing(watch.FailureExpired), noPlaylistIn("/720p/", 150, 290)}, map[float64]string{195: "720p failed at 180", 315: "720p ok at 300"}},
		"its segments fail":               {[]option{noSegmentIn("/720p/", 150, 290)}, map[float64]string{195: "720p failed at 180", 315: "720p ok at 300"}},
		"the server refuses this address": {[]option{failing(watch.FailureRefused), noPlaylistIn("/720p/", 150, 290)}, map[float64]string{195: "720p unknown at 180", 315: "720p ok at 300"}},
		"the server has enough of it":     {[]option{failing(watch.FailureRateLimited), noSegmentIn("/720p/", 150, 290)}, map[float64]string{195: "720p unknown at 180"}},
		"a tool of this host fails":       {[]option{failing(watch.FailureTool), noSegmentIn("/720p/", 150, 290)}, map[float64]string{195: "720p unknown at 180"}},
		"its codec is unknown here":       {[]option{failing(watch.FailureUndecodable), noSegmentIn("/720p/", 0, 290)}, map[float64]string{195: "720p unknown at 180"}},
		"it cannot be decoded any more":   {[]option{failing(watch.FailureUndecodable), noSegmentIn("/720p/", 150, 290)}, map[float64]string{195: "720p failed at 180"}},
		"its playlist stands":             {[]option{stallsIn("/720p/", 150, 350)}, map[float64]string{195: "720p ok at 180", 255: "720p stalled at 240", 315: "720p stalled at 300", 375: "720p ok at 360"}},
		"it stands while others are in turn": {[]option{renditions(144, 240, 360, 480, 720), stallsIn("/720p/", 190, never)},
			map[float64]string{375: "720p stalled at 360, 480p ok at 240, 360p ok at 300, 240p ok at 360", 435: "720p stalled at 420, 480p ok at 420, 360p ok at 300, 240p ok at 360"}},
		"its segments are longer than the interval": {[]option{looksAtOthers(20), segmentsOf(30), func(w *world) { w.window = 120 }}, map[float64]string{125: "720p ok at 120", 155: "720p ok at 140"}},
		"its playlist has ended":                    {[]option{endlistIn("/720p/", 150, never)}, map[float64]string{195: "720p stalled at 180"}},
		"the network of this host":                  {[]option{noPlaylist(179, 181)}, map[float64]string{195: "720p unknown at 180"}},
		// The analysis of the watched one has begun before the look has failed, and the next reading fails too.
		"the network of this host, seen later": {[]option{takes(watch.TaskSegment, 5), takes(watch.TaskRendition, 2), noSegmentIn("/720p/", 179, 181), noPlaylist(188, 192)},
			map[float64]string{187: "720p ok at 180", 205: "720p unknown at 180"}},
		"an outage of the watched one": {[]option{noPlaylistIn("/144p/", 190, 290)}, map[float64]string{210: "720p ok at 180", 260: "720p unknown at 180", 375: "720p ok at 370"}},
		"it is not listed any more":    {[]option{viaMaster, goneAt(720, 150, 230)}, map[float64]string{175: "720p ok at 120", 190: "720p gone at 180", 315: "720p ok at 300"}},
		"not listed for six hours":     {[]option{viaMaster, goneAt(720, 150, never)}, map[float64]string{21_770: "720p gone at 21720", 21_790: ""}},
		"bad for six hours, then in its turn": {[]option{renditions(144, 360, 720), noSegmentIn("/720p/", 0, never)},
			map[float64]string{21_670: "720p failed at 21660, 360p ok at 21660", 21_790: "720p failed at 21720, 360p ok at 21780"}},
		"the stream's program time is reset": {[]option{func(w *world) { w.resetFrom, w.resetBy = 190, -3600 }}, map[float64]string{255: "720p ok at 240", 315: "720p ok at 300"}},
		"no program time is stated":          {[]option{noProgramTime, stallsIn("/720p/", 150, 350)}, map[float64]string{195: "720p ok at 180", 255: "720p stalled at 240", 375: "720p ok at 360"}},
		"a restart in between":               {[]option{stallsIn("/720p/", 150, never), restarts(210, 215)}, map[float64]string{230: "720p ok at 180", 255: "720p stalled at 240"}},
		"the manifest is renewed":            {[]option{viaMaster, expiringAfter(20 * time.Minute), stallsIn("/720p/", 370, never)}, map[float64]string{390: "720p ok at 360", 495: "720p stalled at 480"}},
		// The watched rendition fails under two URLs, and another is watched.
		"another one is watched": {[]option{withTaskTimes, viaMaster, renditions(144, 360), failing(watch.FailureExpired), noPlaylistIn("/144p/", 150, never)},
			map[float64]string{145: "360p ok at 123", 300: "144p failed at 243.2"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, append([]option{looksAtOthers(90), renditions(144, 720)}, c.set...)...).from(60)
			for _, until := range slices.Sorted(maps.Keys(c.want)) {
				for _, cut := range w.cuts {
					if w.now <= cut.from && cut.from < until {
						w.until(cut.from).resume(cut.to - cut.from)
					}
				}
				if got := w.until(until).ofOthers(); got != c.want[until] {
					t.Errorf("at %v: %s, want %s", until, got, c.want[until])
				}
			}
		})
	}
}

func TestEvidenceShowsTheSegmentThatTheNewestLookHasDecoded(t *testing.T) { // S22, section 16.2
	detectortest.Add(t, judged())
	viaMaster := func(w *world) { w.viaMaster = true }
	for name, c := range map[string]struct {
		set  []option
		want string // which rendition, and the instant of its picture
	}{
		"it is good":          {nil, "720p at 238"},
		"it is black":         {[]option{blackIn("/720p/", 150, 290)}, "720p at 238"},
		"it gets black":       {[]option{blackIn("/720p/", 239, 290)}, "720p at 239"},
		"it cannot be read":   {[]option{noPlaylistIn("/720p/", 150, 290)}, "720p"},
		"its segments fail":   {[]option{noSegmentIn("/720p/", 150, 290)}, "720p"},
		"its playlist stands": {[]option{stallsIn("/720p/", 150, 350)}, "720p"},
		"it is gone":          {[]option{viaMaster, goneAt(720, 150, never)}, "720p"},
	} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, append([]option{looksAtOthers(90), renditions(144, 720)}, c.set...)...).from(60).until(255)
			var got []string
			for _, r := range w.watcher.OtherRenditions() {
				shown := fmt.Sprintf("%dp", r.Height)
				if r.Segment != nil {
					shown += fmt.Sprint(" at ", sec(r.Segment.ProgramTime.Add(r.Shows)))
				}
				got = append(got, shown)
			}
			if got := strings.Join(got, ", "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestTheClockThatIsSetDelaysNoLook(t *testing.T) { // S1, S22
	detectortest.Add(t, judged())
	w := scenario(t, looksAtOthers(90), renditions(144, 360, 720), func(w *world) { w.viaMaster = true }).from(10_060).until(10_130)
	w.setClock(-7200).until(w.now + 65)
	if got := w.ofOthers(); got != "720p ok at 2980, 360p ok at 2980" {
		t.Errorf("after the clock was set: %s", got)
	}
}

func TestADetectorThatIsSwitchedOnFindsTheRenditionsAtOnce(t *testing.T) { // S22, section 16.6
	detectortest.Add(t, judged())
	w := scenario(t, renditions(144, 720), func(w *world) { w.viaMaster = true }).from(60).until(300)
	for _, c := range []struct {
		set  func(*watch.Rules)
		want string
	}{
		{func(r *watch.Rules) { r.Thresholds[detectortest.Optional.Name] = 90 * time.Second }, "720p ok at 300"},
		{func(r *watch.Rules) { delete(r.Thresholds, detectortest.Optional.Name) }, ""},
		{func(r *watch.Rules) { r.Thresholds[detectortest.Optional.Name] = 90 * time.Second }, "720p ok at 380"},
	} {
		if w.changeRules(c.set).until(w.now + 40); w.ofOthers() != c.want {
			t.Errorf("at %v: %s, want %s", w.now, w.ofOthers(), c.want)
		}
	}
}

func TestWhichRenditionsAreLookedAt(t *testing.T) { // S22
	detectortest.Add(t, judged())
	type list = []watch.Rendition
	of := func(url string, height, bandwidth int, tracks string) watch.Rendition {
		return watch.Rendition{URL: url, Height: height, Bandwidth: bandwidth, HasVideo: strings.Contains(tracks, "v"), HasAudio: strings.Contains(tracks, "a"), Alternate: strings.Contains(tracks, "x")}
	}
	both, many := of("144", 144, 100, "va"), list{of("144", 144, 100, "va")}
	for height := 200; height <= 1200; height += 100 {
		many = append(many, of(fmt.Sprint(height), height, 1000, "va"))
	}
	for name, c := range map[string]struct {
		listed, again list // by the first answer, and by one an hour later
		want          string
	}{
		"the largest eight":                       {many, nil, "1200/1000 1100/1000 1000/1000 900/1000 800/1000 700/1000 600/1000 500/1000"},
		"no sound, no translation":                {list{both, of("a", 0, 64, "a"), of("es", 720, 900, "vax"), of("720", 720, 900, "va")}, nil, "720/900"},
		"those with the same tracks, if any":      {list{both, of("720v", 720, 800, "v"), of("720", 720, 900, "va")}, nil, "720/900"},
		"those with other tracks, if none has":    {list{both, of("720v", 720, 800, "v"), of("360v", 360, 400, "v")}, nil, "720/800 360/400"},
		"copies of one on another server":         {list{both, of("720", 720, 900, "va"), of("backup/720", 720, 900, "va")}, nil, "720/900"},
		"one playlist for two kinds of sound":     {list{both, of("720", 720, 900, "va"), of("720", 720, 1100, "va"), of("144", 144, 300, "va")}, nil, "720/1100"},
		"two of one height":                       {list{both, of("720", 720, 900, "va"), of("720-60", 720, 1500, "va")}, nil, "720/1500 720/900"},
		"bandwidths that are measured anew":       {list{both, of("720", 720, 900, "va")}, list{of("144?", 144, 103, "va"), of("720?", 720, 950, "va")}, "720/950"},
		"another one of the watched one's height": {list{both, of("144-60", 144, 180, "va")}, list{of("144?", 144, 103, "va"), of("144-60?", 144, 180, "va")}, "144/180"},
		"one that is not listed any more":         {list{both, of("720", 720, 900, "va"), of("360", 360, 500, "va")}, list{both, of("360", 360, 500, "va")}, "720/900 gone 360/500"},
	} {
		t.Run(name, func(t *testing.T) {
			r := rules()
			r.Thresholds[detectortest.Optional.Name] = time.Minute
			w, _ := watchRenditions(t, r, c.listed, nil, nil)
			if c.again != nil {
				w.Step(at(3600), watch.Resolution{Began: at(3600), State: watch.Live, Renditions: c.again})
			}
			var got []string
			for _, other := range w.Report().Health.Renditions {
				got = append(got, strings.TrimSuffix(fmt.Sprintf("%d/%d %s", other.Height, other.Bandwidth, other.State), " unknown"))
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestAPlaylistThatIsListedTwiceIsReadNoMoreOften(t *testing.T) { // S22
	detectortest.Add(t, judged())
	both := func(url string, height int) watch.Rendition {
		return watch.Rendition{URL: url, Height: height, HasVideo: true, HasAudio: true}
	}
	for name, listed := range map[string][]watch.Rendition{
		"as captions, too":     {both("144", 144), both("720", 720), {URL: "720", HasCaptions: true}},
		"as the list":          {both("144", 144), both("master", 720)},
		"the list as captions": {both("144", 144), {URL: "master", HasCaptions: true}},
	} {
		t.Run(name, func(t *testing.T) {
			r := rules()
			r.Thresholds[detectortest.Optional.Name], r.Thresholds[detector.CaptionsMissing] = time.Minute, 2*time.Minute
			w := watch.New(r, at(0))
			w.Step(at(0), watch.Resolution{Began: at(0), State: watch.Live, Manifest: "master"})
			looks := 0
			for second := 0.0; second < 180; second++ {
				for _, task := range w.Next() {
					answer := watch.Playlist{Began: at(second), URL: task.URL, TargetDuration: 2 * time.Second,
						Segments: []watch.Segment{{URI: fmt.Sprint(task.URL, second), Sequence: uint64(second), Duration: 2 * time.Second}}}
					if task.URL == "master" {
						answer.Segments, answer.Renditions = nil, listed
					}
					analysis := watch.Analysis{Began: at(second), Segment: task.Segment.ID(), Video: decoded, Audio: decoded}
					switch {
					case task.At.After(at(second)):
					case task.Kind == watch.TaskPlaylist:
						w.Step(at(second), answer)
					case task.Kind == watch.TaskSegment:
						w.Step(at(second), analysis)
					case task.Kind == watch.TaskRendition:
						looks++
						w.Step(at(second), watch.RenditionLook{Playlist: answer, Analysis: &analysis, Text: task.Look.Text})
					}
				}
			}
			if looks > 30 { // captions are read each 10 s, the list and a rendition each minute
				t.Errorf("%d looks in 3 minutes", looks)
			}
		})
	}
}

// TestLooksAtOtherRenditionsDisturbNothing watches a stream with any faults twice, once with looks at other
// renditions that also have any. All events and all other tasks are the same, at the same times.
func TestLooksAtOtherRenditionsDisturbNothing(t *testing.T) { // S22
	const end = 450
	detectortest.Add(t, judged())
	rapid.Check(t, func(r *rapid.T) {
		w := anyWorld(r, t, end)
		w.copyDelays, w.heights, w.viaMaster = nil, []int{144, 360, 720}, rapid.Bool().Draw(r, "a master playlist")
		w.stallsIn["/720p/"], w.playlistFailsIn["/360p/"] = someSpans(r, "720p stands", end), someSpans(r, "360p fails", end)
		w.taskTime[watch.TaskRendition] = rapid.Float64Range(0, 30).Draw(r, "looking")
		w.checksRevision = true
		with := *w
		with.begun, with.urls, with.rules.Thresholds = map[watch.TaskKind][]float64{}, map[string]bool{}, maps.Clone(w.rules.Thresholds)
		looksAtOthers(rapid.IntRange(10, 90).Draw(r, "threshold"))(&with)
		w.from(10).until(end)
		with.from(10).until(end)
		if t.Failed() {
			r.Fatal("see above")
		}
		delete(with.begun, watch.TaskRendition)
		told := func(w *world) (all []string) {
			for _, e := range w.events {
				all = append(all, describe(e))
			}
			return append(all, fmt.Sprint(w.signals, w.begun))
		}
		if got, want := told(&with), told(w); !slices.Equal(got, want) {
			r.Fatalf("with looks\n%q\nwithout\n%q", got, want)
		}
	})
}
