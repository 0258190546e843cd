package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// evening is black from 12 to 26 s and silent for 4 s, which is no event, in
// 40 s.
var evening = corpus.Item{Name: "evening", Length: 40, Truth: []corpus.BadInterval{
	{Of: corpus.Black, From: 12, To: 26, Alert: true},
	{Of: corpus.Silent, From: 30, To: 34},
}}

// night is black from 20 s to its end.
var night = corpus.Item{Name: "night", Length: 40, Truth: []corpus.BadInterval{{Of: corpus.Black, From: 20, To: 40, Alert: true}}}

func instant(sec float64) time.Time { return epoch.Add(time.Duration(sec * float64(time.Second))) }

func alert(of event.Type, from float64) receivedEvent {
	return receivedEvent{time.Duration(from+13) * time.Second, event.Event{Type: of, Data: event.Alert{StartedAt: instant(from)}}}
}

func recovery(of event.Type, from, to float64) receivedEvent {
	return receivedEvent{time.Duration(to+3) * time.Second, event.Event{Type: of, Data: event.Recovered{StartedAt: instant(from), RecoveredAt: instant(to)}}}
}

func TestAWatchIsComparedWithTheTruth(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		item        corpus.Item
		first       time.Duration
		told        []receivedEvent
		falseAlarms []string
		want        verdict
	}{
		"is content with the truth": {
			item: evening,
			told: []receivedEvent{{0, event.Event{Type: event.StreamStarted, Data: event.Started{}}}, alert(event.Blackout, 12), recovery(event.BlackoutRecovered, 12, 26), {50, event.Event{Type: event.StreamEnded, Data: event.Ended{}}}},
			want: verdict{alerts: 1, ended: true},
		},
		"measures how far off an alert is": {
			item: evening,
			told: []receivedEvent{alert(event.Blackout, 12.08), recovery(event.BlackoutRecovered, 12.08, 25.9)},
			want: verdict{alerts: 1, onset: 80 * ms, end: -100 * ms, ended: true},
		},
		"misses what is not told":                                    {item: evening, want: verdict{missed: 1}},
		"does not miss what was over too soon after the watch began": {item: evening, first: 17 * time.Second},
		"counts from the beginning of the watch what had begun before it": {
			item: evening, first: 14 * time.Second,
			told: []receivedEvent{alert(event.Blackout, 14), recovery(event.BlackoutRecovered, 14, 26)},
			want: verdict{alerts: 1, ended: true},
		},
		"misses an event of which the other condition was told": {
			item: evening, told: []receivedEvent{alert(event.Silence, 12), recovery(event.SilenceRecovered, 12, 26)},
			falseAlarms: []string{"silent from 12.00 to 26.00 s"}, want: verdict{missed: 1},
		},
		"calls an alert false that belongs to nothing": {
			item:        evening,
			told:        []receivedEvent{alert(event.Blackout, 1), recovery(event.BlackoutRecovered, 1, 11.5), alert(event.Blackout, 12), recovery(event.BlackoutRecovered, 12, 26)},
			falseAlarms: []string{"black from 1.00 to 11.50 s"}, want: verdict{alerts: 1, ended: true},
		},
		"calls an alert false that belongs to something too short": {
			item:        evening,
			told:        []receivedEvent{alert(event.Blackout, 12), recovery(event.BlackoutRecovered, 12, 26), alert(event.Silence, 30)},
			falseAlarms: []string{"silent from 30.00 to 40.00 s"}, want: verdict{alerts: 1, ended: true},
		},
		"calls the second alert of one event false": {
			item:        evening,
			told:        []receivedEvent{alert(event.Blackout, 12), recovery(event.BlackoutRecovered, 12, 18), alert(event.Blackout, 18.1), recovery(event.BlackoutRecovered, 18.1, 26)},
			falseAlarms: []string{"black from 18.10 to 26.00 s"}, want: verdict{alerts: 1, end: -8 * time.Second, ended: true},
		},
		"wants an end": {
			item: evening, told: []receivedEvent{alert(event.Blackout, 12)},
			falseAlarms: []string{"black did not end, but ends at 26.00 s"}, want: verdict{alerts: 1},
		},
		"wants no end of what lasts to the end": {item: night, told: []receivedEvent{alert(event.Blackout, 20)}, want: verdict{alerts: 1}},
		"calls an end false that came before the clip's": {
			item: night, told: []receivedEvent{alert(event.Blackout, 20), recovery(event.BlackoutRecovered, 20, 33)},
			falseAlarms: []string{"black ended at 33.00 s, but lasts to the end of the clip"}, want: verdict{alerts: 1},
		},
		"calls a recovery without an alert false": {
			item: evening, told: []receivedEvent{recovery(event.BlackoutRecovered, 12, 26)},
			falseAlarms: []string{"alert.blackout_recovered without an alert"}, want: verdict{missed: 1},
		},
		"calls trouble false that there was none of": {
			item:        evening,
			told:        []receivedEvent{{9 * time.Second, event.Event{Type: event.SegmentError, Data: event.Outage{}}}, alert(event.Blackout, 12), recovery(event.BlackoutRecovered, 12, 26)},
			falseAlarms: []string{"alert.segment_error at 9.0 s"}, want: verdict{alerts: 1, ended: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			verdicts := make([]verdict, len(c.item.Truth))
			falseAlarms := evaluate(c.item, 40*time.Second, watchResult{first: c.first, events: c.told}, verdicts)
			if !slices.Equal(falseAlarms, c.falseAlarms) {
				t.Errorf("false alarms %q, want %q", falseAlarms, c.falseAlarms)
			}
			got := verdicts[0]
			got.delay, got.onsets, got.ends = 0, nil, nil
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("verdict %+v, want %+v", got, c.want)
			}
		})
	}
}

// The results are good at one check interval and bad at others.
func TestTheTableShowsResultsBesideTheTruth(t *testing.T) {
	good := verdict{alerts: startPoints, onset: 80 * time.Millisecond, end: -12 * time.Millisecond, ended: true,
		onsets: []time.Duration{80e6, 2e6, 1e6, 0}, ends: []time.Duration{12e6, 0, 0, 0}, delay: 4500 * time.Millisecond}
	r := result{item: evening}
	r.at[0].verdicts = []verdict{good, {}}
	r.at[1].verdicts = []verdict{{alerts: 2, missed: 2}, {}}
	r.at[2] = intervalResult{verdicts: []verdict{good, {}}, falseAlarms: []string{"checks every 10s, begun 5s in: silent from 30.00 to 40.00 s"}}
	var out strings.Builder
	s := newReport(&out)
	s.table([]result{r})
	sum := total([]result{r})
	s.summary(sum, 42*time.Second)
	for _, want := range []string{
		"evening                                    black 12.00–26.00     alert   +80    -12     MISSED 2 of 4          alert   +80    -12\n",
		"                                           silent for 4.0 s      none                   none                   1 FALSE ALARM\n",
		"false alarm evening: checks every 10s, begun 5s in: silent from 30.00 to 40.00 s",
		"1 event in 1 clip, each watched 12 times: 2 missed, 1 false alarm\n",
		"onset: at worst 80 ms off after a cut and 0 ms in a fade, 95 % within 80 ms\n",
		"told:  at most 4.5, 0.0 and 4.5 s after",
		"took 42 s\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("lacks %q:\n%s", want, &out)
		}
	}
}
