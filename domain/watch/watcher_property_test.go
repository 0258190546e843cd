package watch_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// moment draws a number up to most. Each is as likely; rapid prefers small ones.
func moment(r *rapid.T, what string, most float64) float64 {
	wholes := make([]float64, int(most))
	for n := range wholes {
		wholes[n] = float64(n)
	}
	return rapid.SampledFrom(wholes).Draw(r, what) + rapid.Float64Range(0, 1).Draw(r, what+", fraction")
}

// someSpans draws spans of a timeline, which may touch and overlap. Half of all have none.
func someSpans(r *rapid.T, what string, end float64) []span {
	var out []span
	for range rapid.SampledFrom([]int{0, 0, 0, 1, 2, 4}).Draw(r, what) {
		from := moment(r, what+" from", end)
		out = append(out, span{from, from + 0.1 + moment(r, what+" for", 150)})
	}
	return out
}

// anyWorld draws a stream with any faults at any times.
func anyWorld(r *rapid.T, t *testing.T, end float64) *world {
	return scenario(t, func(w *world) {
		w.segment = rapid.SampledFrom([]float64{1, 2, 5}).Draw(r, "segment")
		w.delay = rapid.Float64Range(0, 10).Draw(r, "delay")
		w.noProgramTime = rapid.Bool().Draw(r, "no program time")
		if rapid.Bool().Draw(r, "begins late") {
			w.live.from = moment(r, "live from", end/2)
		}
		if rapid.Bool().Draw(r, "ends") {
			w.live.to = w.live.from + moment(r, "live for", end-w.live.from)
		}
		w.endlist = rapid.Bool().Draw(r, "endlist")
		w.afterLive = rapid.SampledFrom([]watch.StreamState{watch.Ended, watch.Private, watch.Removed, watch.NotALiveStream, watch.Offline}).Draw(r, "afterwards")
		w.black = someSpans(r, "black", end)
		w.silent = someSpans(r, "silent", end)
		w.stalls = someSpans(r, "frozen", end)
		w.playlistFails = someSpans(r, "no list", end)
		w.segmentsFail = someSpans(r, "no segment", end)
		w.unanswered = someSpans(r, "noAnswer", end)
		w.refused = someSpans(r, "refused", end)
		for _, s := range someSpans(r, "the official API answers", end) {
			w.official = append(w.official, officialAnswer{s, rapid.SampledFrom([]monitor.StreamStatus{
				monitor.StreamUpcoming, monitor.StreamLive, monitor.StreamEnded, monitor.StreamUnknown}).Draw(r, "with")})
		}
		for _, s := range someSpans(r, "the owner is told", end) {
			w.owner = append(w.owner, ownerAnswer{s, rapid.Bool().Draw(r, "no data")})
		}
		w.refusal = rapid.SampledFrom([]watch.FailureKind{watch.FailureRefused, watch.FailureRateLimited}).Draw(r, "refusal")
		w.separateTracks = rapid.Bool().Draw(r, "picture and sound apart")
		w.viaMaster = rapid.Bool().Draw(r, "listed in a master")
		w.playlistFailsIn = map[string][]span{"/sound/": someSpans(r, "no sound", end), "/picture/": someSpans(r, "no picture", end)}
		w.stallsIn = map[string][]span{"/sound/": someSpans(r, "sound stands", end)}
		w.rename = anyNames(r, w)
		w.copyDelays = anyCopies(r, w.segment, 60)
		w.failure = rapid.SampledFrom([]watch.FailureKind{watch.FailureNetwork, watch.FailureExpired, watch.FailureUndecodable}).Draw(r, "failure")
		w.rules.CheckInterval = seconds(rapid.SampledFrom([]int{1, 5, 10, 60, 300}).Draw(r, "interval"))
		w.rules.Thresholds[detector.Blackout] = seconds(rapid.IntRange(1, 60).Draw(r, "blackout threshold"))
		w.rules.Thresholds[detector.Silence] = seconds(rapid.IntRange(1, 60).Draw(r, "silence threshold"))
		w.rules.ScheduledStart = at(rapid.Float64Range(0, end).Draw(r, "scheduled"))
		for _, k := range []watch.TaskKind{watch.TaskResolve, watch.TaskProbe, watch.TaskPlaylist, watch.TaskSegment} {
			w.taskTime[k] = rapid.Float64Range(0, 3).Draw(r, "time of "+string(k))
		}
	})
}

