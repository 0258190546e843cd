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

// blackInTheMiddle is 40 s long, black from 12 to 26 s, and silent for 4 s, which is
// below the threshold.
var blackInTheMiddle = corpus.Item{Name: "black in the middle", Length: 40, Truth: []corpus.BadInterval{
	{Of: corpus.Black, From: 12, To: 26, Alert: true},
	{Of: corpus.Silent, From: 30, To: 34},
}}

// blackAtTheEnd is black from 20 s to its end.
var blackAtTheEnd = corpus.Item{Name: "black at the end", Length: 40, Truth: []corpus.BadInterval{{Of: corpus.Black, From: 20, To: 40, Alert: true}}}

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
		events      []receivedEvent
		falseAlarms []string
		want        verdict
	}{
		"an alert like the truth has no error": {
			item:   blackInTheMiddle,
			events: []receivedEvent{{0, event.Event{Type: event.StreamStarted, Data: event.Started{}}}, alert(event.Blackout, 12), recovery(event.BlackoutRecovered, 12, 26), {50, event.Event{Type: event.StreamEnded, Data: event.Ended{}}}},
			want:   verdict{alerts: 1, ended: true},
		},
		"the errors of onset and end are measured": {
			item:   blackInTheMiddle,
			events: []receivedEvent{alert(event.Blackout, 12.08), recovery(event.BlackoutRecovered, 12.08, 25.9)},
			want:   verdict{alerts: 1, onset: 80 * ms, end: -100 * ms, ended: true},
		},
		"an event without an alert is missed":                                 {item: blackInTheMiddle, want: verdict{missed: 1}},
		"an event that ended soon after the start of the watch is not missed": {item: blackInTheMiddle, first: 17 * time.Second},
		"an event before the start of the watch counts from that start": {
			item: blackInTheMiddle, first: 14 * time.Second,
			events: []receivedEvent{alert(event.Blackout, 14), recovery(event.BlackoutRecovered, 14, 26)},
			want:   verdict{alerts: 1, ended: true},
		},
		"an alert of the other condition leaves the event missed": {
			item: blackInTheMiddle, events: []receivedEvent{alert(event.Silence, 12), recovery(event.SilenceRecovered, 12, 26)},
			falseAlarms: []string{"silent from 12.00 to 26.00 s"}, want: verdict{missed: 1},
		},
		"an alert that overlaps no event is false": {
			item:        blackInTheMiddle,
			events:      []receivedEvent{alert(event.Blackout, 1), recovery(event.BlackoutRecovered, 1, 11.5), alert(event.Blackout, 12), recovery(event.BlackoutRecovered, 12, 26)},
			falseAlarms: []string{"black from 1.00 to 11.50 s"}, want: verdict{alerts: 1, ended: true},
		},
		"an alert for an interval below the threshold is false": {
			item:        blackInTheMiddle,
			events:      []receivedEvent{alert(event.Blackout, 12), recovery(event.BlackoutRecovered, 12, 26), alert(event.Silence, 30)},
			falseAlarms: []string{"silent from 30.00 to 40.00 s"}, want: verdict{alerts: 1, ended: true},
		},
		"the second alert of an event is false": {
			item:        blackInTheMiddle,
			events:      []receivedEvent{alert(event.Blackout, 12), recovery(event.BlackoutRecovered, 12, 18), alert(event.Blackout, 18.1), recovery(event.BlackoutRecovered, 18.1, 26)},
			falseAlarms: []string{"black from 18.10 to 26.00 s"}, want: verdict{alerts: 1, end: -8 * time.Second, ended: true},
		},
		"an alert without a recovery is wrong": {
			item: blackInTheMiddle, events: []receivedEvent{alert(event.Blackout, 12)},
			falseAlarms: []string{"black did not end, but ends at 26.00 s"}, want: verdict{alerts: 1},
		},
		"an event at the end of the clip needs no recovery": {item: blackAtTheEnd, events: []receivedEvent{alert(event.Blackout, 20)}, want: verdict{alerts: 1}},
		"a recovery is false if the event lasts to the end of the clip": {
			item: blackAtTheEnd, events: []receivedEvent{alert(event.Blackout, 20), recovery(event.BlackoutRecovered, 20, 33)},
			falseAlarms: []string{"black ended at 33.00 s, but lasts to the end of the clip"}, want: verdict{alerts: 1},
		},
		"a recovery without an alert is false": {
			item: blackInTheMiddle, events: []receivedEvent{recovery(event.BlackoutRecovered, 12, 26)},
			falseAlarms: []string{"alert.blackout_recovered without an alert"}, want: verdict{missed: 1},
		},
		"an alert of an outage is false": {
			item:        blackInTheMiddle,
			events:      []receivedEvent{{9 * time.Second, event.Event{Type: event.SegmentError, Data: event.Outage{}}}, alert(event.Blackout, 12), recovery(event.BlackoutRecovered, 12, 26)},
			falseAlarms: []string{"alert.segment_error at 9.0 s"}, want: verdict{alerts: 1, ended: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			verdicts := make([]verdict, len(c.item.Truth))
			falseAlarms := evaluate(c.item, 40*time.Second, watchResult{first: c.first, events: c.events}, verdicts)
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

func TestTheTableShowsResultsBesideTheTruth(t *testing.T) {
	exact := verdict{alerts: startPoints, onset: 80 * time.Millisecond, end: -12 * time.Millisecond, ended: true,
		onsets: []time.Duration{80e6, 2e6, 1e6, 0}, ends: []time.Duration{12e6, 0, 0, 0}, delay: 4500 * time.Millisecond}
	r := result{item: blackInTheMiddle}
	r.at[0].verdicts = []verdict{exact, {}}
	r.at[1].verdicts = []verdict{{alerts: 2, missed: 2}, {}}
	r.at[2] = intervalResult{verdicts: []verdict{exact, {}}, falseAlarms: []string{"checks every 10s, begun 5s in: silent from 30.00 to 40.00 s"}}
	var out strings.Builder
	p := newPrinter(&out)
	p.table([]result{r})
	sum := total([]result{r})
	p.summary(sum)
	p.took(42 * time.Second)
	for _, want := range []string{
		"black in the middle                        black 12.00–26.00     alert   +80    -12     MISSED 2 of 4          alert   +80    -12\n",
		"                                           silent for 4.0 s      none                   none                   1 FALSE ALARM\n",
		"false alarm black in the middle: checks every 10s, begun 5s in: silent from 30.00 to 40.00 s",
		"1 event in 1 clip, each watched 12 times: 2 missed, 1 false alarm\n",
		"onset: at worst 80 ms off after a cut and 0 ms in a fade, 95 % within 80 ms\n",
		"alert: at most 4.5, 0.0 and 4.5 s after",
		"took 42 s\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not contain %q:\n%s", want, &out)
		}
	}
}
