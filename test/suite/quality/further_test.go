package quality_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// found counts the clips of a detector.
type found struct{ with, missed, without, invented int }

func TestFurtherClipsAreJudgedAsTheyWereDescribed(t *testing.T) { // but for those that are known
	if !*whole {
		t.Skip("make quality plays them") // their encoding takes minutes
	}
	l := library(t, corpus.Options{})
	pool := decoders(t)
	items, known := corpus.Further()
	var lock sync.Mutex
	table := map[detector.Name]*found{}
	t.Run("clip", func(t *testing.T) {
		for _, i := range items {
			t.Run(i.Name, func(t *testing.T) {
				t.Parallel()
				clip, err := l.Clip(t.Context(), i)
				if err != nil {
					t.Fatal(err)
				}
				p := &player{clip: clip, analyser: ffmpeg.New(ffmpeg.Config{Path: "/nonexistent/ffmpeg", Decoder: pool.Stream(slog.New(slog.DiscardHandler))})}
				verdict, interval := "", time.Duration(monitor.DefaultConfig().CheckIntervalSec)*time.Second
				for phase := time.Duration(0); phase < interval; phase += interval / 2 {
					v, off := compare(clip, p.watch(t, interval, phase))
					t.Logf("begun %v in: %s%s", phase, v, off)
					if verdict == "" {
						verdict = v
					}
				}
				if listed, _, _ := strings.Cut(known[i.Name], ":"); listed != verdict {
					t.Errorf("%q, expected %q by the list of known clips", verdict, listed)
				}
				lock.Lock()
				defer lock.Unlock()
				count(table, i, verdict)
			})
		}
	})
	for _, d := range detector.Optional() {
		if f := table[d.Name]; f != nil {
			t.Logf("%s: %d with, %d missed; %d without, %d invented", d.Name, f.with, f.missed, f.without, f.invented)
		}
	}
}

// compare returns "missed", "invented" or nothing, and how far the alert is from the truth.
func compare(clip corpus.Clip, w watched) (verdict, off string) {
	alerts, _ := pairAlerts(w.events, clip.Length())
	seen := false
	for _, a := range alerts {
		if d, is := detector.Of(a.of); !is || d.Name != clip.Item.Runs[0] {
			continue
		}
		truth := clip.Item.Truth
		if len(truth) == 0 || min(a.to, clipTime(truth[0].To)) <= max(a.from, clipTime(truth[0].From)) {
			return "invented", fmt.Sprintf(" from %v to %v", a.from, a.to)
		}
		seen = true
		off += fmt.Sprintf(" onset %+.1f s, end %+.1f s, recovered: %t", (a.from - clipTime(truth[0].From)).Seconds(),
			(a.to - clipTime(truth[0].To)).Seconds(), a.recovered)
	}
	if len(clip.Item.Truth) > 0 && !seen {
		return "missed", ""
	}
	return "", off
}

func count(table map[detector.Name]*found, i corpus.Item, verdict string) {
	f := table[i.Runs[0]]
	if f == nil {
		f = &found{}
		table[i.Runs[0]] = f
	}
	if len(i.Truth) > 0 {
		f.with++
	} else {
		f.without++
	}
	switch verdict {
	case "missed":
		f.missed++
	case "invented":
		f.invented++
	}
}
