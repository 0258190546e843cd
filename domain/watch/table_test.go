package watch_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// The table of every state × every observation is kept in testdata/table.txt. A cell lists
// the effects. An event is the last part of its name, a signal its condition with "+" or
// "-". A new status follows "→". A warning in the log is "!". It is "health" if only
// health changes, and "·" without any effect. WRITE_TABLE=1 writes the file.

// tableTime is the second of the timeline at which each state is observed.
const tableTime = 600.0

// columns are the states. Each is made by a scenario that runs until tableTime.
var columns = []struct {
	name string
	make func(t *testing.T) *world
}{
	{"initializing", watched(tableTime)},
	{"waiting", watched(500, liveFrom(never))},
	{"waiting, late", watched(596, liveFrom(never), scheduled(299))},
	{"waiting, unanswered", watched(500, unanswered(0, never))},
	{"monitoring", watched(500)},
	{"black, before the alert", watched(500, black(572, never))},
	{"black, after the alert", watched(500, black(550, never))},
	{"outage of the playlist, 20 s old", watched(500, noPlaylist(580, never))},
	{"outage, is_live unknown", watched(500, unobservable(520, never))},
	{"outage of the playlist, alerted", watched(500, noPlaylist(520, never))},
	{"blind", watched(200, unobservable(220, never))},
	{"outage of a stalled playlist, alerted", watched(500, stalls(520, never))},
	{"outage of segments, alerted", watched(500, noSegment(520, never))},
	{"silent, after the alert", watched(500, silent(550, never))},
	{"waiting, with a manifest not yet proven", func(t *testing.T) *world {
		return scenario(t, says(watch.ManifestFound, 0, never)).from(tableTime).findManifest()
	}},
	{"resumed while black, after the alert", func(t *testing.T) *world {
		return scenario(t, black(550, never)).from(500).until(tableTime - 3).resume(3)
	}},
	{"an end claimed 9.9 s ago, segments fail", withClaim(watch.Ended, 9.9, true)},
	{"an end claimed 10 s ago, segments fail", withClaim(watch.Ended, 10, true)},
	{"an end claimed 10 s ago, a segment analysed since", withClaim(watch.Ended, 10, false)},
	{"a refusal claimed 29.9 s ago, segments fail", withClaim(watch.AgeRestricted, 29.9, true)},
	{"a refusal claimed 30 s ago, segments fail", withClaim(watch.AgeRestricted, 30, true)},
	{"a refusal claimed 30 s ago, a segment analysed since", withClaim(watch.AgeRestricted, 30, false)},
	{"completed", watched(500, endsAt(550, true))},
	{"error", watched(500, says(watch.Private, 0, never))},
}

// watched makes a column of a watch that began at a second.
func watched(from float64, set ...option) func(t *testing.T) *world {
	return func(t *testing.T) *world {
		w := scenario(t, set...).from(from)
		if from < tableTime {
			w.until(tableTime)
		}
		return w
	}
}

// withClaim makes a column with an unconfirmed claim (decision S19). YouTube made it
// ago seconds before tableTime.
func withClaim(state watch.StreamState, ago float64, segmentsFail bool) func(t *testing.T) *world {
	return func(t *testing.T) *world {
		w := scenario(t).from(500)
		if segmentsFail {
			noSegment(tableTime-35, never)(w)
		}
		w.until(tableTime - ago)
		w.taskTime[watch.TaskResolve] = never // the next question is not answered before tableTime
		w.step(watch.Resolution{Began: at(w.now), State: state})
		return w.until(tableTime)
	}
}

// observation is a row of the table: one observation at or after tableTime.
type observation struct {
	name string
	make func(w *world) watch.Observation
}

