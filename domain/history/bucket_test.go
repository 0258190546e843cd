package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func span(lane history.Lane, state history.State, from, to int) history.Span {
	return history.Span{Lane: lane, State: state, From: at(from), To: at(to)}
}

// showShares writes the buckets of the video lane: worst state, then seconds of each.
func showShares(buckets []history.Bucket) string {
	var words []string
	for _, b := range buckets {
		word := "-"
		if worst := b.Video.Worst(); worst != "" {
			word = string(worst)
			for _, p := range b.Video {
				word += fmt.Sprintf(" %s=%v", p.State, p.Time.Round(time.Millisecond).Seconds())
			}
		}
		words = append(words, word)
	}
	return strings.Join(words, " | ")
}

// buckets returns the buckets of a timeline.
func buckets(from, to time.Time, n int, life history.Life, spans []history.Span, minutes []monitor.Minute) []history.Bucket {
	timeline := history.NewTimeline(from, to, n, life)
	for _, s := range spans {
		timeline.AddSpan(s)
	}
	for _, m := range minutes {
		timeline.AddMinute(m)
	}
	return timeline.Buckets()
}

func TestBucketsShowTheWorstStateAndTheShares(t *testing.T) {
	always := history.Life{From: at(-1000), Until: at(1000)}
	for name, c := range map[string]struct {
		from, to, n int
		life        history.Life
		spans       []history.Span
		want        string
	}{
		"two spans share a bucket, trouble is worse however short": {
			0, 20, 2, always, []history.Span{span("video", "ok", 0, 8), span("video", "black", 8, 9), span("video", "ok", 9, 20)},
			"black black=1 ok=9 | ok ok=10",
		},
		"unknown is worse than good and better than trouble": {
			0, 30, 3, always, []history.Span{span("video", "ok", 0, 5), span("video", "ok", 10, 12), span("video", "black", 18, 20), span("video", "ok", 20, 30)},
			"unknown ok=5 unknown=5 | black black=2 ok=2 unknown=6 | ok ok=10",
		},
		"before the registration and after now there is nothing": {
			0, 40, 4, history.Life{From: at(10), Until: at(25)}, []history.Span{span("video", "ok", 10, 25)},
			"- | ok ok=10 | ok ok=5 | -",
		},
		"a span that reaches beyond the life is cut": {
			0, 30, 3, history.Life{From: at(5), Until: at(12)}, []history.Span{span("video", "ok", -100, 100)},
			"ok ok=5 | ok ok=2 | -",
		},
		"the last bucket takes the rest of a division": {
			0, 10, 3, always, []history.Span{span("video", "ok", 0, 10)},
			"ok ok=3.333 | ok ok=3.333 | ok ok=3.333",
		},
	} {
		t.Run(name, func(t *testing.T) {
			buckets := buckets(at(c.from), at(c.to), c.n, c.life, c.spans, nil)
			if got := showShares(buckets); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if last := buckets[len(buckets)-1]; !last.To.Equal(at(c.to)) {
				t.Errorf("the last bucket ends at %v", last.To)
			}
		})
	}
}

func TestMinutesAreMergedIntoBuckets(t *testing.T) {
	minute := func(second int, low, mean, high float64, n int) monitor.Minute {
		return monitor.Minute{At: at(second), Luma: monitor.Range{Min: low, Mean: mean, Max: high, N: n}}
	}
	minutes := []monitor.Minute{
		minute(0, 10, 20, 30, 1), minute(0, 5, 50, 60, 2), // of two workers
		minute(60, 1, 2, 3, 1), minute(240, 7, 7, 7, 1), minute(-60, 99, 99, 99, 1),
	}
	life := history.Life{From: noon, Until: at(600)}
	wide := buckets(noon, at(240), 2, life, nil, minutes)
	if want := (monitor.Range{Min: 1, Mean: 30.5, Max: 60, N: 4}); wide[0].Luma != want || wide[1].Luma.N != 0 {
		t.Errorf("two minutes: %+v, then %+v", wide[0].Luma, wide[1].Luma)
	}
	narrow := buckets(noon, at(120), 8, life, nil, minutes)
	for i, b := range narrow {
		if want := map[bool]int{true: 3, false: 1}[i < 4]; b.Luma.N != want {
			t.Errorf("bucket %d of 15 s has %d measurements, want %d", i, b.Luma.N, want)
		}
	}
}
