package main

import (
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
)

// Parts of the measurement, before and after each trouble.
const (
	threshold    = 30 * time.Second // of black and silence
	firstOnset   = 10 * time.Second // after the beginning of the measurement
	beyondAlert  = 20 * time.Second // from the threshold to the end of the trouble
	betweenThem  = 35 * time.Second // from the end of a trouble to the next onset
	lastRecovery = 25 * time.Second // before the end of the measurement
	sameOnset    = 5 * time.Second  // by which the onset of an alert may be wrong
)

// trouble is a kind of trouble, with its cues and events.
type trouble struct {
	on, off          livestream.Action
	alert, recovered string
}

// troubles are those of the timelines with trouble, in turn.
var troubles = [2]trouble{
	{livestream.Black, livestream.Picture, "alert.blackout", "alert.blackout_recovered"},
	{livestream.Silence, livestream.Sound, "alert.silence", "alert.silence_recovered"},
}

// episode is one trouble of a timeline, with its true times.
type episode struct {
	trouble

	timeline int
	from, to time.Time
}

// insideSegment holds where in a segment troubles begin and end. There are few, so that the
// media of these segments are encoded in the first run and kept.
var insideSegment = []time.Duration{400 * time.Millisecond, 4700 * time.Millisecond, 1200 * time.Millisecond, 3300 * time.Millisecond, 2600 * time.Millisecond}

// cueTroubles makes timelines fail at known instants until end, and returns these.
func (m *run) cueTroubles(start, end time.Time) (all []episode) {
	length := threshold + beyondAlert
	for i := calmTimelines; i < len(m.media.timelines); i++ {
		kind, began := troubles[i%2], m.media.timelines[i].Began()
		intoSegment := func(at time.Time, place int) time.Time {
			return began.Add(at.Sub(began).Truncate(segmentDuration) + insideSegment[place%len(insideSegment)])
		}
		// The onsets of different timelines are spread over a period.
		from := start.Add(firstOnset + time.Duration(i%7)*(length+betweenThem)/7)
		for k := 0; from.Add(length + segmentDuration + lastRecovery).Before(end); k++ {
			e := episode{trouble: kind, timeline: i}
			e.from = m.media.cue(i, intoSegment(from, i+k), kind.on)
			e.to = m.media.cue(i, intoSegment(from.Add(length), i+2*k+1), kind.off)
			all = append(all, e)
			from = e.to.Add(betweenThem)
		}
	}
	return all
}

// accuracy compares the webhooks of the measured streams with the truth.
type accuracy struct {
	Expected   int // alerts
	Came       int
	Unexpected int // alerts without a trouble, or of one that was interrupted

	AlertLatency    bench.Times // from onset and threshold to the webhook
	OnsetError      bench.Times
	RecoveryLatency bench.Times // from the end of the trouble to the webhook
}

// compare compares the webhooks since start with the episodes that are over.
func (m *run) compare(episodes []episode, start time.Time) (a accuracy) {
	now, alerts := time.Now(), 0
	received := map[string][]webhookreceiver.Delivery{} // by monitor and type of the event
	for _, d := range m.receiver.Accepted() {
		if d.Received.Before(start) {
			continue
		}
		received[d.MonitorID+d.EventType] = append(received[d.MonitorID+d.EventType], d)
		if d.EventType == troubles[0].alert || d.EventType == troubles[1].alert || d.EventType == segmentMissing {
			alerts++
		}
	}
	for id, stream := range m.monitors {
		for _, e := range episodes {
			over := now.After(e.to.Add(lastRecovery)) // otherwise the measurement was interrupted
			if e.timeline != m.media.of[stream] || !over {
				continue
			}
			a.Expected++
			for _, d := range received[id+e.alert] {
				if wrong := d.Data.StartedAt.Sub(e.from).Abs(); wrong <= sameOnset {
					a.Came++
					a.OnsetError = append(a.OnsetError, wrong)
					a.AlertLatency = append(a.AlertLatency, d.Received.Sub(e.from)-threshold)
				}
			}
			for _, d := range received[id+e.recovered] {
				if d.Data.RecoveredAt.Sub(e.to).Abs() < sameOnset {
					a.RecoveryLatency = append(a.RecoveryLatency, d.Received.Sub(e.to))
				}
			}
		}
	}
	a.Unexpected = alerts - a.Came
	return a
}