// anyNames draws how the URIs of segments change from one reading to the next.
func anyNames(r *rapid.T, w *world) func(uri string) string {
	if rapid.Bool().Draw(r, "URIs that stay") {
		return nil
	}
	renamed[rapid.SampledFrom(slices.Sorted(maps.Keys(renamed))).Draw(r, "URIs that change by")](w)
	return w.rename
}

// anyCopies draws by how many segments the copies of a playlist are older than its newest
// copy, by so many seconds at most.
func anyCopies(r *rapid.T, segment, seconds float64) (delays []int) {
	for range rapid.IntRange(0, 3).Draw(r, "newest copies") {
		delays = append(delays, 0)
		for range rapid.IntRange(0, 4).Draw(r, "older copies after it") {
			delays = append(delays, rapid.IntRange(1, int(seconds/segment)).Draw(r, "segments behind"))
		}
	}
	return delays
}

func TestEventsAreConsistentWhateverIsObserved(t *testing.T) {
	const end = 1200
	rapid.Check(t, func(r *rapid.T) {
		w := anyWorld(r, t, end).from(rapid.Float64Range(0, end/2).Draw(r, "watched from"))
		began := w.now
		w.until(end + 700)
		if t.Failed() {
			r.Fatal("see above")
		}
		checkAlternate(r, w, event.Blackout, event.BlackoutRecovered)
		checkAlternate(r, w, event.Silence, event.SilenceRecovered)
		once := map[event.Type]int{}
		previous := began
		for i, e := range w.events {
			once[e.Type]++
			if e.at < previous {
				r.Fatalf("event %d goes back in time", i)
			}
			previous = e.at
			passed := e.at - min(began-w.delay-w.segment-31-60, w.live.from)
			if d := duration(e.Data); d < 0 || float64(d) > passed {
				r.Fatalf("%s lasts %d s, but only %v s have passed", e.Type, d, passed)
			}
			last := e.Type == event.StreamEnded
			if trouble, ok := e.Data.(event.MonitorFailure); ok {
				last = trouble.Terminal
			}
			if last != (w.over && i == len(w.events)-1) {
				r.Fatalf("%s is event %d of %d", e.Type, i+1, len(w.events))
			}
		}
		for _, typ := range []event.Type{event.StreamStarted, event.StreamEnded, event.StreamDelayed} {
			if once[typ] > 1 {
				r.Fatalf("%s was emitted %d times", typ, once[typ])
			}
		}
		for kind, most := range map[watch.TaskKind]int{watch.TaskResolve: 12, watch.TaskPlaylist: 90, watch.TaskSegment: 120} {
			for from := began; from < end+700; from += 30 {
				if n := w.begunIn(kind, span{from, from + 30}); n > most {
					r.Fatalf("%s %d times in the 30 s from second %v", kind, n, from)
				}
			}
		}
		stats := w.watcher.Report().Statistics
		if stats.Alerts(detector.Blackout) != once[event.Blackout] || stats.Alerts(detector.Silence) != once[event.Silence] {
			r.Fatalf("the statistics %+v do not count the events %v", stats, once)
		}
	})
}

// checkAlternate checks that alerts and recoveries alternate.
func checkAlternate(r *rapid.T, w *world, alert, recovered event.Type) {
	open := false
	for _, e := range w.events {
		switch e.Type {
		case alert:
			if open {
				r.Fatalf("second %s without a recovery", alert)
			}
			open = true
		case recovered:
			if !open {
				r.Fatalf("%s without an alert", recovered)
			}
			open = false
		}
	}
}

func duration(d event.Data) int64 {
	switch d := d.(type) {
	case event.Alert:
		return d.DurationSec
	case event.Recovered:
		return d.TotalDurationSec
	case event.Outage:
		return d.DurationSec
	case event.Ended:
		return d.DurationSec
	}
	return 0
}

