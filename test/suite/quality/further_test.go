package quality_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

func TestFurtherClipsAreJudgedAsDescribedButForThoseThatAreKnown(t *testing.T) { // section 6.8
	l, pool := library(t, corpus.Options{}), decoders(t)
	items, known := corpus.Further()
	if !*whole {
		items = items[:1]
	}
	var lock sync.Mutex
	figures := map[played]map[string]int{}
	t.Run("clip", func(t *testing.T) {
		for _, i := range items {
			t.Run(i.Name, func(t *testing.T) {
				t.Parallel()
				clip, err := l.Clip(t.Context(), i)
				if err != nil {
					t.Fatal(err)
				}
				references, err := l.References(t.Context(), i)
				if err != nil {
					t.Fatal(err)
				}
				looks := newFallback(clip, l, pool)
				p := &player{references: references, analyser: looks}
				for _, preset := range append([]monitor.Preset{{Name: "defaults"}}, monitor.Presets()...) {
					d := detector.Table[detector.Index(i.Runs[0])]
					limits, runs := limitsOf(preset, d)
					if !runs {
						continue
					}
					interval := clipTime(cmp.Or(limits[checkInterval], float64(monitor.DefaultConfig().CheckIntervalSec)))
					p.clip = clip
					if preset.Values != nil {
						p.clip = held(clip, clipTime(limits[d.Threshold.Field])+3*interval)
					}
					p.clip.Item.Settings, looks.command.clip = limits, p.clip
					got := wronglyFromAnyStart(t, p, preset.Name, interval)
					reason, differs := known[preset.Name+": "+i.Name]
					if !differs {
						reason = known[i.Name]
					}
					if want, _, _ := strings.Cut(reason, ":"); got != want {
						t.Errorf("%s: is %q, and known to be %q", preset.Name, got, want)
					}
					kind := "without"
					if i.Truth != nil {
						kind = "with"
					}
					of := played{i.Runs[0], preset.Name}
					lock.Lock()
					if figures[of] == nil {
						figures[of] = map[string]int{}
					}
					figures[of][kind]++
					figures[of][got]++
					lock.Unlock()
				}
				t.Logf("segment-decoder left %d of %d looks at segments to ffmpeg", looks.left, looks.all)
			})
		}
	})
	for of, n := range figures {
		t.Logf("%s, %s: missed %d of %d with it; invented %d of %d without it", of.by, of.preset, n["missed"], n["with"], n["invented"], n["without"])
	}
}

// played is a detector with the limits of a preset.
type played struct {
	by     detector.Name
	preset string
}

// checkInterval is the setting of the checks.
const checkInterval = "check_interval_sec"

// limitsOf returns the settings that a preset gives to a detector and to the checks, and whether the detector runs in it.
func limitsOf(p monitor.Preset, d detector.Detector) (limits map[string]float64, runs bool) {
	limits = map[string]float64{}
	for field, v := range p.Values {
		isOfDetector := slices.ContainsFunc(d.AllSettings(), func(s detector.Setting) bool { return s.Field == field })
		if isOfDetector || field == checkInterval {
			limits[field] = v
		}
	}
	_, runs = p.Values[d.Threshold.Field]
	return limits, runs || p.Values == nil
}

// held returns a clip whose condition lasts for a time at least: the segments in the middle of it come again. Those of a clip
// without one all come again, unless a slate would then come back after the start of the broadcast. One more is left
// out each time, so that checks do not meet the same ones again and again.
func held(clip corpus.Clip, least time.Duration) corpus.Clip {
	from, to, truth := time.Duration(0), clip.Length(), slices.Clone(clip.Item.Truth)
	first, end := len(clip.Segments)/4, len(clip.Segments) // the encoder has settled by then
	switch {
	case truth != nil:
		from, to = clipTime(truth[0].From), clipTime(truth[0].To)
		first = slices.IndexFunc(clip.Segments, func(s corpus.Segment) bool { return s.Start > from+time.Second })
		end = first + 1
		for end < len(clip.Segments) && clip.Segments[end].End() < to-time.Second {
			end++
		}
	case clip.Item.References != nil:
		return clip
	}
	var again []corpus.Segment
	longer := 0.0
	for n := 0; to-from+clipTime(longer) < least; n++ {
		rest := clip.Segments[first+n%((end-first+1)/2) : end]
		again = append(again, rest...)
		longer += (rest[len(rest)-1].End() - rest[0].Start).Seconds()
	}
	clip.Segments = slices.Concat(clip.Segments[:end], again, clip.Segments[end:])
	at := time.Duration(0)
	for i := range clip.Segments {
		clip.Segments[i].Start = at
		at += clip.Segments[i].Duration
	}
	if clip.Item.Start >= to.Seconds() {
		clip.Item.Start += longer
	}
	if truth != nil {
		truth[0].To += longer
	}
	clip.Item.Truth = truth
	return clip
}

// wronglyFromAnyStart returns the first result of wrongly from two starting points that is not empty.
func wronglyFromAnyStart(t *testing.T, p *player, preset string, interval time.Duration) (first string) {
	t.Helper()
	for phase := time.Duration(0); phase < interval; phase += interval / 2 {
		wrong, alerts := wrongly(p.clip, p.watch(t, interval, phase))
		t.Logf("%s, begun %v in: %s %s", preset, phase, wrong, alerts)
		first = cmp.Or(first, wrong)
	}
	return first
}

// wrongly returns "missed", "invented" or nothing, and how far the alerts are from the truth.
func wrongly(clip corpus.Clip, w watched) (wrong, alerts string) {
	all, _ := pairAlerts(w.events, clip.Length())
	for _, a := range all {
		if d, _ := detector.Of(a.of); d.Name != clip.Item.Runs[0] {
			continue
		}
		var from, to time.Duration
		if truth := clip.Item.Truth; truth != nil {
			from, to = clipTime(truth[0].From), clipTime(truth[0].To)
		}
		if min(a.to, to) <= max(a.from, from) {
			return "invented", fmt.Sprintf("from %v to %v", a.from, a.to)
		}
		alerts += fmt.Sprintf("onset %+.1f s, end %+.1f s, recovered: %t; ", (a.from - from).Seconds(), (a.to - to).Seconds(), a.recovered)
	}
	if clip.Item.Truth != nil && alerts == "" {
		return "missed", ""
	}
	return "", alerts
}
