package main

import (
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// verdict is what became of one stretch of truth, over all the watches of a
// clip at one check interval. The errors are the largest of them, with their
// signs: positive is late.
type verdict struct {
	alerts int // watches that told it
	missed int // watches that should have
	onset  time.Duration
	end    time.Duration
	ended  bool            // a recovery was told: end counts
	delay  time.Duration   // from the instant at which the threshold was reached to the telling
	onsets []time.Duration // of each watch, without a sign
	ends   []time.Duration
}

// span is what was told of one condition: an alert and its recovery.
type span struct {
	of       corpus.Condition
	from, to time.Duration // of the clip; to: zero while not recovered
	told     time.Duration // when, since the epoch
}

// spans pairs alerts with their recoveries, and gives everything else that was
// told and should not have been.
func spans(events []told) (all []span, odd []string) {
	last := map[corpus.Condition]int{}
	for _, e := range events {
		switch data := e.Data.(type) {
		case event.Started, event.Ended:
		case event.Alert:
			of := condition(e.Type)
			last[of] = len(all)
			all = append(all, span{of: of, from: data.StartedAt.Sub(epoch), told: e.at})
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

// judge holds one watch against the truth: it adds to the verdicts, one for
// each stretch, and tells what should not have been told. What an alert told
// belongs to the stretch that it overlaps most; a stretch has one alert.
func judge(i corpus.Item, length time.Duration, s sighting, verdicts []verdict) (falseAlarms []string) {
	all, odd := spans(s.events)
	falseAlarms = odd
	taken := make([]bool, len(i.Truth))
	for _, told := range all {
		to := told.to
		if to == 0 {
			to = length
		}
		best, most := -1, time.Duration(0)
		for n, truth := range i.Truth {
			if common := min(to, until(truth)) - max(told.from, since(truth)); truth.Of == told.of && common > most {
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
		if truth.Alert && !taken[n] && until(truth)-max(since(truth), s.first) >= corpus.Threshold {
			verdicts[n].missed++
		}
	}
	return falseAlarms
}

// add takes in what was told of a stretch.
func (v *verdict) add(truth corpus.BadInterval, told span, first, length time.Duration) (wrong string) {
	from, to := max(since(truth), first), until(truth)
	v.alerts++
	v.onset = larger(v.onset, told.from-from)
	v.onsets = append(v.onsets, (told.from - from).Abs())
	v.delay = max(v.delay, told.told-from-corpus.Threshold)
	switch atEnd := to >= length; {
	case atEnd && told.to != 0:
		return fmt.Sprintf("%s is over at %.2f s, and was to the end", told.of, told.to.Seconds())
	case atEnd:
	case told.to == 0:
		return fmt.Sprintf("%s is never over, and was at %.2f s", told.of, to.Seconds())
	default:
		v.ended, v.end = true, larger(v.end, told.to-to)
		v.ends = append(v.ends, (told.to - to).Abs())
	}
	return ""
}

func since(s corpus.BadInterval) time.Duration { return time.Duration(s.From * float64(time.Second)) }
func until(s corpus.BadInterval) time.Duration { return time.Duration(s.To * float64(time.Second)) }

// larger is the one that is farther from zero.
func larger(a, b time.Duration) time.Duration {
	if b.Abs() > a.Abs() {
		return b
	}
	return a
}