func rows() []observation {
	var all []observation
	row := func(name string, observe func(w *world) watch.Observation) {
		all = append(all, observation{name, observe})
	}
	for _, s := range []watch.StreamState{
		watch.Live, watch.Upcoming, watch.Offline, watch.Ended, watch.NotALiveStream,
		watch.Private, watch.Removed, watch.RegionLocked, watch.AgeRestricted, watch.MembersOnly, watch.Denied, watch.ServerDown,
		watch.ManifestFound, watch.Blocked, watch.RateLimited, watch.Unreachable, watch.ToolFailed, watch.LoginLost, watch.CircuitOpen,
	} {
		row("resolve: "+string(s), func(w *world) watch.Observation {
			r := watch.Resolution{Began: at(w.now), State: s, Detail: "as the table says"}
			if s == watch.Live || s == watch.ManifestFound {
				r.Manifest = "https://media.test/table/list.m3u8"
			}
			return r
		})
	}
	row("resolve: live, no media", func(w *world) watch.Observation {
		return watch.Resolution{Began: at(w.now), State: watch.Live}
	})
	apart := []watch.Rendition{{URL: "https://media.test/v", HasVideo: true}, {URL: "https://media.test/a", HasAudio: true}}
	row("resolve: live, picture and sound apart", func(w *world) watch.Observation {
		return watch.Resolution{Began: at(w.now), State: watch.Live, Renditions: apart}
	})
	subtitles := []watch.Rendition{{URL: "https://media.test/s"}}
	row("resolve: live, neither picture nor sound", func(w *world) watch.Observation {
		return watch.Resolution{Began: at(w.now), State: watch.Live, Renditions: subtitles}
	})
	probe := func(name string, p watch.ProbeResult) {
		row("probe: "+name, func(w *world) watch.Observation { p.Began = at(w.now); return p })
	}
	probe("exists", watch.ProbeResult{Known: true, Exists: true})
	probe("is missing", watch.ProbeResult{Known: true})
	probe("not known", watch.ProbeResult{})
	playlist := func(change func(w *world, p *watch.Playlist)) func(w *world) watch.Observation {
		return func(w *world) watch.Observation {
			w.playlistFails, w.stalls, w.now = nil, nil, w.now+2
			url := ""
			for _, task := range w.watcher.Next() {
				if task.Kind == watch.TaskPlaylist {
					url = task.URL
				}
			}
			p := w.playlist(url, w.now)
			change(w, &p)
			return p
		}
	}
	row("playlist: a new segment", playlist(func(*world, *watch.Playlist) {}))
	row("playlist: ENDLIST", playlist(func(_ *world, p *watch.Playlist) { p.Ended = true }))
	row("playlist: empty", playlist(func(_ *world, p *watch.Playlist) { p.Segments = nil }))
	row("playlist: a master", playlist(func(_ *world, p *watch.Playlist) {
		p.Segments, p.Renditions = nil, []watch.Rendition{{URL: "https://media.test/144", HasVideo: true, HasAudio: true}}
	}))
	row("playlist: a master, picture and sound apart", playlist(func(_ *world, p *watch.Playlist) {
		p.Segments, p.Renditions = nil, apart
	}))
	row("playlist: a master, neither picture nor sound", playlist(func(_ *world, p *watch.Playlist) {
		p.Segments, p.Renditions = nil, subtitles
	}))
	row("playlist: fails", playlist(func(_ *world, p *watch.Playlist) {
		p.Segments, p.Failure = nil, watch.NewFailure(watch.FailureNetwork, "no")
	}))
	row("playlist: 403", playlist(func(_ *world, p *watch.Playlist) {
		p.Segments, p.Failure = nil, watch.NewFailure(watch.FailureExpired, "403")
	}))
	row("playlist: of a URL no longer read", playlist(func(_ *world, p *watch.Playlist) { p.URL = "https://media.test/old" }))
	row("segment: no task asked for it", func(w *world) watch.Observation {
		return watch.Analysis{Began: at(w.now), Segment: "https://media.test/none.ts", Video: decoded, Audio: decoded}
	})
	// Each row below first reads a playlist, so that the watcher asks for a segment.
	segment := func(name string, change func(a *watch.Analysis)) {
		row("segment: "+name, func(w *world) watch.Observation {
			w.now += 10
			w.step(playlist(func(*world, *watch.Playlist) {})(w))
			a := watch.Analysis{Began: at(w.now), Segment: "none", Video: decoded, Audio: decoded}
			for _, task := range w.watcher.Next() {
				if task.Kind == watch.TaskSegment {
					a.Segment = task.Segment.ID()
				}
			}
			change(&a)
			return a
		})
	}
	segment("picture and sound", func(*watch.Analysis) {})
	segment("black", func(a *watch.Analysis) {
		a.Intervals = map[detector.Name][]detector.Interval{detector.Blackout: wholeSegment}
	})
	segment("silent", func(a *watch.Analysis) {
		a.Intervals = map[detector.Name][]detector.Interval{detector.Silence: wholeSegment}
	})
	segment("no video track", func(a *watch.Analysis) { a.Video = detector.DecodedTrack{} })
	segment("no frame can be decoded", func(a *watch.Analysis) { a.Video = detector.DecodedTrack{Present: true} })
	segment("no track at all", func(a *watch.Analysis) { a.Video, a.Audio = detector.DecodedTrack{}, detector.DecodedTrack{} })
	segment("fails", func(a *watch.Analysis) { a.Failure = watch.NewFailure(watch.FailureNetwork, "no") })
	segment("403", func(a *watch.Analysis) { a.Failure = watch.NewFailure(watch.FailureExpired, "403") })
	segment("cannot be decoded", func(a *watch.Analysis) { a.Failure = watch.NewFailure(watch.FailureUndecodable, "no") })
	for _, s := range []monitor.StreamStatus{monitor.StreamUpcoming, monitor.StreamLive, monitor.StreamEnded, monitor.StreamUnknown} {
		row("the official API: "+string(s), func(w *world) watch.Observation { return watch.OfficialState{Status: s, AskedAt: at(w.now)} })
	}
	row("nothing, a second passes", func(w *world) watch.Observation { w.now++; return watch.Tick{} })
	row("nothing, seven minutes pass", func(w *world) watch.Observation { w.now += 420; return watch.Tick{} })
	return all
}