// anyPublication draws how a stream is published.
func anyPublication(r *rapid.T) option {
	return func(w *world) {
		w.segment = rapid.SampledFrom([]float64{1, 2, 5}).Draw(r, "segment")
		w.delay = rapid.Float64Range(0, 10).Draw(r, "delay")
		w.rename = anyNames(r, w)
		w.rules.CheckInterval = seconds(rapid.SampledFrom([]int{1, 2, 5, 10}).Draw(r, "interval"))
	}
}

// checkBlackout checks that the second and the third event are a blackout's.
func checkBlackout(r *rapid.T, w *world, onset, until float64) {
	if len(w.events) < 3 || w.events[1].Type != event.Blackout || w.events[2].Type != event.BlackoutRecovered {
		r.Fatalf("want an alert and a recovery, got %+v", w.events)
	}
	back := w.events[2].Data.(event.Recovered)
	alerted := w.events[1].Data.(event.Alert).StartedAt
	if abs(sec(alerted)-onset) > 0.11 || abs(sec(back.StartedAt)-onset) > 0.11 || abs(sec(back.RecoveredAt)-until) > 0.11 {
		r.Fatalf("black from %v to %v, emitted %+v", onset, until, w.events)
	}
}

func TestABlackoutOverItsThresholdIsNeverMissed(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := scenario(t, anyPublication(r), func(w *world) {
			w.separateTracks = rapid.Bool().Draw(r, "picture and sound apart")
			w.taskTime[watch.TaskPlaylist] = rapid.Float64Range(0, 0.2).Draw(r, "reading")
			w.taskTime[watch.TaskSegment] = rapid.Float64Range(0, 0.2).Draw(r, "analysing")
		})
		limit := rapid.IntRange(1, 40).Draw(r, "threshold")
		onset := rapid.Float64Range(60, 120).Draw(r, "onset")
		// The blackout is long enough for one check after the threshold.
		until := onset + float64(limit) + w.segment + w.rules.CheckInterval.Seconds() + rapid.Float64Range(0.2, 100).Draw(r, "length")
		threshold(detector.Blackout, limit)(w)
		black(onset, until)(w)
		w.from(30).until(400)
		if checkBlackout(r, w, onset, until); t.Failed() || len(w.events) != 3 {
			r.Fatalf("emitted %+v", w.events)
		}
		// The alert is due one threshold after the publication of the first black frame.
		published := (float64(int(onset/w.segment))+1)*w.segment + w.delay
		// A check interval longer than the threshold delays the alert. So does a second playlist, which is read and judged in turn.
		slack := 2.
		if w.separateTracks {
			slack += w.taskTime[watch.TaskPlaylist] + w.taskTime[watch.TaskSegment]
		}
		if latest := published + max(float64(limit), w.rules.CheckInterval.Seconds()) + w.segment + slack; w.events[1].at > latest+tolerance {
			r.Fatalf("emitted at %v, later than %v (onset %v, published %v)", w.events[1].at, latest, onset, published)
		}
	})
}

// TestCopiesOfDifferentAgeAreNoNews reads the playlist of a stream from servers whose copies are
// of different age, by up to 60 s. Each condition is alerted once, with its own instants, and a
// standstill is noticed (decisions S5, S6).
func TestCopiesOfDifferentAgeAreNoNews(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := scenario(t, anyPublication(r), func(w *world) {
			w.window = 60
			w.copyDelays = anyCopies(r, w.segment, 60)
		})
		onset := rapid.Float64Range(150, 200).Draw(r, "onset")
		until := onset + rapid.Float64Range(80, 200).Draw(r, "length")
		black(onset, until)(w)
		stalls(500, 700)(w)
		w.from(100).until(690)
		if checkBlackout(r, w, onset, until); t.Failed() || len(w.events) != 4 || w.events[3].Type != event.SegmentError || w.events[3].at > 625 {
			r.Fatalf("want an alert, a recovery and an outage, got %+v", w.events)
		}
	})
}
