package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
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

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func measure(second int, luma, level float64) watch.Measure {
	return watch.Measure{At: time.Duration(second) * time.Second, Luma: &luma, Level: &level}
}

func TestMeasuresAreCollectedByTheMinute(t *testing.T) {
	var m history.Minutes
	m.Add(at(58), time.Minute, []watch.Measure{measure(0, 10, -30), measure(1, 20, -20), measure(2, 90, -10)})
	m.Add(at(62), time.Minute, []watch.Measure{measure(0, 30, -40)})
	quiet := -50.0
	m.Add(at(64), time.Minute, []watch.Measure{{Level: &quiet}})
	want := []monitor.Minute{
		{At: noon, Since: at(58), Luma: monitor.Range{Min: 10, Mean: 15, Max: 20, N: 2}, Level: monitor.Range{Min: -30, Mean: -25, Max: -20, N: 2}},
		{At: at(60), Since: at(60), Luma: monitor.Range{Min: 30, Mean: 60, Max: 90, N: 2}, Level: monitor.Range{Min: -50, Mean: -100. / 3, Max: -10, N: 3}},
	}
	got := m.Next()
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestAMinuteIsReportedUntilAllOfItIsAccepted(t *testing.T) {
	var m history.Minutes
	m.Add(noon, time.Minute, []watch.Measure{measure(0, 10, -30)})
	first := m.Next()
	m.Add(at(1), time.Minute, []watch.Measure{measure(0, 20, -30)})
	m.Accepted(first) // the second measure came while the report was under way
	second := m.Next()
	if len(first) != 1 || len(second) != 1 || second[0].Luma.N != 2 {
		t.Fatalf("first %+v, then %+v", first, second)
	}
	m.Accepted(second)
	if got := m.Next(); len(got) != 0 {
		t.Errorf("%+v is reported again", got)
	}
	m.Add(at(2), time.Minute, []watch.Measure{measure(0, 30, -30)})
	if got := m.Next(); len(got) != 1 || got[0].Luma.N != 3 || got[0].Since != noon {
		t.Errorf("the minute goes on as %+v", got)
	}
}

func TestMinutesAreKeptWhileTheGatewayIsAway(t *testing.T) {
	var m history.Minutes
	for minute := range 3000 {
		m.Add(at(60*minute), time.Minute, []watch.Measure{measure(0, 10, -30)})
	}
	m.Add(noon, time.Minute, []watch.Measure{measure(0, 10, -30)}) // older than all that are kept
	next, reports := 3000-1440, 0
	for got := m.Next(); len(got) > 0; got = m.Next() {
		for _, minute := range got {
			if want := at(60 * next); !minute.At.Equal(want) {
				t.Fatalf("%v is reported, want %v", minute.At, want)
			}
			next++
		}
		reports++
		m.Accepted(got)
	}
	if next != 3000 || reports != 1440/history.MaxReported {
		t.Errorf("%d reports up to minute %d", reports, next)
	}
}
