package watch_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// verdict is an alert or a recovery with its instants, in seconds of the timeline.
type verdict struct {
	typ          event.Type
	onset, until float64
	told         float64
}

func (w *world) verdicts(alert, recovered event.Type) (all []verdict) {
	for _, e := range w.events {
		switch d := e.Data.(type) {
		case event.Alert:
			if e.Type == alert {
				all = append(all, verdict{e.Type, sec(d.StartedAt), 0, e.at})
			}
		case event.Recovered:
			if e.Type == recovered {
				all = append(all, verdict{e.Type, sec(d.StartedAt), sec(d.RecoveredAt), e.at})
			}
		}
	}
	return all
}

// anyBadMedia draws bad parts of a timeline from second 60 to 260: short and long ones, and
// some that begin and end with a segment.
func anyBadMedia(r *rand.Rand, segment, threshold float64) (all []span) {
	for at := 60 + 60*r.Float64(); at < 260; at += 5 + 90*r.Float64() {
		length := 0.2 + 3*r.Float64()
		switch r.IntN(5) {
		case 0, 3:
			length = threshold + 3*r.Float64()
		case 1, 2:
			length = 25 + 60*r.Float64()
		}
		s := span{at, at + length}
		if r.IntN(4) == 0 {
			s = span{math.Floor(at/segment) * segment, math.Floor((at+length)/segment) * segment}
		}
		if s.to > s.from {
			all, at = append(all, s), s.to
		}
	}
	return all
}

// TestScreeningChangesNoVerdict watches timelines twice: as decision S18 says, and with an
// analyser that decodes every frame whatever it is asked. Alerts and recoveries are the
// same, with the same instants to 0.5 s. Without program time, instants follow from when the
// playlist is read. They are the same to a check interval.
func TestScreeningChangesNoVerdict(t *testing.T) {
	var alerts, screened, closely int
	for seed := range uint64(200) {
		watched := func(everyFrame bool) *world {
			r := rand.New(rand.NewPCG(seed, 18))
			return scenario(t, func(w *world) {
				w.everyFrame = everyFrame
				w.segment = []float64{1, 2, 4, 5, 6, 10}[r.IntN(6)]
				w.groups = []float64{0, 1, 1.5, 2, 3.7, 5, 10}[r.IntN(7)]
				w.delay = 6 * r.Float64()
				w.window = 60
				w.separateTracks = r.IntN(4) == 0
				w.noProgramTime = false
				w.rules.CheckInterval = seconds([]int{1, 5, 10, 10, 10, 30}[r.IntN(6)])
				w.rules.Thresholds[detector.Blackout] = seconds([]int{2, 5, 10, 30, 30, 60}[r.IntN(6)])
				w.rules.Thresholds[detector.Silence] = seconds([]int{10, 30}[r.IntN(2)])
				if kind := r.IntN(3); kind != 1 {
					w.black = anyBadMedia(r, w.segment, w.rules.Thresholds[detector.Blackout].Seconds())
					if kind == 2 && r.IntN(2) == 0 {
						w.silent = w.black
					} else if kind == 2 {
						w.silent = anyBadMedia(r, w.segment, w.rules.Thresholds[detector.Blackout].Seconds())
					}
				} else {
					w.silent = anyBadMedia(r, w.segment, w.rules.Thresholds[detector.Blackout].Seconds())
				}
				if r.IntN(3) == 0 {
					from := 50 + 200*r.Float64()
					w.damaged = []span{{from, from + 40*r.Float64()}}
				}
				if r.IntN(4) == 0 {
					w.noProgramTime = w.rules.CheckInterval <= seconds(int(w.segment))
				}
				w.taskTime[watch.TaskSegment], w.taskTime[watch.TaskPlaylist] = 0.05, 0.05
			}).from(40 + 7*r.Float64()).until(420)
		}
		got, want := watched(false), watched(true)
		near, later := 0.5, 1.0
		if got.noProgramTime {
			near, later = got.rules.CheckInterval.Seconds(), got.rules.CheckInterval.Seconds()+1
		}
		for _, d := range detector.Table {
			a, b := got.verdicts(event.Type(d.Alert), event.Type(d.Recovered)), want.verdicts(event.Type(d.Alert), event.Type(d.Recovered))
			if !slices.EqualFunc(a, b, func(x, y verdict) bool {
				return x.typ == y.typ && abs(x.onset-y.onset) <= near && abs(x.until-y.until) <= near && abs(x.told-y.told) <= later
			}) {
				t.Errorf("timeline %d: segments of %v s, key frames every %v s, checks every %v, thresholds %v, black %v, silent %v, damaged %v:\n%s %v\nand with every frame %v",
					seed, got.segment, got.groups, got.rules.CheckInterval, got.rules.Thresholds, got.black, got.silent, got.damaged, d.Name, a, b)
			}
			alerts += len(b)
		}
		for _, l := range got.looks {
			if l.picture {
				screened++
			} else {
				closely++
			}
		}
	}
	if alerts < 200 || screened < 4_000 {
		t.Errorf("%d alerts and recoveries, %d looks at key frames, %d at every frame", alerts, screened, closely)
	}
}
