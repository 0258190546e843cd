package history_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

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
