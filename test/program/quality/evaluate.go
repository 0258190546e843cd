package main

import (
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// verdict is the result for one interval of the truth, over all watches of a
// clip at one check interval. Errors are the largest, with their signs: positive
// is late.
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
	condition corpus.Condition
	from, to  time.Duration // in the clip; to is zero without a recovery
	alertedAt time.Duration // since the epoch
}

// pairAlerts pairs alerts with their recoveries. It returns unexpected events as
// text.
func pairAlerts(events []receivedEvent) (all []alertInterval, unexpected []string) {
	last := map[corpus.Condition]int{}
	for _, e := range events {
		switch data := e.Data.(type) {
		case event.Started, event.Ended:
		case event.Alert:
			condition := conditionOf(e.Type)
			last[condition] = len(all)
			all = append(all, alertInterval{condition: condition, from: data.StartedAt.Sub(epoch), alertedAt: e.at})
		case event.Recovered:
			n, alerted := last[conditionOf(e.Type)]
			if !alerted || all[n].to != 0 {
				unexpected = append(unexpected, fmt.Sprintf("%s without an alert", e.Type))
				continue
			}
			all[n].to = data.RecoveredAt.Sub(epoch)
		default:
			unexpected = append(unexpected, fmt.Sprintf("%s at %.1f s", e.Type, e.at.Seconds()))
		}
	}
	return all, unexpected
}

func conditionOf(t event.Type) corpus.Condition {
	if t == event.Silence || t == event.SilenceRecovered {
		return corpus.Silent
	}
	return corpus.Black
}

// evaluate compares one watch with the truth. It adds to the verdicts, one for
// each interval, and returns the false alarms. An alert belongs to the interval that it
// overlaps most; an interval has one alert.
func evaluate(i corpus.Item, length time.Duration, s watchResult, verdicts []verdict) []string {
	all, falseAlarms := pairAlerts(s.events)
	taken := make([]bool, len(i.Truth))
	for _, alert := range all {
		to := alert.to
		if to == 0 {
			to = length
		}
		best, most := -1, time.Duration(0)
		for n, truth := range i.Truth {
			if overlap := min(to, endOf(truth)) - max(alert.from, startOf(truth)); truth.Of == alert.condition && overlap > most {
				best, most = n, overlap
			}
		}
		if best < 0 || !i.Truth[best].Alert || taken[best] {
			falseAlarms = append(falseAlarms, fmt.Sprintf("%s from %.2f to %.2f s", alert.condition, alert.from.Seconds(), to.Seconds()))
			continue
		}
		taken[best] = true
		if wrong := verdicts[best].add(i.Truth[best], alert, s.first, length); wrong != "" {
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

// add records the alert of an interval. It returns an error of the alert as text.
func (v *verdict) add(truth corpus.BadInterval, alert alertInterval, first, length time.Duration) (wrong string) {
	from, to := max(startOf(truth), first), endOf(truth)
	v.alerts++
	v.onset = largerError(v.onset, alert.from-from)
	v.onsets = append(v.onsets, (alert.from - from).Abs())
	v.delay = max(v.delay, alert.alertedAt-from-corpus.Threshold)
	switch atEnd := to >= length; {
	case atEnd && alert.to != 0:
		return fmt.Sprintf("%s ended at %.2f s, but lasts to the end of the clip", alert.condition, alert.to.Seconds())
	case atEnd:
	case alert.to == 0:
		return fmt.Sprintf("%s did not end, but ends at %.2f s", alert.condition, to.Seconds())
	default:
		v.ended, v.end = true, largerError(v.end, alert.to-to)
		v.ends = append(v.ends, (alert.to - to).Abs())
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
