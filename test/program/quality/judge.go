package main

import (
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// verdict is the result for one interval of the truth, over all watches of a clip at one
// check interval. Errors are the largest, with their signs: positive is late.
type verdict struct {
	alerts int // watches with an alert for it
	missed int // watches that should have alerted
	onset  time.Duration
	end    time.Duration
	ended  bool            // a recovery was emitted: end counts
	delay  time.Duration   // from the threshold to the alert
	onsets []time.Duration // of each watch, without a sign
	ends   []time.Duration
}

// alertInterval is an alert with its recovery.
type alertInterval struct {
	of        corpus.Condition
	from, to  time.Duration // of the clip; to: zero while not recovered
	alertedAt time.Duration // when, since the epoch
}

// pairAlerts pairs alerts with their recoveries. It returns other unexpected events as
// text.
func pairAlerts(events []receivedEvent) (all []alertInterval, odd []string) {
	last := map[corpus.Condition]int{}
	for _, e := range events {
		switch data := e.Data.(type) {
		case event.Started, event.Ended:
		case event.Alert:
			of := condition(e.Type)
			last[of] = len(all)
			all = append(all, alertInterval{of: of, from: data.StartedAt.Sub(epoch), alertedAt: e.at})
		case event.Recovered:
			n, alerted := last[condition(e.Type)]
			if !alerted || all[n].to != 0 {
				odd = append(odd, fmt.Sprintf("%s without an alert", e.Type))
				continue
			}
			all[n].to = data.RecoveredAt.Sub(epoch)
		default:
			odd = append(odd, fmt.Sprintf("%s at %.1f s", e.Type, e.at.Seconds()))
		}
	}
	return all, odd
}

func condition(t event.Type) corpus.Condition {
	if t == event.Silence || t == event.SilenceRecovered {
		return corpus.Silent
	}
	return corpus.Black
}

// evaluate compares one watch with the truth. It adds to the verdicts, one for each
// interval, and returns the false alarms. An alert belongs to the interval that it
// overlaps most; an interval has one alert.
func evaluate(i corpus.Item, length time.Duration, s watchResult, verdicts []verdict) (falseAlarms []string) {
	all, odd := pairAlerts(s.events)
	falseAlarms = odd
	taken := make([]bool, len(i.Truth))
	for _, told := range all {
		to := told.to
		if to == 0 {
			to = length
		}
		best, most := -1, time.Duration(0)
		for n, truth := range i.Truth {
			if common := min(to, endOf(truth)) - max(told.from, startOf(truth)); truth.Of == told.of && common > most {
				best, most = n, common
			}
		}
		if best < 0 || !i.Truth[best].Alert || taken[best] {
			falseAlarms = append(falseAlarms, fmt.Sprintf("%s from %.2f to %.2f s", told.of, told.from.Seconds(), to.Seconds()))
			continue
		}
		taken[best] = true
		if wrong := verdicts[best].add(i.Truth[best], told, s.first, length); wrong != "" {
			falseAlarms = append(falseAlarms, wrong)
		}
	}
	for n, truth := range i.Truth {
		if truth.Alert && !taken[n] && endOf(truth)-max(startOf(truth), s.first) >= corpus.Threshold {
			verdicts[n].missed++
		}
	}
	return falseAlarms
}

// add records the alert of an interval.
func (v *verdict) add(truth corpus.BadInterval, told alertInterval, first, length time.Duration) (wrong string) {
	from, to := max(startOf(truth), first), endOf(truth)
	v.alerts++
	v.onset = largerError(v.onset, told.from-from)
	v.onsets = append(v.onsets, (told.from - from).Abs())
	v.delay = max(v.delay, told.alertedAt-from-corpus.Threshold)
	switch atEnd := to >= length; {
	case atEnd && told.to != 0:
		return fmt.Sprintf("%s ended at %.2f s, but lasts to the end of the clip", told.of, told.to.Seconds())
	case atEnd:
	case told.to == 0:
		return fmt.Sprintf("%s did not end, but ends at %.2f s", told.of, to.Seconds())
	default:
		v.ended, v.end = true, largerError(v.end, told.to-to)
		v.ends = append(v.ends, (told.to - to).Abs())
	}
	return ""
}

func startOf(s corpus.BadInterval) time.Duration { return time.Duration(s.From * float64(time.Second)) }
func endOf(s corpus.BadInterval) time.Duration   { return time.Duration(s.To * float64(time.Second)) }

// largerError returns the error that is farther from zero.
func largerError(a, b time.Duration) time.Duration {
	if b.Abs() > a.Abs() {
		return b
	}
	return a
}
