//go:build linux

package main

import (
	"math"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

// Parts of the measurement, before and after each trouble.
const (
	firstOnset   = 10 * time.Second // after the beginning of the measurement
	beyondAlert  = 20 * time.Second // from the threshold to the end of the trouble
	betweenThem  = 35 * time.Second // from the end of a trouble to the next onset
	lastRecovery = 25 * time.Second // before the end of the measurement
)

// trouble is a kind of trouble, with its cues and events.
type trouble struct {
	on, off          livestream.Action
	alert, recovered string
}

var (
	black   = trouble{livestream.Black, livestream.Picture, "alert.blackout", "alert.blackout_recovered"}
	silence = trouble{livestream.Silence, livestream.Sound, "alert.silence", "alert.silence_recovered"}
)

// episode is one trouble of a timeline, with its true times.
type episode struct {
	trouble

	timeline int
	from, to time.Time
}

// insideSegment holds where in a segment troubles begin and end. There are few, so that the
// media of these segments are encoded in the first run and kept.
var insideSegment = []time.Duration{400 * time.Millisecond, 4700 * time.Millisecond, 1200 * time.Millisecond, 3300 * time.Millisecond, 2600 * time.Millisecond}

// plan returns the episodes of timeline number i, which began at a time, for a
// measurement. Even timelines go black, odd ones silent.
func plan(i int, began, start, end time.Time, threshold time.Duration) (all []episode) {
	kind := black
	if i%2 == 1 {
		kind = silence
	}
	length := threshold + beyondAlert
	// The onsets of different timelines are spread over a period.
	from := start.Add(firstOnset + time.Duration(i%7)*(length+betweenThem)/7)
	for k := 0; ; k++ {
		e := episode{
			trouble: kind, timeline: i,
			from: intoSegment(began, from, insideSegment[(i+k)%len(insideSegment)]),
			to:   intoSegment(began, from.Add(length), insideSegment[(i+2*k+1)%len(insideSegment)]),
		}
		if e.to.After(end.Add(-lastRecovery)) {
			return all
		}
		all = append(all, e)
		from = e.to.Add(betweenThem)
	}
}

// intoSegment moves an instant to an offset in its segment.
func intoSegment(began, at time.Time, offset time.Duration) time.Time {
	return began.Add(at.Sub(began).Truncate(segmentDuration) + offset)
}

// accuracy compares the webhooks of the measured streams with the truth.
type accuracy struct {
	Expected   int // alerts
	Missed     int
	Unexpected int // alerts without a trouble

	AlertLatency    distribution // s from onset and threshold to the webhook
	OnsetError      distribution // s, absolute
	Recoveries      int
	RecoveryLatency distribution // s from the end of the trouble to the webhook
}

// compare compares deliveries from start to end with episodes. An episode that ends later than
// lastRecovery before end does not count. timelines is the timeline of each monitor.
func compare(episodes []episode, deliveries []webhookreceiver.Delivery, timelines map[string]int, start, end time.Time, threshold time.Duration) (a accuracy) {
	var latencies, errors, recoveries []float64
	used := map[string]bool{}
	find := func(id, event string, after, before time.Time) (webhookreceiver.Delivery, bool) {
		i := slices.IndexFunc(deliveries, func(d webhookreceiver.Delivery) bool {
			return d.MonitorID == id && d.EventType == event && !used[d.EventID] && d.Received.After(after) && d.Received.Before(before)
		})
		if i < 0 {
			return webhookreceiver.Delivery{}, false
		}
		used[deliveries[i].EventID] = true
		return deliveries[i], true
	}
	for id, t := range timelines {
		for _, e := range episodes {
			if e.timeline != t {
				continue
			}
			next := e.to.Add(betweenThem)
			d, ok := find(id, e.alert, e.from, next)
			if e.to.After(end.Add(-lastRecovery)) {
				continue
			}
			a.Expected++
			if !ok {
				a.Missed++
				continue
			}
			latencies = append(latencies, d.Received.Sub(e.from).Seconds()-threshold.Seconds())
			errors = append(errors, math.Abs(d.Data.StartedAt.Sub(e.from).Seconds()))
			if d, ok := find(id, e.recovered, e.to, next); ok {
				recoveries = append(recoveries, d.Received.Sub(e.to).Seconds())
			}
		}
	}
	for _, d := range deliveries {
		_, measured := timelines[d.MonitorID]
		alert := d.EventType == black.alert || d.EventType == silence.alert || d.EventType == "alert.segment_error"
		if measured && alert && d.Received.After(start) && !used[d.EventID] {
			used[d.EventID] = true
			a.Unexpected++
		}
	}
	a.AlertLatency, a.OnsetError = distributionOf(latencies), distributionOf(errors)
	a.Recoveries, a.RecoveryLatency = len(recoveries), distributionOf(recoveries)
	return a
}

// distribution summarizes values. Without any, all are 0.
type distribution struct{ P50, P99, Max float64 }

func distributionOf(values []float64) (d distribution) {
	if len(values) == 0 {
		return d
	}
	slices.Sort(values)
	return distribution{percentile(values, 50), percentile(values, 99), values[len(values)-1]}
}

// percentile returns the smallest of sorted values that p in 100 do not exceed.
func percentile(sorted []float64, p int) float64 {
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}
