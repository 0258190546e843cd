package hint_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/hint"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// at is a time in minutes since noon.
func at(minutes float64) time.Time { return noon.Add(time.Duration(minutes * float64(time.Minute))) }

// show writes hints as "kind condition since minute: numbers".
func show(all []monitor.Hint) string {
	var words []string
	for _, h := range all {
		word := fmt.Sprintf("%s%s since %v:", h.Kind, strings.TrimSuffix(" "+string(h.Condition), " "), h.Since.Sub(noon).Minutes())
		for _, name := range slices.Sorted(maps.Keys(h.Numbers)) {
			word += fmt.Sprintf(" %s=%v", name, h.Numbers[name])
		}
		words = append(words, word)
	}
	return strings.Join(words, "; ")
}

// levels returns a minute from noon on for each level, in dBFS. The highest level of a minute is 8 dB above its mean. 0 leaves a minute out.
func levels(all ...float64) (minutes []monitor.Minute) {
	for n, mean := range all {
		if mean != 0 {
			minutes = append(minutes, monitor.Minute{At: at(float64(n)), Level: monitor.Range{Min: mean - 20, Mean: mean, Max: min(mean+8, 0), N: 30}})
		}
	}
	return minutes
}

func TestSoundThatDiesAway(t *testing.T) { // section 16.7
	falling := levels(-12, -12, -18, -24, -30, -36, -42, -45)
	change := func(n int, change func(*monitor.Range)) []monitor.Minute {
		all := slices.Clone(falling)
		change(&all[n].Level)
		return all
	}
	halves := slices.Clone(falling) // of two workers, of which each measured a part
	halves[4].Level.N, halves = 4, append(halves, halves[4])
	halves[len(halves)-1].Level.N = 4
	const found = "quieter since 1: db_per_minute=6 level_db=-42 minutes=5"
	for name, c := range map[string]struct {
		minutes []monitor.Minute
		now     float64
		want    string
	}{
		"five falls, and a minute that still grows": {falling, 7.5, found},
		"four falls":                                           {falling[:7], 6.5, ""},
		"more falls are one longer trend":                      {levels(-12, -15, -18, -21, -24, -27, -30, -33, -36, -36), 9.5, "quieter since 0: db_per_minute=3 level_db=-36 minutes=8"},
		"a fall of less than 3 dB in a minute":                 {levels(-12, -18, -24, -26.9, -30, -36, -42, -42), 7.5, ""},
		"the sound has come back":                              {levels(-12, -12, -18, -24, -30, -36, -42, -12, -12), 8.5, ""},
		"a minute is missing":                                  {levels(-12, -18, -24, 0, -36, -42, -48, -48), 7.5, ""},
		"a minute was hardly measured":                         {change(4, func(r *monitor.Range) { r.N = 4 }), 7.5, ""},
		"two workers measured a part of a minute each":         {halves, 7.5, found},
		"only pauses grow: the highest level stays":            {change(4, func(r *monitor.Range) { r.Max = -16 }), 7.5, ""},
		"the fall goes through silence":                        {levels(-30, -36, -42, -48, -54, -60, -66, -66), 7.5, ""},
		"the newest whole minute ended more than 5 min before": {falling, 12.1, ""},
		"nothing was measured":                                 {nil, 7.5, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := show(hint.Facts{Minutes: c.minutes, SilenceDB: -50}.Hints(at(c.now))); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestAConditionThatComesBack(t *testing.T) { // section 16.7
	for name, c := range map[string]struct {
		condition incident.Name
		onsets    []float64
		now       float64
		want      string
	}{
		"the third in an hour":                  {incident.NoMedia, []float64{40, 0, 20}, 41, "recurring no_media since 40: times=3 within_sec=3600"},
		"the second":                            {incident.NoMedia, []float64{0, 20}, 41, ""},
		"the first was an hour ago":             {incident.NoMedia, []float64{0, 20, 40}, 60, ""},
		"the fourth":                            {"black", []float64{0, 20, 40, 50}, 59, "recurring black since 40: times=4 within_sec=3600"},
		"one onset, in two incidents":           {"black", []float64{0, 20, 20}, 41, ""},
		"a clock that is ahead":                 {"black", []float64{0, 20, 45}, 41, ""},
		"the end of a monitor does not recur":   {incident.Error, []float64{0, 20, 40}, 41, ""},
		"a late start that moves does not, too": {incident.Late, []float64{0, 20, 40}, 41, ""},
	} {
		t.Run(name, func(t *testing.T) {
			onsets := map[incident.Name][]time.Time{}
			for _, minute := range c.onsets {
				onsets[c.condition] = append(onsets[c.condition], at(minute))
			}
			if got := show(hint.Facts{Onsets: onsets}.Hints(at(c.now))); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestAChannelWhoseStreamsBeginLate(t *testing.T) { // section 16.7
	// starts returns a stream a day, the newest first, each so many minutes late.
	starts := func(late ...float64) (all []hint.Start) {
		for n, minutes := range late {
			scheduled := noon.AddDate(0, 0, -n-1)
			all = append(all, hint.Start{Stream: monitor.StreamURL(fmt.Sprint(n)), Scheduled: scheduled, Actual: scheduled.Add(time.Duration(minutes * float64(time.Minute)))})
		}
		return all
	}
	again := starts(9, 4, 5)
	again[1].Stream = again[0].Stream
	old := starts(9, 4, 5)
	old[2].Scheduled, old[2].Actual = noon.AddDate(0, 0, -91), noon.AddDate(0, 0, -91).Add(9*time.Minute)
	const found = "late_starts since -60: max_late_sec=540 min_late_sec=240 streams=4"
	for name, c := range map[string]struct {
		earlier []hint.Start
		now     float64
		want    string
	}{
		"four late streams, an hour ahead":    {starts(9, 4, 5, 7), -60, found},
		"the one before them was in time":     {starts(9, 4, 5, 7, 0), -60, found},
		"too early":                           {starts(9, 4, 5, 7), -61, ""},
		"the start has passed":                {starts(9, 4, 5), 3, "late_starts since 3: max_late_sec=540 min_late_sec=240 streams=3"},
		"two streams":                         {starts(9, 4), -60, ""},
		"the newest was in time":              {starts(2.9, 9, 4, 5, 7), -60, ""},
		"the third is older than 90 days":     {old, -60, ""},
		"one stream that was watched twice":   {again, -60, ""},
		"more than ten are not looked at":     {starts(9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 30), 0, "late_starts since 0: max_late_sec=540 min_late_sec=540 streams=10"},
		"one that began before its time ends": {starts(9, 4, -5, 7), -60, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := show(hint.Facts{ScheduledStart: noon, Earlier: c.earlier}.Hints(at(c.now))); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if got := show(hint.Facts{Earlier: c.earlier}.Hints(at(c.now))); got != "" {
				t.Errorf("without a planned start: %q", got)
			}
		})
	}
}

func TestAHintThatGoesOnKeepsItsTime(t *testing.T) {
	of := func(id monitor.ID, kind monitor.HintKind, minute, number float64) hint.MonitorHint {
		return hint.MonitorHint{MonitorID: id, Hint: monitor.Hint{Kind: kind, Since: at(minute), Numbers: map[string]float64{"n": number}}}
	}
	c := hint.Compare(
		[]hint.MonitorHint{of("a", monitor.Quieter, 1, 5), of("b", monitor.Quieter, 1, 5), of("c", monitor.Quieter, 1, 5)},
		[]hint.MonitorHint{of("a", monitor.Quieter, 2, 6), of("b", monitor.Quieter, 2, 5), of("c", monitor.LateStarts, 2, 5)})
	if got, want := fmt.Sprint(c), fmt.Sprint(hint.Changes{
		Begun: []hint.MonitorHint{of("c", monitor.LateStarts, 2, 5)}, Changed: []hint.MonitorHint{of("a", monitor.Quieter, 1, 6)}, Ended: []hint.MonitorHint{of("c", monitor.Quieter, 1, 5)},
	}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