var (
	decoded      = detector.DecodedTrack{Present: true, To: 2 * time.Second}
	wholeSegment = []detector.Interval{{To: 2 * time.Second}}
)

// signalWord is a signal in short: its condition, with "+" at the begin and "-" at
// the end.
func signalWord(s monitor.Signal) string {
	if s.EndedAt.IsZero() {
		return string(s.Condition) + "+"
	}
	return string(s.Condition) + "-"
}

// summary returns the effects in the words of the table.
func summary(effects []watch.Effect) string {
	var words []string
	health := false
	for _, e := range effects {
		switch e := e.(type) {
		case watch.EventEmitted:
			name := string(e.Event.Type)
			words = append(words, name[strings.IndexByte(name, '.')+1:])
		case watch.SignalEmitted:
			words = append(words, signalWord(e.Signal))
		case watch.StatusChanged:
			words = append(words, "→"+string(e.Status))
		case watch.LogEntry:
			if e.Warn {
				words = append(words, "!")
			}
		case watch.HealthChanged:
			health = true
		}
	}
	if len(words) == 0 {
		if health {
			return "health"
		}
		return "·"
	}
	return strings.Join(words, " ")
}

func TestEveryStateAndObservationFollowsTheTable(t *testing.T) {
	var b strings.Builder
	for _, c := range columns {
		fmt.Fprintf(&b, "%s\n", c.name)
		for _, r := range rows() {
			w := c.make(t)
			o := r.make(w)
			fmt.Fprintf(&b, "    %-48s %s\n", r.name, summary(w.watcher.Step(at(w.now), o)))
		}
	}
	const file = "testdata/table.txt"
	if os.Getenv("WRITE_TABLE") != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, declared := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	if len(got) != len(declared) {
		t.Errorf("the table has %d lines, %s declares %d", len(got), file, len(declared))
	}
	state := ""
	for i := range min(len(got), len(declared)) {
		if !strings.HasPrefix(got[i], " ") {
			state = got[i]
		}
		if got[i] != declared[i] {
			t.Errorf("%s\n  declared %s\n  follows  %s", state, strings.TrimSpace(declared[i]), strings.TrimSpace(got[i]))
		}
	}
}
