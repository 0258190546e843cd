package quality_test

import (
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
	figures := map[detector.Name]map[string]int{}
	t.Run("clip", func(t *testing.T) {
		for _, i := range items {
			t.Run(i.Name, func(t *testing.T) {
				t.Parallel()
				clip, err := l.Clip(t.Context(), i)
				if err != nil {
					t.Fatal(err)
				}
				looks := newFallback(clip, l, pool)
				p := &player{clip: clip, analyser: looks}
				got, interval := "", time.Duration(monitor.DefaultConfig().CheckIntervalSec)*time.Second
				for phase := time.Duration(0); phase < interval; phase += interval / 2 {
					wrong, alerts := wrongly(clip, p.watch(t, interval, phase))
					t.Logf("begun %v in: %s %s", phase, wrong, alerts)
					if got == "" {
						got = wrong
					}
				}
				t.Logf("segment-decoder left %d of %d looks at segments to ffmpeg", looks.left, looks.all)
				want, _, _ := strings.Cut(known[i.Name], ":")
				if got != want {
					t.Errorf("is %q, and known to be %q", got, want)
				}
				kind := "without"
				if i.Truth != nil {
					kind = "with"
				}
				lock.Lock()
				defer lock.Unlock()
				if figures[i.Runs[0]] == nil {
					figures[i.Runs[0]] = map[string]int{"missed": 0, "invented": 0}
				}
				figures[i.Runs[0]][kind]++
				figures[i.Runs[0]][got]++
			})
		}
	})
	for name, n := range figures {
		t.Logf("%s: %d with it, %d missed; %d without it, %d invented", name, n["with"], n["missed"], n["without"], n["invented"])
	}
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
