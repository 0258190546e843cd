package quality_test

import (
	"cmp"
	"fmt"
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
				p := &player{clip: clip, references: references, analyser: looks}
				for _, preset := range append([]monitor.Preset{{Name: "defaults"}}, monitor.Presets()...) {
					limits, runs := limitsOf(preset, detector.Table[detector.Index(i.Runs[0])])
					if !runs {
						continue
					}
					p.clip.Item.Settings = limits
					got := wronglyFromAnyStart(t, p, preset.Name)
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

// limitsOf returns the settings that a preset gives to a detector, and whether the detector runs in it. The
// threshold stays the default: the clips are too short for the longer ones of presets.
func limitsOf(p monitor.Preset, d detector.Detector) (limits map[string]float64, runs bool) {
	limits = map[string]float64{}
	for _, s := range d.Settings {
		if v, has := p.Values[s.Field]; has {
			limits[s.Field] = v
		}
	}
	_, runs = p.Values[d.Threshold.Field]
	return limits, runs || p.Values == nil
}

// wronglyFromAnyStart returns the first result of wrongly from two starting points that is not empty.
func wronglyFromAnyStart(t *testing.T, p *player, preset string) (first string) {
	t.Helper()
	interval := time.Duration(monitor.DefaultConfig().CheckIntervalSec) * time.Second
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
